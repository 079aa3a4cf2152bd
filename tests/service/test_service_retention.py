"""Nothing that a verdict rests on is ever deleted, whatever rounds and commands of maintenance run."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session
from stage import Stage, result
from structlog.testing import capture_logs
from test_service_canary import age, launch, perform

from app.runs.exchange.contribute import contribute, export
from app.runs.maintenance import quarantine as quarantines
from app.runs.maintenance.rejudge import judge_again
from app.runs.maintenance.withdraw import withdraw
from app.runs.run_object.storable import json_digest
from app.runs.submission.canary import STORED
from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import Submission, submit
from app.serve import backfill
from app.storage.models import (
    AttemptRow,
    Base,
    EnvironmentRow,
    EventRow,
    IdempotencyKeyRow,
    JobRow,
    RunRow,
    ScriptRow,
)
from app.storage.tallies import sum_tallies
from app.targets.planning.run_request import RunRequest
from app.tasks import celery_app
from app.tasks.schedule import schedule

ROOT = Path(__file__).parents[2]
SECRET_WORD = "xyzzy4711"
SCRIPT = f"raise RuntimeError('boom')  # {SECRET_WORD}\n"
# Each place in `app` that deletes rows of the database, by module, and why no verdict loses its evidence.
DELETES = {
    "app/runs/rows/attempts.py": "a queued attempt that no node ever had",
    "app/runs/lifecycle/settle.py": "a preview that did not start: it never counts",
    "app/storage/queries/canaries.py": "ended canaries whose report has no other run",
    "app/storage/queries/changes.py": "a change between cells, when a verdict of one is no longer the same",
    "app/storage/queries/reports/search.py": "the index of a report's cells: its runs make it again",
    "app/storage/queries/reports/withdrawals.py": "comparisons of a withdrawn report",
    "app/storage/queries/doors/github.py": "events from GitHub that have ended",
    "app/storage/queries/run_documents.py": "run objects that are assembled again from their attempts",
    "app/storage/queries/doors/webhooks.py": "webhooks that their owner removes, and ended deliveries",
    "app/storage/queries/tokens.py": "sign-ins that ended",
    "app/storage/tallies.py": "counters that their sum replaces",
}


@dataclass(frozen=True)
class Runs:
    """The ids of the runs of the test, each in another state."""

    finished: str
    opened: str
    doubted: str
    contributed: str
    withdrawn: str
    on_a_canary: str
    canaries: list[str]


def evidence(session: Session, run_ids: list[str]) -> dict[str, Any]:
    """Whatever the verdicts of these runs rest on, by attempt: the observation, environment and script."""
    rows = session.execute(
        select(AttemptRow, JobRow, EnvironmentRow, ScriptRow)
        .join(JobRow, JobRow.id == AttemptRow.job_id)
        .join(EnvironmentRow, EnvironmentRow.digest == AttemptRow.environment_digest)
        .join(ScriptRow, ScriptRow.digest == JobRow.script_digest)
        .where(AttemptRow.run_id.in_(run_ids), AttemptRow.state == "recorded")
    )
    return {
        attempt.id: (attempt.counted, attempt.result, job.target, environment.facts, script.text)
        for attempt, job, environment, script in rows
    }


def finish(stage: Stage, *, most: int | None = None) -> None:
    """Let the node do everything that waits, or only the first attempts."""
    done = 0
    while attempts := stage.dispatch():
        for attempt in attempts:
            if most is None or done < most:
                stage.start(attempt, node="n")
                stage.say(result(attempt, node="n"))
                done += 1


def digest_of_script(stage: Stage, run_id: str) -> str:
    return stage.jobs(run_id)[0].script_digest


def contributed(stage: Stage, run_id: str) -> str:
    """The run again, as if another machine had done it."""
    with stage.session() as session:
        bundle = export(session, run_id)
        bundle["made_by"]["samehere"] = "another"
        bundle["run"]["created_at"] = "2026-01-01T00:00:00Z"
        for job in bundle["jobs"]:
            for attempt in job["attempts"]:
                attempt["result"]["observation"]["stderr"] = "RuntimeError: boom, elsewhere\n"
        content = {name: value for name, value in bundle.items() if name != "digest"}
        data = json.dumps({**content, "digest": json_digest(content)}).encode()
        return contribute(session, data, by="Ada", settings=stage.settings).document.id


def canaries(stage: Stage) -> tuple[list[str], str]:
    """More ended canaries than stay, and a run that somebody started of the first one's report."""
    found: list[str] = []
    own = ""
    for _ in range(STORED + 3):
        age(stage, stage.settings.canary_seconds)
        row = launch(stage)
        assert row is not None
        found.append(row.id)
        perform(stage)
        stage.run(row.id)
        with stage.session() as session:
            # A maintainer's cancellation with a key.
            session.add(
                IdempotencyKeyRow(key=f"k{row.id}", body_digest="x", run_id=row.id, created_at=row.created_at)
            )
            if not own:
                own = relaunch(session, row.report_id, RunRequest(repeats=2), settings=stage.settings).id
        finish(stage)
    return found, own


