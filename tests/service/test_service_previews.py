"""A preview is shown as soon as it is there, and changes nothing of the verdict."""

from __future__ import annotations

import pytest
from stage import Stage, result

from worker.contract import AttemptKind, Outcome, Start

pytestmark = pytest.mark.service


@pytest.fixture
def shown(stage: Stage) -> Stage:
    stage.settings = stage.settings.model_copy(update={"preview": True})
    stage.node("n1", slots=1)
    return stage


def test_it_comes_first_and_does_not_count(shown: Stage) -> None:
    run_id = shown.submit(repeats=2).document.id
    first, second = shown.dispatch()
    assert (first.kind, first.start) == (AttemptKind.PREVIEW, Start.WARM)
    assert (second.kind, second.start) == (AttemptKind.REPEAT, Start.COLD)
    shown.say(result(first, node="n1", kind=AttemptKind.PREVIEW, start=Start.WARM))
    interim = shown.run(run_id)
    assert [(attempt.kind, attempt.start, attempt.outcome) for attempt in interim.jobs[0].attempts][:1] == [("preview", "warm", "raised")]
    assert (interim.verdict, interim.jobs[0].verdict, interim.jobs[0].of) == (None, None, 0)
    pending = [second]
    while pending:
        for attempt in pending:
            shown.say(result(attempt, node="n1"))
        pending = shown.dispatch()
    run = shown.run(run_id)
    assert (run.state, run.verdict, run.jobs[0].matched, run.jobs[0].of) == ("finished", "reproduced", 2, 2)
    assert [attempt.kind for attempt in run.jobs[0].attempts].count("preview") == 1


def test_a_node_says_what_start_there_was(shown: Stage) -> None:
    run_id = shown.submit(repeats=1).document.id
    first, second = shown.dispatch()
    shown.say(result(first, node="n1", kind=AttemptKind.PREVIEW, start=Start.COLD))
    # An attempt that counts was asked to start cold, whatever a node says.
    shown.say(result(second, node="n1", start=Start.WARM))
    run = shown.run(run_id)
    assert [(attempt.kind, attempt.start) for attempt in run.jobs[0].attempts] == [("preview", "cold"), ("repeat", "cold")]
    assert run.verdict == "reproduced"


def test_what_it_shows_is_no_evidence(shown: Stage) -> None:
    run_id = shown.submit(repeats=1).document.id
    first, second = shown.dispatch()
    shown.say(result(first, node="n1", kind=AttemptKind.PREVIEW, start=Start.WARM))
    shown.say(result(second, node="n1", outcome=Outcome.SETUP_FAILED))
    while pending := shown.dispatch():
        for attempt in pending:
            shown.say(result(attempt, node="n1", outcome=Outcome.SETUP_FAILED))
    run = shown.run(run_id)
    assert (run.state, run.verdict, run.jobs[0].of) == ("finished", "no_result", 0)


def test_one_that_a_node_holds_is_waited_for(shown: Stage) -> None:
    run_id = shown.submit(repeats=1).document.id
    preview, repeat = shown.dispatch()
    shown.say(result(repeat, node="n1"))
    # The node holds it: the job waits for its end, however it ends.
    assert shown.run(run_id).state != "finished"
    shown.say(result(preview, node="n1", kind=AttemptKind.PREVIEW, outcome=Outcome.SETUP_FAILED))
    assert (shown.run(run_id).state, shown.run(run_id).verdict) == ("finished", "reproduced")
