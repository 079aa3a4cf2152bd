"""Automatic reruns: for a new toolchain, on a schedule, and for a pair; within a budget, and in the
background.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from numpy_versions import SCRIPT, answer, changes, finish, report, say_hello, send
from sqlalchemy import select, update
from stage import Stage, together

from app.judging.report.change import ChangeKind
from app.runs.lifecycle.cancel import cancel_run
from app.runs.submission import scheduled_reruns
from app.runs.submission.scheduled_reruns import rerun_round
from app.runs.submission.submit import Submission, submit
from app.settings import ServiceSettings
from app.storage.models import ReportRow, RunRow, ToolchainRow
from app.storage.queries import rerun as queries

BROKEN_SINCE = {"1.26.4": False, "2.0.0": False, "2.1.0": True, "2.2.0": True}


def look(stage: Stage, **settings: object) -> None:
    """One round of reruns, as beat asks for it."""
    rerun_round(stage.factory, settings=stage.settings.model_copy(update=settings))


def runs(stage: Stage, *, trigger: str | None = None) -> list[RunRow]:
    with stage.session() as session:
        wanted = RunRow.trigger != "submitted" if trigger is None else RunRow.trigger == trigger
        return list(session.scalars(select(RunRow).where(wanted).order_by(RunRow.id)))


def toolchains_of(stage: Stage, run: RunRow) -> list[str]:
    return [job.target["toolchain"] for job in stage.jobs(run.id)]


def long_ago(stage: Stage, days: int = 60) -> None:
    """Make all reports look as if they had been verified days ago."""
    with stage.session() as session:
        shift = timedelta(days=days)
        session.execute(
            update(ReportRow).values(
                verified_at=ReportRow.verified_at - shift, considered_at=ReportRow.considered_at - shift
            )
        )
        session.execute(update(ToolchainRow).values(since=ToolchainRow.since - shift))


def test_a_toolchain_that_comes_finds_a_regression_and_nothing_is_run_twice(stage: Stage) -> None:
    say_hello(stage, "1.26.4", "2.0.0")
    report_id = send(stage, "2.0.0")
    finish(stage, BROKEN_SINCE)
    look(stage)
    assert runs(stage) == []
    say_hello(stage, "1.26.4", "2.0.0", "2.1.0")
    look(stage)
    look(stage)
    (run,) = runs(stage)
    assert (run.trigger, run.report_id, toolchains_of(stage, run)) == (
        "toolchain",
        report_id,
        ["numpy-2.1.0"],
    )
    finish(stage, BROKEN_SINCE)
    (found,) = changes(stage)
    assert (found.kind, found.older, found.newer, found.run_id) == (
        ChangeKind.REGRESSED,
        "2.0.0",
        "2.1.0",
        run.id,
    )
    # The node says hello again as a new instance. No toolchain is new.
    say_hello(stage, "1.26.4", "2.0.0", "2.1.0", node="n2")
    look(stage)
    assert len(runs(stage)) == 1


def test_what_a_node_offered_before_anything_was_remembered_is_not_new(stage: Stage) -> None:
    say_hello(stage, "2.0.0")
    send(stage, "2.0.0")
    finish(stage, BROKEN_SINCE)
    with stage.session() as session:
        # As after an upgrade from a version that did not store toolchains.
        session.query(ToolchainRow).delete()
    say_hello(stage, "2.0.0")
    look(stage)
    assert runs(stage) == []


def test_where_nothing_compares_the_nearest_version_is_run_beside_it(stage: Stage) -> None:
    say_hello(stage, "2.0.0")
    send(stage, script="raise RuntimeError('boom')\n")
    with stage.session() as session:
        # The report ran on a toolchain without a comparable version, and that is gone.
        (job,) = stage.jobs(session.scalars(select(RunRow.id)).one())
        session.execute(update(type(job)).values(target={**job.target, "toolchain": "other-1"}))
    with stage.session() as session:
        session.execute(update(RunRow).values(state="finished", verdict="not_reproduced"))
        session.execute(update(ReportRow).values(verdict="not_reproduced", attention="not_as_reported"))
    say_hello(stage, "2.0.0", "1.26.4", "2.2.0", "2.1.0")
    look(stage)
    (run,) = runs(stage)
    # Each new toolchain, together with the one that was there before.
    assert set(toolchains_of(stage, run)) == {"numpy-2.2.0", "numpy-2.1.0", "numpy-2.0.0", "numpy-1.26.4"}


def test_a_toolchain_without_what_the_script_imports_is_not_tried(stage: Stage) -> None:
    say_hello(stage, "2.0.0")
    report_id = send(stage, "2.0.0")
    finish(stage, BROKEN_SINCE)
    before = report(stage, report_id).considered_at
    stage.node("n2", toolchain="torch-2.13-cpu")
    look(stage)
    assert runs(stage) == []
    assert report(stage, report_id).considered_at > before


def test_the_stalest_are_run_first_and_at_most_so_many_at_once(stage: Stage) -> None:
    say_hello(stage, "2.0.0")
    ids = [send(stage, "2.0.0", script=f"{SCRIPT}# {number}\n") for number in range(4)]
    finish(stage, BROKEN_SINCE)
    with stage.session() as session:
        for days, report_id in enumerate(ids):
            session.execute(
                update(ReportRow)
                .where(ReportRow.id == report_id)
                .values(verified_at=ReportRow.verified_at - timedelta(days))
            )
    say_hello(stage, "2.0.0", "2.1.0")
    look(stage, rerun_at_once=2)
    look(stage, rerun_at_once=2)
    assert [run.report_id for run in runs(stage)] == [ids[3], ids[2]]
    finish(stage, BROKEN_SINCE)
    look(stage, rerun_at_once=2)
    assert [run.report_id for run in runs(stage)] == [ids[3], ids[2], ids[1], ids[0]]


def test_the_budget_of_a_day_counts_what_is_planned_and_what_was_done(stage: Stage) -> None:
    say_hello(stage, "2.0.0")
    for number in range(3):
        send(stage, "2.0.0", script=f"{SCRIPT}# {number}\n")
    finish(stage, BROKEN_SINCE)
    say_hello(stage, "2.0.0", "2.1.0")
    look(stage, rerun_attempts_a_day=4)
    assert runs(stage) == []
    look(stage, rerun_attempts_a_day=9, rerun_at_once=9)
    assert len(runs(stage)) == 1
    done = len(finish(stage, BROKEN_SINCE))
    assert done == 3
    # Three of the nine attempts are spent. One more run of at most five fits.
    look(stage, rerun_attempts_a_day=9, rerun_at_once=9)
    assert len(runs(stage)) == 2
    finish(stage, BROKEN_SINCE)
    look(stage, rerun_attempts_a_day=9, rerun_at_once=9)
    assert len(runs(stage)) == 2
    with stage.session() as session:
        # Attempts of more than a day ago are not counted. Ids hold the time.
        assert queries.attempts_spent(session, since="0" * 26) == 2 * done
        assert queries.attempts_spent(session, since=runs(stage)[-1].id) == 0


@pytest.mark.parametrize("settings", [{"rerun": False}, {"rerun_attempts_a_day": 0}])
def test_it_can_be_switched_off(stage: Stage, settings: dict[str, object]) -> None:
    say_hello(stage, "2.0.0")
    send(stage, "2.0.0")
    finish(stage, BROKEN_SINCE)
    say_hello(stage, "2.0.0", "2.1.0")
    look(stage, **settings)
    assert runs(stage) == []


def test_on_a_schedule_the_newest_version_is_verified_again(stage: Stage) -> None:
    say_hello(stage, "2.0.0", "1.26.4")
    report_id = send(stage, "2.0.0", "1.26.4")
    finish(stage, BROKEN_SINCE)
    look(stage, rerun_days=30)
    assert runs(stage) == []
    long_ago(stage)
    look(stage, rerun_days=0)
    assert runs(stage) == []
    look(stage, rerun_days=30)
    look(stage, rerun_days=30)
    (run,) = runs(stage)
    assert (run.trigger, toolchains_of(stage, run)) == ("schedule", ["numpy-2.0.0"])
    before = report(stage, report_id).verified_at
    finish(stage, BROKEN_SINCE)
    after = report(stage, report_id).verified_at
    assert before is not None
    assert after is not None
    assert after > before


def test_reports_that_nobody_can_run_or_that_have_not_ended_are_left(stage: Stage) -> None:
    say_hello(stage, "2.0.0")
    with stage.session() as session:
        submit(session, Submission(report="It crashes, always."), settings=stage.settings)
    waiting = send(stage, "2.0.0")
    cancelled = send(stage, "2.0.0", script=f"{SCRIPT}# cancelled\n")
    with stage.session() as session:
        cancel_run(session, session.scalars(select(RunRow.id).where(RunRow.report_id == cancelled)).one())
    say_hello(stage, "2.0.0", "2.1.0")
    look(stage)
    assert runs(stage) == []
    finish(stage, BROKEN_SINCE)
    look(stage)
    assert [run.report_id for run in runs(stage)] == [waiting]


def test_reports_that_somebody_has_ended_are_left(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    say_hello(stage, "2.0.0")
    send(stage, "2.0.0")
    finish(stage, BROKEN_SINCE)
    say_hello(stage, "2.0.0", "2.1.0")
    with monkeypatch.context() as patched:
        # Any of these columns being set is enough.
        patched.setattr(queries, "ENDED", (*queries.ENDED, "claim_text"))
        look(stage)
        assert runs(stage) == []
    look(stage)
    assert len(runs(stage)) == 1


def test_what_was_submitted_goes_first_and_gets_previews_alone(stage: Stage) -> None:
    say_hello(stage, "2.0.0", slots=1)
    send(stage, "2.0.0")
    finish(stage, BROKEN_SINCE)
    say_hello(stage, "2.0.0", "2.1.0", slots=1)
    look(stage)
    (run,) = runs(stage)
    later = send(stage, "2.0.0", script=f"{SCRIPT}# later\n")
    first = stage.dispatch()
    assert {attempt.script for attempt in first} == {f"{SCRIPT}# later\n"}
    for attempt in first:
        answer(stage, attempt, BROKEN_SINCE)
    done = [attempt.script for attempt in finish(stage, BROKEN_SINCE)]
    assert done == sorted(done, reverse=True)
    assert stage.run(run.id).state == "finished"
    assert report(stage, later).verdict is not None


def test_a_pair_on_two_machines_gets_both_sides_again(stage: Stage) -> None:
    say_hello(stage, "2.0.0")
    send(stage, "2.0.0")
    finish(stage, BROKEN_SINCE)
    say_hello(stage, "2.0.0", "2.1.0")
    look(stage)
    finish(stage, BROKEN_SINCE, **{"cpu.model": "y"})
    assert [row.kind for row in changes(stage)] == [ChangeKind.CONFOUNDED]
    look(stage)
    look(stage)
    (run,) = runs(stage, trigger="baseline")
    assert set(toolchains_of(stage, run)) == {"numpy-2.0.0", "numpy-2.1.0"}
    finish(stage, BROKEN_SINCE, **{"cpu.model": "y"})
    assert [row.kind for row in changes(stage)] == [ChangeKind.CONFOUNDED, ChangeKind.REGRESSED]
    look(stage)
    assert len(runs(stage, trigger="baseline")) == 1


def test_versions_that_confound_are_not_run_again_in_vain(stage: Stage) -> None:
    say_hello(stage, "2.0.0")
    send(stage, "2.0.0")
    finish(stage, BROKEN_SINCE)
    say_hello(stage, "2.0.0", "2.1.0")
    look(stage)
    finish(stage, BROKEN_SINCE, **{"python.version": "3.13.0"})
    assert [row.kind for row in changes(stage)] == [ChangeKind.CONFOUNDED]
    look(stage)
    assert runs(stage, trigger="baseline") == []


def test_two_rounds_at_once_start_nothing_twice(stage: Stage) -> None:
    say_hello(stage, "2.0.0")
    for number in range(3):
        send(stage, "2.0.0", script=f"{SCRIPT}# {number}\n")
    finish(stage, BROKEN_SINCE)
    say_hello(stage, "2.0.0", "2.1.0")
    assert together(*[lambda: look(stage, rerun_at_once=9)] * 4) == [None] * 4
    look(stage, rerun_at_once=9)
    started = runs(stage)
    assert len({run.report_id for run in started}) == len(started) == 3


def test_a_round_that_dies_in_the_middle_is_found_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    say_hello(stage, "2.0.0")
    report_id = send(stage, "2.0.0")
    finish(stage, BROKEN_SINCE)
    say_hello(stage, "2.0.0", "2.1.0")
    considered = report(stage, report_id).considered_at
    whole = scheduled_reruns.launch_reading

    def dies(*arguments: object, **more: object) -> None:
        whole(*arguments, **more)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(scheduled_reruns, "launch_reading", dies)
        with pytest.raises(KeyboardInterrupt):
            look(stage)
    assert runs(stage) == []
    assert report(stage, report_id).considered_at == considered
    look(stage)
    assert len(runs(stage)) == 1


def test_the_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="rerun_at_once"):
        ServiceSettings(rerun_at_once=0)
