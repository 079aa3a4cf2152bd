"""The canary: it runs on its schedule, turns /readyz red when it fails or is late, and is in no list."""

from __future__ import annotations

from datetime import timedelta

import pytest
from running_web import web_of
from sqlalchemy import select, update
from stage import Stage, result

from app.judging.judgement import Verdict
from app.runs.lifecycle.report_verdict import store_all_report_verdicts
from app.runs.lookup.attention import groups
from app.runs.lookup.reports import list_reports, list_runs
from app.runs.lookup.triage import triage
from app.runs.rows.search_index import index_all_reports
from app.runs.submission import canary
from app.runs.submission.canary import CLAIM, REPEATS, STORED, canary_round
from app.runs.submission.scheduled_reruns import rerun_round
from app.storage.models import ReportRow, RunRow
from worker.contract import ExceptionFacts, Observation, Outcome

LIMIT = 60.0


def launch(stage: Stage) -> RunRow | None:
    """A round; the newest canary."""
    settings = stage.settings.model_copy(update={"canary_limit_seconds": LIMIT})
    canary_round(stage.factory, settings=settings)
    return newest(stage)


def newest(stage: Stage) -> RunRow | None:
    with stage.session() as session:
        return session.scalars(select(RunRow).order_by(RunRow.id.desc())).first()


def perform(stage: Stage, *, right: bool = True) -> None:
    """A node runs the canary: as it should, or as if its sandbox were broken."""
    type_, _, message = CLAIM.partition(": ")
    fails = Observation(
        exit_status=1,
        exception=ExceptionFacts(type=type_, message=message),
        stderr=f"{CLAIM}\n",
        stderr_bytes=50,
    )
    for _ in range(REPEATS * 3):
        for attempt in stage.dispatch():
            stage.start(attempt, node="n")
            if right:
                stage.say(result(attempt, node="n", observation=fails))
            else:
                stage.say(
                    result(
                        attempt, node="n", outcome=Outcome.COMPLETED, observation=Observation(exit_status=0)
                    )
                )


def age(stage: Stage, seconds: float) -> None:
    with stage.session() as session:
        session.execute(
            update(RunRow)
            .where(RunRow.trigger == "canary")
            .values(created_at=RunRow.created_at - timedelta(seconds=seconds))
        )


def test_it_waits_for_a_node_and_runs_as_often_as_the_setting_says(stage: Stage) -> None:
    assert launch(stage) is None
    stage.node("n")
    first = launch(stage)
    assert first is not None
    assert first.trigger == "canary"
    perform(stage)
    ended = newest(stage)
    assert ended is not None
    assert (ended.id, ended.state, ended.verdict) == (first.id, "finished", Verdict.REPRODUCED)
    again = launch(stage)
    assert again is not None
    assert again.id == first.id
    age(stage, stage.settings.canary_seconds)
    later = launch(stage)
    assert later is not None
    assert later.id != first.id
    never = stage.settings.model_copy(update={"canary_seconds": 0.0})
    perform(stage)
    age(stage, 10_000)
    canary_round(stage.factory, settings=never)
    assert (now := newest(stage)) is not None
    assert now.id == later.id


def test_readyz_names_a_failure_until_a_canary_passes(stage: Stage) -> None:
    with web_of(stage, canary_limit_seconds=LIMIT) as web:
        stage.node("n")
        assert web.client.get("/readyz").status_code == 200
        failed = launch(stage)
        assert failed is not None
        assert web.client.get("/readyz").status_code == 200
        perform(stage, right=False)
        answer = web.client.get("/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "canary_failed")
        assert failed.id in answer.json()["detail"]
        assert "samehere_canary_passed 0.0\n" in web.client.get("/metrics").text
        assert web.client.get("/healthz").status_code == 200
        age(stage, stage.settings.canary_seconds)
        launch(stage)
        # While the next one runs, the last answer holds.
        assert web.client.get("/readyz").json()["code"] == "canary_failed"
        perform(stage)
        assert web.client.get("/readyz").status_code == 200
        assert "samehere_canary_passed 1.0\n" in web.client.get("/metrics").text


def test_readyz_names_one_that_does_not_end_and_one_that_never_began(stage: Stage) -> None:
    with web_of(stage, canary_limit_seconds=LIMIT) as web:
        stage.node("n")
        stuck = launch(stage)
        assert stuck is not None
        age(stage, LIMIT + 1)
        answer = web.client.get("/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "canary_late")
        ended = launch(stage)
        assert ended is not None
        assert (ended.id, ended.state) == (stuck.id, "cancelled")
        assert web.client.get("/readyz").json()["code"] == "canary_failed"
        age(stage, stage.settings.canary_seconds)
        launch(stage)
        perform(stage)
        assert web.client.get("/readyz").status_code == 200
        age(stage, stage.settings.canary_seconds + LIMIT + 1)
        assert web.client.get("/readyz").json()["code"] == "canary_late"
        # Without a node none can start, and that is no fault of the service.
        stage.die("n")
        with stage.session() as session:
            session.execute(update(RunRow).values(created_at=RunRow.created_at - timedelta(hours=9)))
        off = stage.settings.model_copy(update={"canary_seconds": 0.0})
        with web_of(stage, canary_seconds=off.canary_seconds) as without:
            assert without.client.get("/readyz").status_code == 200
            assert "samehere_canary_passed 1.0\n" in without.client.get("/metrics").text


def test_no_list_and_no_rerun_shows_it(stage: Stage) -> None:
    stage.node("n")
    submitted = stage.submit("raise RuntimeError('boom')\n").document
    run = launch(stage)
    assert run is not None
    perform(stage, right=False)
    index_all_reports(stage.factory)
    store_all_report_verdicts(stage.factory)
    with stage.session() as session:
        assert [item.id for item in list_runs(session).items] == [submitted.id]
        assert [item.id for item in list_reports(session).items] == [submitted.report.id]
        assert [item.id for item in list_reports(session, query="canary").items] == []
        without = list_reports(session, query="-verdict:reproduced").items
        assert run.report_id not in [item.id for item in without]
        assert triage(session, each=10).parts == ()
        assert run.report_id not in str(groups(session, each=10))
        report = session.get_one(ReportRow, run.report_id)
        assert (report.attention, report.verdict, report.main_script) == (None, None, None)
    age(stage, 90 * 86_400)
    stage.node("n", toolchain="torch-2.14-cpu")
    rerun_round(stage.factory, settings=stage.settings)
    with stage.session() as session:
        runs = session.scalars(select(RunRow).where(RunRow.report_id == run.report_id)).all()
        assert [row.id for row in runs] == [run.id]


def test_it_is_dispatched_before_everything_else(stage: Stage) -> None:
    stage.node("n", slots=1)
    stage.submit(repeats=20)
    run = launch(stage)
    assert run is not None
    first = [attempt.attempt_id for attempt in stage.dispatch()]
    assert first
    assert set(first) <= {attempt.id for attempt in stage.attempts(run.id)}


def test_only_the_last_ones_stay(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "STORED", 2)
    assert STORED > 2
    stage.node("n")
    stage.submit()
    for _ in range(5):
        launch(stage)
        perform(stage)
        age(stage, stage.settings.canary_seconds)
    with stage.session() as session:
        rows = session.scalars(select(RunRow).where(RunRow.trigger == "canary")).all()
        # Two that had ended, and the one that was started after the rest was deleted.
        assert len(rows) == 3
        assert len(session.scalars(select(ReportRow)).all()) == 4
