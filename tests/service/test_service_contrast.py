"""A run that ends `reproduced` without a contrast gets one cell more, which decides nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from numpy_versions import SCRIPT, SEEN, UNSEEN, answer, changes, finish, say_hello
from stage import Stage, result

from app.errors import ConflictError
from app.judging.verdict.contrast import ContrastKind
from app.judging.verdict.rerunnable import Which
from app.runs.exchange.contribute import contribute, export
from app.runs.lookup.runs import run_json
from app.runs.maintenance import quarantine
from app.runs.maintenance.rejudge import judge_again
from app.runs.maintenance.withdraw import withdraw
from app.runs.rows.events import events_after
from app.runs.run_object.document import JobPart, RunDocument
from app.runs.submission.rerun_cells import add_cells, cancel_cell, cancel_whole_run, rerun
from app.runs.submission.submit import Submission, submit
from app.targets.target import Target
from app.web.views.markdown_copy import run_markdown
from worker.contract import Attempt, Outcome

pytestmark = pytest.mark.service
BROKEN = {"2.4.0": True, "2.3.5": False, "2.2.1": False}
EVERYWHERE = dict.fromkeys(BROKEN, True)
OLDER = "cpu@numpy-2.3.5"


def start(stage: Stage, **fields: object) -> str:
    """A run of a report by the preset `quick`, on a node with three versions of numpy."""
    say_hello(stage, *BROKEN)
    wish = Submission(**{"script": SCRIPT, "claim": "RuntimeError: boom", **fields})  # type: ignore[arg-type]
    with stage.session() as session:
        return submit(session, wish, settings=stage.settings).document.id


def first_verdict(stage: Stage, broken: Mapping[str, bool] = BROKEN, **fields: object) -> str:
    """A run whose own cells have ended. What was dispatched after that is still on the node."""
    run_id = start(stage, **fields)
    while stage.run(run_id).state != "finished":
        for attempt in stage.dispatch():
            answer(stage, attempt, broken)
    return run_id


def extra(run: RunDocument) -> list[JobPart]:
    return [job for job in run.jobs if job.is_contrast]


def kinds(stage: Stage, run_id: str) -> list[str]:
    with stage.session() as session:
        return [event.kind for event in events_after(session, run_id)]


def test_the_verdict_does_not_wait_and_does_not_change(stage: Stage) -> None:
    run_id = first_verdict(stage)
    before = stage.run(run_id)
    (cell,) = extra(before)
    assert (before.state, before.verdict, before.where) == ("finished", "reproduced", ["cpu@numpy-2.4.0"])
    assert (cell.target.label, cell.state, cell.verdict) == (OLDER, "queued", None)
    assert before.contrast is not None
    assert (before.contrast.kind, before.contrast.added, before.contrast.is_open) == ("none", OLDER, True)
    attempts = finish(stage, BROKEN)
    assert {attempt.toolchain for attempt in attempts} == {"numpy-2.3.5"}
    assert len(attempts) == 3
    after = stage.run(run_id)
    (cell,) = extra(after)
    assert (cell.state, cell.verdict, cell.matched, cell.of) == ("judged", "not_reproduced", 0, 3)
    assert after.contrast is not None
    assert (after.contrast.kind, after.contrast.target) == ("target", OLDER)
    assert not after.contrast.is_open
    same = ("state", "verdict", "where", "not_where", "summary", "seen", "without_result", "finished_at")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert after.answer.what == "May have regressed in numpy 2.4.0, fine in 2.3.5."
    assert [change.kind for change in changes(stage)] == ["regressed"]
    assert kinds(stage, run_id).count("run.finished") == 1
    assert kinds(stage, run_id)[-1] == "contrast.changed"


def test_a_cell_that_shows_it_too_is_no_contrast_and_no_second_one_comes(stage: Stage) -> None:
    run_id = first_verdict(stage, EVERYWHERE)
    finish(stage, EVERYWHERE)
    run = stage.run(run_id)
    (cell,) = extra(run)
    assert (cell.verdict, run.verdict, run.where) == ("reproduced", "reproduced", ["cpu@numpy-2.4.0"])
    assert run.contrast is not None
    assert (run.contrast.kind, run.contrast.added, run.contrast.is_open) == ("none", OLDER, False)
    assert stage.dispatch() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"targets": (Target(toolchain="numpy-2.4.0"),)},
        {"exclude": ("*:threads=*",)},
        {"awaited": False},
        # Chance may decide what a few attempts show.
        {"claim": "Sometimes RuntimeError: boom"},
        # Nothing is claimed.
        {"claim": None},
    ],
)
def test_no_cell_is_added(stage: Stage, fields: dict[str, object]) -> None:
    run_id = start(stage, **fields)
    finish(stage, EVERYWHERE)
    run = stage.run(run_id)
    assert run.state == "finished"
    assert extra(run) == []


def test_a_run_that_tries_all_versions_has_its_contrast(stage: Stage) -> None:
    run_id = start(stage, preset="version")
    finish(stage, BROKEN)
    run = stage.run(run_id)
    assert run.contrast is not None
    assert (run.contrast.kind, extra(run)) == ("target", [])


def test_it_can_be_turned_off(stage: Stage) -> None:
    stage.settings = stage.settings.model_copy(update={"contrast_seconds": 0.0})
    run_id = first_verdict(stage)
    assert extra(stage.run(run_id)) == []


def test_a_slow_script_gets_none(stage: Stage) -> None:
    slow = stage.settings.model_copy(update={"contrast_seconds": 0.5})
    run_id = start(stage)
    stage.settings = slow
    while attempts := stage.dispatch():
        for attempt in attempts:
            answer_after(stage, attempt, seconds=10.0)
    run = stage.run(run_id)
    assert (run.verdict, extra(run)) == ("reproduced", [])


def answer_after(stage: Stage, attempt: Attempt, *, seconds: float) -> None:
    observation = SEEN.model_copy(update={"wall_seconds": seconds})
    said = result(attempt, node="n1", outcome=Outcome.RAISED, observation=observation)
    stage.say(said)


def test_the_version_that_the_report_calls_working_is_tried(stage: Stage) -> None:
    text = (
        "# numpy raises\n\nIt worked in numpy 2.2, and it fails since numpy 2.4.\n\n"
        f"```python\n{SCRIPT}```\n\n```\nRuntimeError: boom\n```\n"
    )
    run_id = first_verdict(stage, script=None, report=text, claim=None)
    finish(stage, BROKEN)
    run = stage.run(run_id)
    (cell,) = extra(run)
    # Elsewhere a "no" from a version that the report clears says nothing. Here it is the contrast.
    assert (cell.target.label, cell.verdict) == ("cpu@numpy-2.2.1", "not_reproduced")
    assert run.contrast is not None
    assert run.contrast.target == "cpu@numpy-2.2.1"


def test_it_comes_after_the_first_answers_of_all_others(stage: Stage) -> None:
    first_verdict(stage)
    say_hello(stage, *BROKEN, slots=1)
    with stage.session() as session:
        later = submit(
            session,
            Submission(script=f"{SCRIPT}# other\n", claim="RuntimeError: boom", repeats=2),
            settings=stage.settings,
        ).document.id
    order = [attempt.run_id for attempt in finish(stage, BROKEN)]
    own = [number for number, run_id in enumerate(order) if run_id == later]
    assert own[0] == 0
    assert own[1] == 1


def test_stopping_it_leaves_the_verdict(stage: Stage) -> None:
    run_id = first_verdict(stage)
    with stage.session() as session:
        run = cancel_whole_run(session, run_id)
    (cell,) = extra(run)
    assert (run.state, run.verdict, cell.state) == ("finished", "reproduced", "cancelled")
    assert run.contrast is not None
    assert not run.contrast.is_open
    assert run.without_result == 0
    assert stage.dispatch() == []
    with stage.session() as session, pytest.raises(ConflictError):
        cancel_whole_run(session, run_id)


def test_one_cell_can_be_stopped_while_it_runs(stage: Stage) -> None:
    run_id = first_verdict(stage)
    (attempt,) = stage.dispatch()
    stage.start(attempt, node="n1")
    with stage.session() as session:
        run = cancel_cell(session, run_id, extra(stage.run(run_id))[0].id)
    assert (run.state, extra(run)[0].state) == ("finished", "cancelled")
    answer(stage, attempt, BROKEN)
    assert stage.run(run_id).verdict == "reproduced"
    assert stage.dispatch() == []


def test_a_rerun_leaves_it_alone_and_adds_no_second_one(stage: Stage) -> None:
    run_id = first_verdict(stage)
    with stage.session() as session:
        cancel_whole_run(session, run_id)
    with stage.session() as session, pytest.raises(ConflictError):
        rerun(session, run_id, Which.FAILED, settings=stage.settings)
    with stage.session() as session:
        new = rerun(session, run_id, Which.ALL, settings=stage.settings)
    assert [job.target.label for job in new.jobs] == ["cpu@numpy-2.4.0"]
    finish(stage, BROKEN)
    assert [job.target.label for job in extra(stage.run(new.id))] == [OLDER]


def test_a_new_run_of_the_same_cells_keeps_to_them(stage: Stage) -> None:
    run_id = start(stage, exclude=("*:threads=*",))
    finish(stage, EVERYWHERE)
    with stage.session() as session:
        new = rerun(session, run_id, Which.ALL, settings=stage.settings)
    finish(stage, EVERYWHERE)
    assert extra(stage.run(new.id)) == []


def test_a_cell_that_is_added_by_name_becomes_an_ordinary_one(stage: Stage) -> None:
    run_id = first_verdict(stage)
    finish(stage, BROKEN)
    with stage.session() as session:
        opened = add_cells(session, run_id, [Target(toolchain="numpy-2.3.5")], settings=stage.settings)
    assert (opened.state, opened.verdict, extra(opened), len(opened.jobs)) == ("running", None, [], 2)
    finish(stage, BROKEN)
    run = stage.run(run_id)
    assert (run.verdict, run.not_where, extra(run)) == ("reproduced", [OLDER], [])
    assert run.contrast is not None
    assert (run.contrast.target, run.contrast.added) == (OLDER, None)


def test_another_cell_can_be_added_while_it_is_open(stage: Stage) -> None:
    run_id = first_verdict(stage)
    with stage.session() as session:
        add_cells(session, run_id, [Target(toolchain="numpy-2.2.1")], settings=stage.settings)
    finish(stage, BROKEN)
    run = stage.run(run_id)
    assert (run.state, run.verdict, run.not_where) == ("finished", "reproduced", ["cpu@numpy-2.2.1"])
    assert [job.verdict for job in extra(run)] == ["not_reproduced"]
    assert {job.state for job in run.jobs} == {"judged"}


def test_an_absent_node_ends_it(stage: Stage) -> None:
    run_id = first_verdict(stage)
    stage.die("n1")
    stage.recover()
    assert extra(stage.run(run_id))[0].state == "queued"
    for _ in range(stage.settings.leases + 1):
        stage.let_wait()
        stage.recover()
    run = stage.run(run_id)
    (cell,) = extra(run)
    assert (run.verdict, cell.state, cell.verdict) == ("reproduced", "judged", "no_result")
    assert run.without_result == 0


def test_a_lost_lease_is_given_again(stage: Stage) -> None:
    run_id = first_verdict(stage)
    (attempt,) = stage.dispatch()
    stage.start(attempt, node="n1")
    stage.let_leases_end()
    stage.recover()
    assert stage.run(run_id).state == "finished"
    finish(stage, BROKEN)
    assert extra(stage.run(run_id))[0].verdict == "not_reproduced"


def test_it_travels_in_a_bundle(stage: Stage) -> None:
    run_id = first_verdict(stage)
    with stage.session() as session:
        early = export(session, run_id)
    assert len(early["jobs"]) == 1
    finish(stage, BROKEN)
    with stage.session() as session:
        late = export(session, run_id)
    assert [job.get("is_contrast", False) for job in late["jobs"]] == [False, True]
    for content in (early, late):
        with stage.session() as session:
            # It is our own run, whenever the bundle was made.
            assert (
                contribute(session, json.dumps(content).encode(), by="x", settings=stage.settings).document.id
                == run_id
            )


def test_judging_again_keeps_it(stage: Stage) -> None:
    run_id = first_verdict(stage)
    finish(stage, BROKEN)
    with stage.session() as session:
        assert judge_again(session, apply=True, reason="new rules", who="m").flips == []
    run = stage.run(run_id)
    assert run.contrast is not None
    assert run.contrast.kind is ContrastKind.TARGET


def test_the_stored_answer_follows(stage: Stage) -> None:
    run_id = first_verdict(stage)
    assert _contrast(stage, run_id)["is_open"] is True
    (attempt,) = stage.dispatch()
    stage.start(attempt, node="n1")
    assert _contrast(stage, run_id)["is_open"] is True
    answer(stage, attempt, BROKEN)
    finish(stage, BROKEN)
    for _ in range(2):
        assert _contrast(stage, run_id)["kind"] == "target"


def _contrast(stage: Stage, run_id: str) -> dict[str, object]:
    with stage.session() as session:
        found: dict[str, object] = json.loads(run_json(session, run_id))["contrast"]
    return found


def test_a_plan_says_that_it_may_come(stage: Stage) -> None:
    say_hello(stage, *BROKEN)
    with stage.session() as session:
        wish = Submission(script=SCRIPT, claim="RuntimeError: boom")
        plan = submit(session, wish, settings=stage.settings, dry_run=True).document
    assert plan.estimate is not None
    assert plan.estimate.contrast == OLDER


def test_evidence_in_doubt_is_run_again_and_the_run_stays_finished(stage: Stage) -> None:
    run_id = first_verdict(stage)
    finish(stage, BROKEN)
    assert _contrast(stage, run_id)["kind"] == "target"
    with stage.session() as session:
        held = quarantine.quarantine(
            session, "toolchain", "numpy-2.3.5", reason="a broken build", who="ada", settings=stage.settings
        )
    waiting = stage.run(run_id)
    assert (waiting.state, waiting.verdict) == ("finished", "reproduced")
    assert [job.state for job in waiting.jobs] == ["judged", "queued"]
    assert waiting.contrast is not None
    assert waiting.contrast.is_open
    assert stage.dispatch() == []
    with stage.session() as session:
        quarantine.lift(session, held.id, reason="built again", who="ada")
    finish(stage, EVERYWHERE)
    run = stage.run(run_id)
    assert run.contrast is not None
    assert (run.verdict, run.contrast.kind, run.contrast.is_open) == ("reproduced", "none", False)
    assert kinds(stage, run_id).count("run.reopened") == 0


def test_a_withdrawn_report_stops_it(stage: Stage) -> None:
    run_id = first_verdict(stage)
    report_id = stage.run(run_id).report.id or ""
    with stage.session() as session:
        withdraw(session, report_id, reason="a secret", who="ada")
    assert stage.dispatch() == []
    assert [job.state for job in stage.run(run_id).jobs] == ["judged", "cancelled"]


def test_the_page_and_the_copies_say_it(stage: Stage) -> None:
    run_id = first_verdict(stage)
    open_words = run_markdown(stage.run(run_id), address="x")
    assert f"One target more is being tried, to find one without it: `{OLDER}`." in open_words
    finish(stage, EVERYWHERE)
    assert f"though one target more was tried for that: `{OLDER}`." in run_markdown(
        stage.run(run_id), address="x"
    )


def test_a_compiled_script_is_tried_uncompiled(stage: Stage) -> None:
    stage.node("n1")
    script = "import torch\nf = torch.compile(lambda x: x + 1)\nraise RuntimeError('boom')\n"
    run_id = stage.submit(script, repeats=None).document.id
    while attempts := stage.dispatch():
        for attempt in attempts:
            broken = "compile" not in attempt.settings
            outcome, seen = (Outcome.RAISED, SEEN) if broken else (Outcome.COMPLETED, UNSEEN)
            stage.say(result(attempt, node="n1", outcome=outcome, observation=seen))
    run = stage.run(run_id)
    (cell,) = extra(run)
    assert (cell.target.label, cell.verdict, cell.of) == (
        "cpu@torch-2.13-cpu:compile=eager",
        "not_reproduced",
        3,
    )
    assert run.contrast is not None
    assert run.contrast.target == cell.target.label