def fill(stage: Stage) -> Runs:
    """A database with runs in every state that deletes or erases something."""
    stage.node("n")
    finished = stage.submit().document.id
    withdrawn_script = Submission(script=SCRIPT, claim="RuntimeError: boom", repeats=2)
    with stage.session() as session:
        withdrawn = submit(session, withdrawn_script, settings=stage.settings).document.id
    doubted = stage.submit("x = 1\nraise RuntimeError('boom')\n").document.id
    finish(stage)
    stage.run(doubted)
    with stage.session() as session:
        held = quarantines.quarantine(
            session,
            "script",
            digest_of_script(stage, doubted),
            reason="odd",
            who="ada",
            settings=stage.settings,
        )
        withdraw(session, session.get_one(RunRow, withdrawn).report_id, reason="a password", who="ada")
    with stage.session() as session:
        quarantines.lift(session, held.id, reason="fine again", who="ada")
    finish(stage)
    ended_canaries, on_a_canary = canaries(stage)
    from_elsewhere = contributed(stage, finished)
    opened = stage.submit("x = 2\nraise RuntimeError('boom')\n", repeats=4).document.id
    finish(stage, most=2)
    return Runs(finished, opened, doubted, from_elsewhere, withdrawn, on_a_canary, ended_canaries)


def maintain(stage: Stage) -> None:
    """Every round of beat, and every command that goes over stored runs, years later."""
    with stage.session() as session:
        for table, column in (("run", "created_at"), ("run", "finished_at"), ("attempt", "recorded_at")):
            session.execute(text(f"UPDATE {table} SET {column} = {column} - interval '10 years'"))  # noqa: S608
    service = celery_app.Service(
        celery=stage.broker.celery,
        settings=stage.settings,
        engine=stage.engine,
        broker=stage.broker,
        factory=stage.factory,
        senders={},
    )
    with capture_logs() as lines:
        for name in schedule(stage.settings):
            celery_app._round(service, name)
        stage.let_leases_end()
        stage.recover()
        stage.let_wait()
        stage.recover()
        for _ in range(2):
            launch(stage)
            perform(stage)
            age(stage, stage.settings.canary_seconds)
    assert [line for line in lines if line["event"] in {"round_failed", "run_not_reaped"}] == []
    for fill_in in backfill._KINDS.values():
        fill_in(stage.factory, stage.settings)
    with stage.session() as session:
        judge_again(session, apply=True, reason="new rules", who="ada", limit=100)
        assert sum_tallies(session, rows_before=1)


def test_evidence_outlives_all_maintenance(stage: Stage) -> None:
    runs = fill(stage)
    own = [runs.finished, runs.opened, runs.doubted, runs.contributed, runs.on_a_canary]
    verdicts = {run_id: stage.run(run_id).verdict for run_id in own}
    assert list(verdicts.values()) == ["reproduced", None, "reproduced", "reproduced", "different"]
    with stage.session() as session:
        before = evidence(session, own)
        owners = session.scalars(select(AttemptRow.run_id).where(AttemptRow.id.in_(list(before)))).all()
    # The doubted run has its earlier evidence, too.
    assert [owners.count(run_id) for run_id in own] == [3, 2, 6, 3, 2]
    maintain(stage)
    with stage.session() as session:
        after = evidence(session, own)
        assert {attempt_id: after.get(attempt_id) for attempt_id in before} == before
        events = session.scalar(
            select(func.count()).select_from(EventRow).where(EventRow.run_id == runs.finished)
        )
        assert events
    for run_id in own:
        document = stage.run(run_id)
        if run_id != runs.opened:
            assert document.verdict == verdicts[run_id]
        for job in document.jobs:
            counted = [part for part in job.attempts if part.counted and part.state == "recorded"]
            assert job.verdict is None or len(counted) >= job.of > 0


def test_a_withdrawn_report_and_old_canaries_leave_nothing(stage: Stage) -> None:
    runs = fill(stage)
    maintain(stage)
    with stage.session() as session:
        holding = {
            table.name
            for table in Base.metadata.sorted_tables
            if session.scalar(
                text(f'SELECT count(*) FROM "{table.name}" AS row WHERE row::text LIKE :word'),  # noqa: S608
                {"word": f"%{SECRET_WORD}%"},
            )
        }
        withdrawn = session.scalars(select(AttemptRow).where(AttemptRow.run_id == runs.withdrawn)).all()
        assert holding == set()
        assert [row.result["observation"]["stderr"] for row in withdrawn if row.result] == ["", ""]
        stored = session.scalars(
            select(RunRow.id).where(RunRow.trigger == "canary").order_by(RunRow.id.desc())
        ).all()
        # The first one stays: the verdict of somebody's run is compared with it.
        assert runs.canaries[0] in stored
        assert runs.canaries[1] not in stored
        assert len(stored) <= STORED + 2
    assert stage.run(runs.withdrawn).verdict == "reproduced"


@pytest.fixture(scope="module")
def deleting_modules() -> set[str]:
    found = set()
    for path in sorted((ROOT / "app").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text())):
            is_statement = (
                isinstance(node, ast.Constant) and isinstance(node.value, str) and "DELETE FROM" in node.value
            )
            is_call = isinstance(node, ast.Call) and ast.unparse(node.func) in {"delete", "session.delete"}
            if is_statement or is_call:
                found.add(name)
    return found


def test_every_place_that_deletes_rows_is_known(deleting_modules: set[str]) -> None:
    """Whoever adds one says here why no verdict loses its evidence, and adds its case to `fill`."""
    assert deleting_modules == set(DELETES)
