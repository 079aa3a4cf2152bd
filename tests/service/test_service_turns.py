"""Turns: first answers come before repeats, cells of a run take turns, and nobody waits forever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from stage import TOOLCHAIN, Stage, result

from app.clock import now
from app.judging.cause.cures import CURES
from app.runs.lifecycle.capacity import NodeCapacity
from app.runs.lifecycle.node_choice import choose
from app.runs.lookup.runs import run_document
from app.runs.submission.submit import Submission, submit
from app.settings import ServiceSettings
from app.storage.models import AttemptRow
from app.storage.queries.queue.queue import Candidate, Hold, candidates
from app.targets.target import Target
from worker.contract import Attempt, Hello, Level, Observation, Outcome, ToolchainFacts

FIX = {"fix": "python"}


def submitted(
    stage: Stage, name: str, *settings: dict[str, str], repeats: int = 4, who: str | None = None
) -> str:
    with stage.session() as session:
        request = Submission(
            script=f"raise RuntimeError('boom')  # {name}\n",
            claim="RuntimeError: boom",
            repeats=repeats,
            targets=tuple(Target(toolchain=TOOLCHAIN, settings=each) for each in settings or ({},)),
        )
        return submit(session, request, settings=stage.settings, who=who).document.id


def waiting(stage: Stage) -> list[tuple[str, str]]:
    """The run and the settings of each queued attempt, in the order of dispatch."""
    with stage.session() as session:
        return [
            (each.run_id, ",".join(each.target.get("settings", {})))
            for each in candidates(session, nodes=["lab"], late_settings=CURES)
        ]


class Node:
    """A node with one slot. It holds one more attempt, so that the slot never waits."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.held: list[Attempt] = []
        stage.node("lab", slots=1)

    def run(self, count: int, **shown: Any) -> list[str]:
        """Run the next attempts; their runs."""
        return [self._run_next(shown).run_id for _ in range(count)]

    def _run_next(self, shown: dict[str, Any]) -> Attempt:
        self.held += self.stage.dispatch()
        attempt = self.held.pop(0)
        self.stage.start(attempt, node="lab")
        self.stage.say(result(attempt, node="lab", **shown))
        return attempt


def test_a_first_answer_comes_before_the_repeats_of_others(stage: Stage) -> None:
    node = Node(stage)
    old = submitted(stage, "old", repeats=6)
    assert node.run(2) == [old, old]
    new, newer = submitted(stage, "new", repeats=6), submitted(stage, "newer", repeats=6)
    # One attempt was on the node before.
    assert node.run(3) == [old, new, newer]
    # Then those come first that have had the fewest attempts.
    assert Counter(node.run(4)) == {new: 2, newer: 2}
    # A repeat that has waited too long is overtaken by new runs no more.
    with stage.session() as session:
        session.execute(
            update(AttemptRow)
            .where(AttemptRow.run_id == old)
            .values(queued_at=AttemptRow.queued_at - timedelta(seconds=stage.settings.repeat_seconds + 1))
        )
    newest = submitted(stage, "newest")
    ran = node.run(4)
    assert ran.index(old) < ran.index(newest)


def test_the_cells_of_a_run_take_turns_and_tests_for_a_cause_are_repeated_last(stage: Stage) -> None:
    node = Node(stage)
    run = submitted(stage, "cells", FIX, {}, {"fill": "nan"}, repeats=3)
    with stage.session() as session:
        count = len(session.scalars(select(AttemptRow).where(AttemptRow.run_id == run)).all())
    assert count == 9
    settings = [settings for _, settings in waiting(stage)]
    assert sorted(settings[:3]) == ["", "fill", "fix"]
    assert sorted(settings[3:5]) == sorted(settings[5:7]) == ["", "fill"]
    assert settings[7:] == ["fix", "fix"]
    # Those that have begun count too.
    node.run(3)
    assert [settings for _, settings in waiting(stage)] == settings[4:]


