"""The labelled scripts of `bench.evidence`, and how its rates are counted."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from app.judging.cause.defect import CAUSES
from app.judging.judgement import Defect
from bench.evidence.card import CARD, RECORDED_BEFORE, card_answers, card_cases
from bench.evidence.material import HERE, KINDS, PARTS, Answer, Case, cases
from bench.evidence.measure import Outcome, rates


def test_each_script_has_a_label_and_each_label_a_script() -> None:
    every = cases()
    assert {case.name for case in every} == {path.stem for path in (HERE / "scripts").glob("*.py")}
    assert len(every) >= 40
    for case in every:
        compile(case.script, case.name, "exec")
        assert case.kind in KINDS, case.name
        assert case.part in PARTS, case.name
        assert case.defects <= set(Defect), case.name
        assert case.causes <= {*CAUSES, None}, case.name


def outcome(kind: str, right: str, answer: str, *, cause: str = "rounding", operation: str = "") -> Outcome:
    case = Case(
        name="x",
        kind=kind,
        family="f",
        part="tuned",
        defects=frozenset({right}),
        causes=frozenset({"rounding"}),
        operations=frozenset({operation} - {""}),
    )
    given = Answer(
        defect=answer,
        cause=cause,
        operation=None,
        plain_seconds=1.0,
        traced_seconds=3.0,
        unknown=(),
    )
    return Outcome(case, given)


@pytest.mark.parametrize(
    ("each", "line", "count"),
    [
        (outcome("harmless", "no", "yes"), "false alarms", "1 of 1"),
        (outcome("harmless", "no", "no"), "false alarms", "0 of 1"),
        (outcome("defect", "yes", "no"), "missed defects", "1 of 1"),
        (outcome("defect", "yes", "undecided"), "missed defects", "0 of 1"),
        (outcome("defect", "yes", "undecided"), "undecided, defects", "1 of 1"),
        (outcome("harmless", "no", "undecided"), "undecided, harmless", "1 of 1"),
        (outcome("harmless", "no", "no"), "all right", "1 of 1"),
        (outcome("harmless", "no", "no", cause="clock"), "all right", "0 of 1"),
        (outcome("harmless", "no", "no", cause="clock"), "cause right", "0 of 1"),
        (outcome("defect", "yes", "yes", operation="aten::cos"), "operation right", "0 of 1"),
        (outcome("defect", "yes", "yes", operation="aten::cos"), "all right", "0 of 1"),
        (outcome("harmless", "no", "no"), "cost of a trace", "3.0 x"),
    ],
)
def test_rates(each: Outcome, line: str, count: str) -> None:
    assert rates([each])[line].startswith(count)


# What a dossier without the other cells of a run leaves open, by reason.
LEFT_OPEN = {
    "running_sum": "it shows float64, which no narrower type checks, and its repeats differ on the card",
    "convolution_tf32_large": "it is larger than the reference may be",
    "many_half_sums": "it has more operations than are followed",
}
CASES = {case.name: case for case in card_cases()}


def test_each_script_of_the_card_has_a_label() -> None:
    assert set(CASES) == {path.stem for path in (CARD / "scripts").glob("*.py")}
    assert {*LEFT_OPEN, *RECORDED_BEFORE} <= set(CASES)
    assert all(case.kind in KINDS and case.causes <= {*CAUSES, None} for case in CASES.values())


@pytest.fixture(scope="module")
def on_the_card() -> Mapping[str, Answer]:
    return card_answers()


@pytest.mark.parametrize("name", sorted(set(CASES) - set(RECORDED_BEFORE)))
def test_a_script_on_a_card_is_judged_as_is_right(on_the_card: Mapping[str, Answer], name: str) -> None:
    """Recorded on an H200. The labels were written from an analysis of the script, before it ran."""
    outcome = Outcome(CASES[name], on_the_card[name])
    assert (outcome.false_alarm, outcome.missed) == (False, False)
    if name in LEFT_OPEN:
        assert outcome.answer.defect == "undecided"
    else:
        assert outcome.is_right, outcome.answer
