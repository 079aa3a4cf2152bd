"""Changes that the recorder finds: with both jobs as evidence, once, and only if a single version differs."""

from __future__ import annotations

from numpy_versions import again, changes, finish, report, say_hello, send
from stage import Stage

from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.runs.rows.events import events_after
from app.storage.models import JobRow
from app.storage.queries.changes import delete_of_jobs


def test_a_newer_version_that_breaks_it_is_a_regression_with_both_jobs(stage: Stage) -> None:
    say_hello(stage, "2.0.0", "2.1.0", "1.26.4")
    report_id = send(stage, "1.26.4", "2.0.0")
    finish(stage, {"1.26.4": False, "2.0.0": False})
    assert changes(stage) == []
    again(stage, report_id, "2.1.0")
    finish(stage, {"2.1.0": True})
    (found,) = changes(stage)
    assert (found.kind, found.axis, found.older, found.newer) == (
        ChangeKind.REGRESSED,
        "numpy",
        "2.0.0",
        "2.1.0",
    )
    assert (found.target, found.before_target, found.toolchain) == (
        "cpu@numpy-2.1.0",
        "cpu@numpy-2.0.0",
        "numpy-2.1.0",
    )
    assert (found.before, found.after, found.report_id) == (
        Verdict.NOT_REPRODUCED,
        Verdict.REPRODUCED,
        report_id,
    )
    with stage.session() as session:
        jobs = [session.get_one(JobRow, job_id) for job_id in (found.before_job_id, found.job_id)]
        assert [job.target["toolchain"] for job in jobs] == ["numpy-2.0.0", "numpy-2.1.0"]
        assert found.run_id == jobs[1].run_id
        events = events_after(session, found.run_id)
        assert [event.kind for event in events[-2:]] == ["change.found", "run.finished"]
        assert events[-2].ids["change"] == found.id
    assert report(stage, report_id).attention is Attention.STILL_BROKEN


def test_fixed_is_said_of_the_version_that_fixes_it_also_when_the_older_ones_come_later(stage: Stage) -> None:
    say_hello(stage, "2.0.0", "2.1.0", "2.2.0")
    report_id = send(stage, "2.2.0")
    broken = {"2.0.0": True, "2.1.0": True, "2.2.0": False}
    finish(stage, broken)
    again(stage, report_id, "2.0.0")
    finish(stage, broken)
    assert [(row.kind, row.older, row.newer) for row in changes(stage)] == [
        (ChangeKind.FIXED, "2.0.0", "2.2.0")
    ]
    again(stage, report_id, "2.1.0")
    finish(stage, broken)
    assert [(row.kind, row.older, row.newer) for row in changes(stage)][1:] == [
        (ChangeKind.FIXED, "2.1.0", "2.2.0")
    ]
    assert report(stage, report_id).attention is Attention.FIXED


def test_what_is_known_is_not_found_again_by_a_later_run(stage: Stage) -> None:
    say_hello(stage, "2.0.0", "2.1.0")
    broken = {"2.0.0": False, "2.1.0": True}
    report_id = send(stage, "2.0.0", "2.1.0")
    finish(stage, broken)
    for _ in range(2):
        again(stage, report_id, "2.0.0", "2.1.0")
        finish(stage, broken)
    assert [row.kind for row in changes(stage)] == [ChangeKind.REGRESSED]


def test_another_machine_is_confounded_until_the_older_version_ran_there_too(stage: Stage) -> None:
    say_hello(stage, "2.0.0", "2.1.0")
    report_id = send(stage, "2.0.0")
    finish(stage, {"2.0.0": False})
    again(stage, report_id, "2.1.0")
    finish(stage, {"2.1.0": True}, **{"cpu.model": "y"})
    (found,) = changes(stage)
    assert (found.kind, found.differs, found.axis) == (ChangeKind.CONFOUNDED, ["cpu.model"], "numpy")
    assert found.missing == "numpy 2.0.0, where cpu@numpy-2.1.0 ran"
    again(stage, report_id, "2.0.0")
    finish(stage, {"2.0.0": False}, **{"cpu.model": "y"})
    assert [row.kind for row in changes(stage)] == [ChangeKind.CONFOUNDED, ChangeKind.REGRESSED]


def test_a_machine_that_explains_it_takes_no_blame_from_the_version(stage: Stage) -> None:
    say_hello(stage, "2.0.0", "2.1.0")
    report_id = send(stage, "2.0.0")
    finish(stage, {"2.0.0": False})
    again(stage, report_id, "2.0.0", "2.1.0")
    # On this machine both versions show the bug.
    finish(stage, {"2.0.0": True, "2.1.0": True}, **{"cpu.model": "y"})
    assert [(row.kind, row.target, row.before_target) for row in changes(stage)] == [
        (ChangeKind.CONFOUNDED, "cpu@numpy-2.0.0", "cpu@numpy-2.0.0")
    ]


def test_the_same_place_that_answers_otherwise_is_no_regression(stage: Stage) -> None:
    say_hello(stage, "2.0.0")
    report_id = send(stage, "2.0.0")
    finish(stage, {"2.0.0": False})
    again(stage, report_id, "2.0.0")
    finish(stage, {"2.0.0": True})
    (found,) = changes(stage)
    assert (found.kind, found.axis, found.differs) == (ChangeKind.OTHER, "", [])


def test_a_verdict_by_other_rules_is_no_change(stage: Stage) -> None:
    say_hello(stage, "2.0.0", "2.1.0")
    report_id = send(stage, "2.0.0")
    finish(stage, {"2.0.0": True})
    with stage.session() as session:
        # The verdict of older rules.
        session.query(JobRow).update({JobRow.verdict: Verdict.NOT_REPRODUCED})
    again(stage, report_id, "2.1.0")
    finish(stage, {"2.1.0": True})
    assert changes(stage) == []


def test_evidence_that_is_open_again_takes_its_changes_along(stage: Stage) -> None:
    say_hello(stage, "2.0.0", "2.1.0")
    send(stage, "2.0.0", "2.1.0")
    finish(stage, {"2.0.0": False, "2.1.0": True})
    (found,) = changes(stage)
    with stage.session() as session:
        delete_of_jobs(session, {found.before_job_id})
    assert changes(stage) == []
