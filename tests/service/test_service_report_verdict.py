"""The current verdict is on the row of a report after a run ends, and not while the run is open again."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime

from sqlalchemy import update
from stage import Stage, result

from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import Submission, submit
from app.storage.models import ReportRow
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import Observation, Outcome


def report_of(stage: Stage, report_id: str) -> ReportRow:
    with stage.session() as session:
        report = session.get(ReportRow, report_id)
        assert report is not None
        return report


def finish(stage: Stage, **more: object) -> None:
    while attempts := stage.dispatch():
        for attempt in attempts:
            stage.say(result(attempt, node="n1", **more))


def test_it_is_kept_when_a_run_ends(stage: Stage) -> None:
    stage.node("n1")
    document = stage.submit().document
    report_id = document.report.id or ""
    assert (report_of(stage, report_id).verdict, report_of(stage, report_id).attention) == (None, None)
    finish(stage)
    row = report_of(stage, report_id)
    assert (row.verdict, row.attention, row.verified_at) == (
        Verdict.REPRODUCED,
        Attention.STILL_BROKEN,
        stage.run(document.id).finished_at,
    )


def test_a_later_no_in_the_same_place_shows_it_fixed_only_in_a_newer_version(stage: Stage) -> None:
    stage.node("n1")
    report_id = stage.submit().document.report.id or ""
    finish(stage)
    first = report_of(stage, report_id).verified_at
    stage.node("n1", toolchain="torch-2.14-cpu")
    with stage.session() as session:
        relaunch(
            session,
            report_id,
            RunRequest(targets=(Target(toolchain="torch-2.14-cpu"),)),
            settings=stage.settings,
        )
    while attempts := stage.dispatch():
        for attempt in attempts:
            said = result(
                attempt, node="n1", outcome=Outcome.COMPLETED, observation=Observation(exit_status=0)
            )
            stage.say(
                said.model_copy(update={"environment": {**said.environment, "torch.version": "2.14.0"}})
            )
    row = report_of(stage, report_id)
    assert (row.verdict, row.attention) == (Verdict.NOT_REPRODUCED, Attention.FIXED)
    assert isinstance(first, datetime)
    assert row.verified_at is not None
    assert row.verified_at > first


def test_a_report_that_lacks_something_is_one_to_ask_at_once(stage: Stage) -> None:
    stage.node("n1")
    with stage.session() as session:
        sent = submit(session, Submission(report="It crashes, always."), settings=stage.settings)
    report_id = sent.document.report.id or ""
    assert report_of(stage, report_id).attention is Attention.ASK
    assert report_of(stage, report_id).verdict is Verdict.NEEDS_INFO


def test_rows_from_before_are_filled_by_a_command(stage: Stage) -> None:
    stage.node("n1")
    report_id = stage.submit().document.report.id or ""
    waiting = stage.submit("raise RuntimeError('boom')  # waits\n").document
    for attempt in stage.dispatch():
        if attempt.script != "raise RuntimeError('boom')  # waits\n":
            stage.say(result(attempt, node="n1"))
    kept = report_of(stage, report_id)
    with stage.session() as session:
        session.execute(update(ReportRow).values(verdict=None, attention=None, verified_at=None))
    variables = {**os.environ, "SAMEHERE_DATABASE_URL": stage.settings.reveal_database_url() or ""}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app.serve.backfill", "standing"],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "2 reports\n"
    filled = report_of(stage, report_id)
    assert (filled.verdict, filled.attention, filled.verified_at) == (
        kept.verdict,
        kept.attention,
        kept.verified_at,
    )
    assert filled.attention is Attention.STILL_BROKEN
    assert report_of(stage, waiting.report.id or "").attention is None


def test_keeping_it_twice_changes_nothing_and_a_report_that_is_not_there_is_none(stage: Stage) -> None:
    stage.node("n1")
    report_id = stage.submit().document.report.id or ""
    finish(stage)
    kept = report_of(stage, report_id)
    with stage.session() as session:
        store_report_verdict(session, report_id)
        store_report_verdict(session, "0" * 26)
    again = report_of(stage, report_id)
    assert (again.verdict, again.attention, again.verified_at) == (
        kept.verdict,
        kept.attention,
        kept.verified_at,
    )
