"""Values that words beside a script call right, in kinds of wordings and layouts that were once not read."""

from __future__ import annotations

import pytest
from gone_reports import Case, cases_of, verdict_of

from app.intake.claim.claims import Check, CheckKind
from app.judging.gone.labelled_twins import nan_became_twin

CASES = [
    case
    for kind in ("strings_below", "calculated_by_hand", "older_release_gave", "lines_in_turn")
    for case in cases_of(f"{kind}.txt")
]


@pytest.mark.parametrize("case", CASES, ids=[name for name, *_ in CASES])
def test_the_verdict_follows_from_what_is_called_right(case: Case) -> None:
    _, *evidence, verdict = case
    assert verdict_of(*evidence) == verdict


IN_TURN = Check(text="", kind=CheckKind.OUTPUT, lines=("[nan 2.5]", "[1.5 2.5]", "[nan 4.5]", "[3.5 4.5]"))


def test_nan_that_is_called_right_is_not_gone_because_a_twin_has_a_number() -> None:
    stdout = "[1.5 2.5]\n[1.5 2.5]\n[3.5 4.5]\n[3.5 4.5]\n"
    assert nan_became_twin(IN_TURN, (), stdout)
    assert not nan_became_twin(IN_TURN, ("nan",), stdout)


def test_twins_that_changed_as_well_are_no_reference() -> None:
    assert not nan_became_twin(IN_TURN, (), "[7.5 2.5]\n[7.5 2.5]\n[3.5 4.5]\n[3.5 4.5]\n")


def test_other_statistics_are_no_twins() -> None:
    lines = ("mean nan", "median 3.25", "max nan", "min -inf")
    assert not nan_became_twin(
        IN_TURN.model_copy(update={"lines": lines}),
        (),
        "mean 3.25\nmedian 3.25\nmax -inf\nmin -inf\n",
    )