def test_a_test_for_a_cause_ends_with_the_cell_that_it_tests(stage: Stage) -> None:
    node = Node(stage)
    with stage.session() as session:
        request = Submission(
            script="import random\nprint(random.random() > 2)\n",
            claim="another result every time",
            targets=(Target(toolchain=TOOLCHAIN, settings=FIX), Target(toolchain=TOOLCHAIN)),
        )
        run = submit(session, request, settings=stage.settings).document.id
    shown = {"outcome": Outcome.COMPLETED, "observation": Observation(exit_status=0, stdout="False\n")}
    ran = 0
    while stage.run(run).state != "finished":
        ran += len(node.run(1, **shown))
    counts = {len(job.target.settings): len(job.attempts) for job in stage.run(run).jobs}
    # One more was on the node when the plain cell ended.
    assert counts[0] == 5
    assert counts[1] <= 2
    assert ran == sum(counts.values())


def test_queue_positions_are_the_order_in_which_cells_start(stage: Stage) -> None:
    """With submitters, runs that have begun, repeats, and runs of several cells."""
    node = Node(stage)
    runs = [submitted(stage, "begun", {}, {"fill": "nan"}, who="one")]
    node.run(2)
    runs += [submitted(stage, f"one {number}", who="one") for number in range(3)]
    runs += [submitted(stage, "two", {}, {"fill": "nan"}, {"threads": "2"}, who="two")]
    runs += [submitted(stage, "nobody"), submitted(stage, "three", {}, FIX, who="three")]
    node.held += stage.dispatch()
    expected: dict[str, int] = {}
    for run in runs:
        with stage.session() as session:
            document = run_document(session, run, settings=stage.settings)
        expected |= {job.id: job.waiting.position for job in document.jobs if job.waiting is not None}
    assert sorted(expected.values()) == list(range(1, len(expected) + 1))
    assert len(expected) >= 8
    started: list[str] = []
    while len(started) < len(expected):
        before = {attempt.attempt_id for attempt in node.held}
        node.run(1)
        new = [each.attempt_id for each in node.held if each.attempt_id not in before]
        with stage.session() as session:
            jobs = session.scalars(select(AttemptRow.job_id).where(AttemptRow.id.in_(new))).all()
        started += [job for job in jobs if job in expected and job not in started]
    assert started == sorted(expected, key=lambda job: expected[job])


def candidate(attempt: str, run: str, **more: object) -> Candidate:
    facts = {
        "attempt_id": attempt,
        "job_id": f"job of {run}",
        "run_id": run,
        "node": None,
        "target": Target(toolchain=TOOLCHAIN).model_dump(mode="json"),
        "queued_at": now(),
        "run_has_begun": True,
        **more,
    }
    return Candidate(**facts)  # type: ignore[arg-type]


def chosen(queue: list[Candidate], *, places: int, holds: Sequence[Hold] = ()) -> list[str]:
    hello = Hello(
        node="lab",
        instance="one",
        slots=places,
        level=Level.NAMESPACES_CGROUP,
        toolchains=[ToolchainFacts(name=TOOLCHAIN, state="ready")],
        cores=8,
    )
    found = choose(
        queue,
        {"lab": NodeCapacity(hello, attempts=places)},
        holds,
        uses={},
        settings=ServiceSettings(),
    )
    return list(found)


def test_submitters_share_whatever_the_number_of_their_runs() -> None:
    many = [candidate(f"m{run}", f"run {run}", submitter="many") for run in range(6)]
    few = [candidate("f1", "run 7", submitter="few"), candidate("f2", "run 8", submitter="few")]
    assert chosen([*many, *few], places=4) == ["m0", "f1", "m1", "f2"]
    # Those that are on nodes count too.
    holds = [Hold(node="lab", run_id="run 9", target={}, submitter="many")] * 2
    assert chosen([*many, *few], places=3, holds=holds) == ["f1", "f2", "m0"]


@pytest.mark.parametrize(("waited", "first"), [(10, "new"), (301, "old")])
def test_a_repeat_waits_for_new_runs_only_so_long(waited: float, first: str) -> None:
    since = now() - timedelta(seconds=waited)
    queue = [
        candidate("new", "run 1", run_has_begun=False),
        candidate("old", "run 2", turn=4, queued_at=since),
    ]
    assert chosen(queue, places=1) == [first]


def test_one_attempt_of_each_new_run_is_its_first_answer(stage: Stage) -> None:
    """The repeats that start in the same round are none, and have no head start in the line for a card."""
    stage.node("lab", slots=8)
    runs = [submitted(stage, name, repeats=3) for name in ("one", "two")]
    attempts = stage.dispatch()
    assert len(attempts) == 6
    assert sorted(each.run_id for each in attempts if each.is_first_answer) == sorted(runs)
