"""Where results put numbers in question, the service adds the cell that traces the script, once."""

from __future__ import annotations

import pytest
from stage import Stage, result

from app.runs.rows.events import events_after
from worker.contract import Attempt, Observation, Outcome

pytestmark = pytest.mark.service
SCRIPT = "import torch\nprint(torch.zeros(2).log().sum().item())\n"


def answer(stage: Stage, attempt: Attempt, stdout: str, *, seconds: float = 2.0) -> None:
    stage.start(attempt, node="n1")
    seen = Observation(exit_status=0, stdout=stdout, wall_seconds=seconds)
    stage.say(result(attempt, node="n1", outcome=Outcome.COMPLETED, observation=seen))


def run_of(stage: Stage, stdout: str, *, seconds: float = 2.0) -> tuple[str, list[dict[str, str]]]:
    """A run whose attempts all printed this: its id, and the settings of its attempts in their order."""
    stage.node("n1")
    run_id = stage.submit(SCRIPT, claim=None, repeats=None).document.id
    settings: list[dict[str, str]] = []
    while attempts := stage.dispatch():
        for attempt in attempts:
            settings.append(dict(attempt.settings))
            answer(stage, attempt, stdout, seconds=seconds)
    return run_id, settings


def test_infinity_is_traced_and_the_run_ends_with_it(stage: Stage) -> None:
    run_id, settings = run_of(stage, "-inf\n")
    assert settings.count({"trace": "on"}) == 1
    assert settings[-1] == {"trace": "on"}
    run = stage.run(run_id)
    assert run.state == "finished"
    assert [job.target.settings for job in run.jobs] == [{}, {"trace": "on"}]
    with stage.session() as session:
        names = [event.kind for event in events_after(session, run_id, 0)]
    assert names.count("job.added") == names.count("run.finished") == 1


@pytest.mark.parametrize(("stdout", "seconds"), [("1.5\n", 2.0), ("-inf\n", 50.0)])
def test_a_finite_number_or_a_slow_script_is_not(stage: Stage, stdout: str, seconds: float) -> None:
    run_id, _ = run_of(stage, stdout, seconds=seconds)
    run = stage.run(run_id)
    assert (run.state, len(run.jobs)) == ("finished", 1)
