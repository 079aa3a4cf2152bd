"""Stores the news for webhooks, in the transaction that makes them: they are sent if and only if it commits.

News hold ids, verdicts and versions, and nothing that was submitted or printed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from sqlalchemy.orm import Session

from app.clock import now
from app.ids import new_id
from app.judging.judgement import Verdict
from app.judging.report.change import ChangeKind
from app.runs.run_object.document import RunDocument
from app.states import Trigger
from app.storage.models import ChangeRow, ReportRow, RunRow
from app.storage.queries import runs as run_queries
from app.storage.queries.doors import webhooks as queries

NewsKind = Literal["run.finished", "report.changed", "report.fixed", "report.regressed"]
NEWS_KINDS: tuple[NewsKind, ...] = get_args(NewsKind)
PING = "webhook.ping"
# The submitter started these.
_BY_SUBMITTER: frozenset[Trigger] = frozenset({"submitted", "imported"})
# The service started these: for a new toolchain, on a schedule, or to complete a pair.
_BY_SERVICE: frozenset[Trigger] = frozenset({"toolchain", "schedule", "baseline"})
_OF_TOOLCHAIN: Mapping[ChangeKind, NewsKind] = {
    ChangeKind.FIXED: "report.fixed",
    ChangeKind.REGRESSED: "report.regressed",
}


def announce_end(session: Session, run: RunRow, document: RunDocument | None) -> None:
    """Tell the submitter of a run that it has ended. Runs that the service started are not announced.

    `document` is None for a run that was cancelled before it was judged.
    """
    if run.trigger not in _BY_SUBMITTER or run.contributed_by is not None:
        return
    facts = {
        "run": run.id,
        "report": run.report_id,
        "state": run.state,
        "verdict": None if document is None else document.verdict,
        "seen": document is not None and document.seen,
        "defect": "undecided" if document is None else document.defect,
        "summary": "" if document is None else document.summary,
        "path": f"/api/v1/runs/{run.id}",
    }
    add_news(session, run.submitter, "run.finished", facts)


def announce_verdict(
    session: Session, report: ReportRow, *, before: Verdict | None, after: Verdict | None
) -> None:
    """Tell the submitter of a report that its verdict changed.

    None: its evidence is in doubt or runs again, so that it has none.
    """
    if before == after or report.is_canary or report.withdrawn_at is not None:
        return
    facts = {
        "report": report.id,
        "before": before,
        "after": after,
        "overruled": report.overruled is not None,
        "path": f"/api/v1/reports/{report.id}",
    }
    add_news(session, _submitter(session, report.id), "report.changed", facts)


def announce_toolchain(
    session: Session, report: ReportRow, run: RunRow, changes: Iterable[ChangeRow]
) -> None:
    """Tell the submitter of an open report that a new version fixes it, or brings the bug back.

    Only a run that the service started is news. There is one message for each report, toolchain and kind,
    whatever the number of cells and runs that show it.
    """
    if run.trigger not in _BY_SERVICE or report.closed_at is not None or report.withdrawn_at is not None:
        return
    for change in changes:
        kind = _OF_TOOLCHAIN.get(change.kind)
        if kind is None:
            continue
        facts = {
            "report": report.id,
            "change": change.id,
            "run": run.id,
            "package": change.axis,
            "older": change.older,
            "newer": change.newer,
            "toolchain": change.toolchain,
            "before": change.before,
            "after": change.after,
            "path": f"/api/v1/reports/{report.id}",
        }
        subject = f"{kind} {report.id} {change.toolchain}"
        add_news(session, _submitter(session, report.id), kind, facts, subject=subject)


def _submitter(session: Session, report_id: str) -> str | None:
    """The token that submitted a report."""
    first = run_queries.first_run(session, report_id)
    return None if first is None else first.submitter


def add_news(
    session: Session,
    owner: str | None,
    kind: NewsKind,
    facts: Mapping[str, Any],
    *,
    subject: str | None = None,
) -> None:
    """Store an event for each webhook of an owner that wants its kind."""
    add_event(session, queries.subscribers(session, owner, kind), kind, facts, subject=subject)


def add_event(
    session: Session,
    webhook_ids: Iterable[str],
    kind: str,
    facts: Mapping[str, Any],
    *,
    subject: str | None = None,
) -> list[str]:
    """Store an event for these webhooks. Returns the ids of its deliveries."""
    moment = now()
    event = {"type": kind, "timestamp": moment.isoformat().replace("+00:00", "Z"), "data": dict(facts)}
    body = json.dumps(event, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    rows: list[dict[str, Any]] = [
        {
            "id": new_id(),
            "webhook_id": webhook_id,
            "kind": kind,
            "subject": subject,
            "body": body,
            "state": "waiting",
            "next_at": moment,
            "tries": [],
            "created_at": moment,
        }
        for webhook_id in webhook_ids
    ]
    queries.add_deliveries(session, rows)
    return [row["id"] for row in rows]
