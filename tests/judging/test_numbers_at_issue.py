"""When results put numbers in question, so that the service traces the script by itself."""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import CPU, CUDA, result, script

from app.intake.claim.claims import Check, CheckKind, Claim, Over
from app.intake.reading import Reading, Script
from app.judging.cause.numbers_at_issue import TargetResults, targets_to_trace
from app.runs.estimates.automatic_traces import automatic_traces
from app.runs.run_object.facts import AttemptFacts, JobFacts
from app.targets.planning.plan import RepeatPlan
from app.targets.planning.presets import PRESETS
from app.targets.target import Target
from worker.contract import AttemptKind, Outcome, Start

TORCH = script("import torch\nprint(torch.ones(3).sum())\n")
NO_CLAIM = Claim(text="")
NOT_CLOSE = ("AssertionError", "Tensor-likes are not close!\n\nMismatched elements: 1 / 3")
OTHER_PATH = CPU.model_copy(update={"settings": {"cpu-isa": "avx2"}})


def claim(kind: CheckKind, **fields: Any) -> Claim:
    return Claim(text="", checks=(Check(text="as reported", kind=kind, **fields),))


def cell(target: Target, *outputs: str, **how: Any) -> TargetResults:
    return TargetResults(target, [result(text, **how) for text in outputs or ("",)])


def labels(claim: Claim, *cells: TargetResults, of: Script = TORCH) -> list[str]:
    return [target.label() for target in targets_to_trace(claim, of, cells)]


@pytest.mark.parametrize(
    ("cells", "traced"),
    [
        ([cell(CPU, "0.5", "0.5"), cell(CUDA, "0.25")], [CPU, CUDA]),
        ([cell(CPU, "0.5"), cell(OTHER_PATH, "0.5"), cell(CUDA, "0.25")], [CPU, CUDA]),
        ([cell(CPU, "loss nan")], [CPU]),
        ([cell(CPU, "1"), cell(CUDA, "tensor([1., inf])")], [CUDA]),
        ([cell(CPU, raised=NOT_CLOSE)], [CPU]),
        # Nothing differs, counts and durations say nothing, and repeats that differ are another question.
        ([cell(CPU, "0.5"), cell(CUDA, "0.5")], []),
        ([cell(CPU, "8 threads"), cell(CUDA, "0 threads")], []),
        ([cell(CPU, "took 0.51 s"), cell(CUDA, "took 0.02 s")], []),
        ([cell(CPU, "0.5", "0.7"), cell(CUDA, "0.25")], []),
        ([cell(CPU, "0.5"), cell(CUDA, raised=("RuntimeError", "boom"))], []),
        # A setting that tests for a cause is no other target.
        ([cell(CPU, "0.5"), cell(CPU.model_copy(update={"settings": {"threads": "1"}}), "0.25")], []),
    ],
)
def test_results_put_numbers_in_question(cells: list[TargetResults], traced: list[Target]) -> None:
    assert labels(NO_CLAIM, *cells) == [
        target.model_copy(update={"settings": {**target.settings, "trace": "on"}}).label()
        for target in traced
    ]


@pytest.mark.parametrize(
    ("about", "traced"),
    [
        (claim(CheckKind.EXCEPTION, exception_type="RuntimeError"), 0),
        (claim(CheckKind.CRASH), 0),
        (claim(CheckKind.NO_ERROR), 0),
        (claim(CheckKind.SLOWER), 0),
        (
            claim(
                CheckKind.EXCEPTION, exception_type="AssertionError", message="Tensor-likes are not close!"
            ),
            1,
        ),
        (claim(CheckKind.VALUE, number="0.5"), 1),
    ],
)
def test_a_claim_about_a_failure_is_never_traced(about: Claim, traced: int) -> None:
    assert len(labels(about, cell(CPU, "nan"))) == traced


def test_a_claim_that_sides_differ_is_traced_where_it_completes() -> None:
    sides = claim(CheckKind.DIFFERS, sides=("mine", "theirs"))
    assert len(labels(sides, cell(CPU, "0.5"))) == 1
    assert labels(sides, cell(CPU, raised=("ImportError", "no"))) == []
    assert labels(claim(CheckKind.DIFFERS, sides=("2.1", "2.2"), over=Over.PAIR), cell(CPU, "0.5")) == []


def test_no_trace_without_torch_without_a_seed_or_beside_another_trace() -> None:
    shown = cell(CPU, "nan")
    assert labels(NO_CLAIM, shown, of=script("import numpy\nprint(numpy.nan)\n")) == []
    assert labels(NO_CLAIM, shown, of=script(TORCH.script, unseeded=True)) == []
    assert labels(NO_CLAIM, shown, cell(CPU.model_copy(update={"settings": {"trace": "on"}}), "nan")) == []


def added(seconds: float, *, preset: str = "quick", exact: int = 0, budget: float = 120.0) -> int:
    seen = result("nan", wall_seconds=seconds)
    attempt = AttemptFacts(
        id="a", kind=AttemptKind.REPEAT, start=Start.COLD, state="recorded", counted=True, result=seen
    )
    job = JobFacts(id="j", script=TORCH.digest, target=CPU, state="judged", attempts=(attempt,))
    assert seen.outcome is Outcome.COMPLETED
    cells = automatic_traces(
        Reading(claim=NO_CLAIM, scripts=(TORCH,)),
        [job],
        preset=PRESETS.get(preset),
        repeats=RepeatPlan(exact or 5, exact=bool(exact)),
        budget_seconds=budget,
        wall_seconds=60.0,
    )
    return len(cells)


def test_the_budget_and_the_limit_of_an_attempt_bound_what_is_added() -> None:
    assert added(5.0) == 1
    # It would take 72 seconds, of at most 60.
    assert added(12.0) == 0
    assert added(5.0, exact=4) == 1
    assert added(5.0, exact=5) == 0
    assert added(5.0, budget=29.0) == 0
    assert added(5.0, budget=0.0) == 0
    # Nothing is known about its time.
    assert added(0.0) == 0


@pytest.mark.parametrize("preset", ["version", "full", "none"])
def test_a_run_that_names_its_cells_gets_no_others(preset: str) -> None:
    assert added(5.0, preset=preset) == 0
