"""The queries of maintainers' acts on large tables use indexes."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.orm import Session

from app.clock import now
from app.ids import new_id
from app.runs.maintenance.quarantine import active_quarantines
from app.runs.maintenance.rejudge import judge_again
from app.runs.rows.acts import acts_on, overruling
from app.storage.models import ScriptRow
from app.storage.queries.queue import quarantines
from app.storage.queries.reports import withdrawals
from app.storage.queries.reports.reports import digest_of_runs

BIG = ("report", "run", "job", "attempt", "script", "comparison", "act")


def ask(session: Session) -> None:
    moment = now()
    session.add(ScriptRow(digest="sha256:x", text="x", created_at=moment))
    session.flush()
    assert withdrawals.erase_scripts(session, ["sha256:x"], report_id=new_id(), moment=moment) == ["sha256:x"]
    for kind in ("node", "toolchain", "script"):
        for since in (None, moment):
            quarantines.runs_resting_on(session, kind, "x+y", since=since)
    quarantines.is_known(session, "toolchain", "x+y")
    quarantines.with_pending(session)
    active_quarantines(session)
    withdrawals.report_of_secret(session, "x")
    withdrawals.lock_runs(session, withdrawals.run_ids(session, new_id()), wait=False)
    withdrawals.delete_comparisons(session, [new_id()])
    acts_on(session, "report", new_id())
    overruling(session, "run", new_id(), None)
    digest_of_runs(session, new_id())
    judge_again(session)


@pytest.mark.parametrize("table", BIG)
def test_no_big_table_is_read_whole(session: Session, table: str) -> None:
    seen: list[tuple[str, Any]] = []
    engine = session.get_bind()
    listener = lambda *call: seen.append((call[2], call[3]))  # noqa: E731
    event.listen(engine, "before_cursor_execute", listener)
    ask(session)
    event.remove(engine, "before_cursor_execute", listener)
    # The planner uses no index on an empty table, so sequential scans are made expensive.
    session.execute(text("SET LOCAL enable_seqscan = off"))
    plans = [
        (
            statement,
            "\n".join(row[0] for row in session.connection().exec_driver_sql(f"EXPLAIN {statement}", given)),
        )
        for statement, given in seen
        if not statement.startswith("INSERT") and (f" {table}" in statement or f"{table}." in statement)
    ]
    assert plans
    for statement, plan in plans:
        assert f"Seq Scan on {table} " not in plan, (statement, plan)
