"""Dossiers: which side is right by the float64 reference, the cause, and what was not looked at."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.judging.dossier.build import build_dossier
from app.judging.dossier.document import Dossier, DossierCell, Right
from app.judging.dossier.markdown import dossier_markdown
from app.judging.judgement import Defect
from app.web.pictures.number import strip
from worker.contract.trace import Trace

CPU, CUDA = "cpu@torch-2.13-cpu:trace=on", "cuda@torch-2.13-cu130:trace=on"
WHOLE: dict[str, Any] = {"operations_seen": 9, "pairs": 0, "asked": 9, "answered": 9, "whole": True}
UNIT = 2.0**-23


def value(name: str = "read[0]", **facts: Any) -> dict[str, Any]:
    base = {"number": 3, "dtype": "torch.float32", "value": 1.0, "reference": 1.0, "error": 0.0, "ulps": 0.0}
    return {"name": name, **base, "uncertainty": UNIT, "rounding": UNIT, **facts}


def off_by(ulps: float, **facts: Any) -> dict[str, Any]:
    error = ulps * UNIT
    return value(value=1.0 + error, error=error, ulps=ulps, **facts)


def cell(
    label: str, *values: dict[str, Any], stdout: str = "", shadow: Any = None, **facts: Any
) -> DossierCell:
    trace = {**WHOLE, "shadow": {"values": list(values), **(shadow or {})}, **facts}
    return DossierCell(label=label, stdout=stdout, attempts=1, outputs=1, trace=Trace.model_validate(trace))


def compared(left: float, right: float, exact: tuple[float, float], rounding: float) -> dict[str, Any]:
    sides = [
        {
            "dtype": "torch.float32", "value": plain, "reference": reference, "error": abs(plain - reference),
            "ulps": abs(plain - reference) / UNIT, "uncertainty": UNIT, "rounding": rounding,
        }
        for plain, reference in zip((left, right), exact, strict=True)
    ]  # fmt: skip
    gaps = {"gap": abs(left - right), "reference_gap": abs(exact[0] - exact[1])}
    return {"name": "compared[0]", "number": 5, "differing": 1, **gaps, "sides": sides}


def answers(dossier: Dossier) -> dict[str, str | None]:
    return {question.letter: question.answer for question in dossier.questions}


def test_the_side_within_rounding_is_right_and_the_other_one_is_named_with_its_distance() -> None:
    dossier = build_dossier([cell(CPU, off_by(2)), cell(CUDA, off_by(4000, outside=1))])
    (number,) = dossier.numbers
    assert number.right is Right.SOME
    assert number.sentence.startswith(f"Nearer to float64: {CPU} (2 ULP of float32")
    assert f"{CUDA} is 4e+03 ULP of float32" in number.sentence
    assert (dossier.cause, dossier.defect, answers(dossier)["B"]) == (None, "undecided", "one")


def test_all_within_rounding_is_no_defect_only_if_everything_was_looked_at() -> None:
    seen = off_by(2)
    assert (build_dossier([cell(CPU, seen)]).cause, build_dossier([cell(CPU, seen)]).defect) == (
        "rounding",
        "no",
    )
    gaps: list[dict[str, Any]] = [
        {"whole": False},
        {"answered": 8},
        {"unjudged": 1},
        {"shadow": {"stopped_at": 4, "stopped_by": "seconds"}},
        {"shadow": {"restart_count": 1, "restarts": [{"number": 2, "name": "mine::op", "why": "layout"}]}},
    ]
    for gap in gaps:
        dossier = build_dossier([cell(CPU, seen, **gap)])
        assert (dossier.cause, dossier.defect) == (None, "undecided"), gap
        assert dossier.unknown, gap


def test_a_cause_of_the_run_is_never_a_no_beside_what_was_not_looked_at() -> None:
    dossier = build_dossier([cell(CPU, off_by(2), whole=False)], cause="rounding")
    assert (dossier.cause, dossier.defect) == ("rounding", "undecided")


def test_what_the_inputs_last_digit_moves_is_ill_conditioned() -> None:
    dossier = build_dossier([cell(CPU, off_by(3e6, uncertainty=0.5))])
    assert (dossier.cause, dossier.defect) == ("ill_conditioned", "no")


def test_a_wrong_operation_comes_before_all_and_the_scripts_own_is_not_called_torchs() -> None:
    side = {"side": "cpu", "explained": False, "error": 1.0, "worst": [1.0, 0.0]}
    wrong = {"number": 1, "name": "aten::cos", "dtype": "torch.float32", "sides": [side]}
    facts: dict[str, Any] = {"unexplained": 1, "operations": [wrong]}
    torchs = build_dossier([cell(CPU, off_by(2), **facts)])
    assert (torchs.cause, torchs.defect, answers(torchs)["C"], answers(torchs)["E"]) == (
        *("unexplained", "yes"),
        *("aten::cos", "no"),
    )
    own = build_dossier([cell(CPU, off_by(2), own=["aten::cos"], **facts)])
    assert answers(own)["E"] == "yes"
    assert "an implementation that the script registers for aten::cos, not torch's own" in own.cause_sentence
    # Its reference was computed with the same kernel.
    assert own.numbers[0].right is Right.UNKNOWN


def test_a_wrong_operation_of_unknown_origin_is_not_called_torchs() -> None:
    side = {"side": "cpu", "explained": False, "error": 1.0, "worst": [1.0, 0.0]}
    wrong = {"number": 1, "name": "aten::cos", "dtype": "torch.float32", "sides": [side]}
    dossier = build_dossier(
        [cell(CPU, off_by(2), unexplained=1, operations=[wrong], origin_unknown=["aten::cos"])]
    )
    assert (dossier.cause, dossier.defect, answers(dossier)["E"]) == ("unexplained", "yes", None)
    assert "Nothing shows whether it is torch's own" in dossier.cause_sentence
    assert "Torch does not tell who registered aten::cos." in dossier.questions[4].facts


def test_two_formulas_that_agree_in_float64_differ_by_rounding() -> None:
    naive = cell(CPU, shadow={"compared": [compared(1.0625, 0.98656559, (0.9865654, 0.9865654), 0.14)]})
    (number,) = build_dossier([naive]).numbers
    assert (number.right, [side.explained for side in number.sides]) == (Right.ALL, [True, True])
    assert "in float64. That is within what rounding allows" in number.sentence
    other = cell(CPU, shadow={"compared": [compared(2.0, 1.0, (2.0, 1.0), UNIT)]})
    assert "they are not the same formula" in build_dossier([other]).numbers[0].sentence


def test_rounding_that_meets_a_decision_is_for_the_maintainers() -> None:
    decision = {"decisions": [{"number": 4, "name": "aten::floor", "elements": 1}]}
    dossier = build_dossier([cell(CPU, off_by(1e6, outside=1), shadow=decision)])
    assert (dossier.cause, dossier.defect) == ("rounding_before_a_decision", "undecided")


def test_a_decision_that_float64_takes_otherwise_is_the_cause_though_all_numbers_follow_it() -> None:
    decision = {"decisions": [{"number": 3, "name": "aten::gt", "elements": 8}]}
    dossier = build_dossier([cell(CPU, value(value=-80.0, reference=-80.0), shadow=decision)])
    assert (dossier.numbers, dossier.cause, dossier.defect) == ([], "rounding_before_a_decision", "undecided")
    assert answers(dossier)["C"] == "aten::gt"


@pytest.mark.parametrize(("name", "cause"), [("round", "rounding_before_a_decision"), ("gt", "rounding")])
def test_another_step_or_index_is_another_number_and_a_mask_need_not_be(name: str, cause: str) -> None:
    decision = {"decisions": [{"number": 4, "name": f"aten::{name}", "elements": 1}]}
    assert build_dossier([cell(CPU, off_by(2), shadow=decision)]).cause == cause


def test_a_wrong_kernel_of_torch_is_not_the_scripts_because_it_brings_another() -> None:
    side = {"side": "cpu", "explained": False, "error": 0.5, "ulps": 1e6}
    wrong = {"number": 2, "name": "aten::cos", "dtype": "torch.float32", "sides": [side]}
    dossier = build_dossier([cell(CPU, off_by(2), unexplained=1, operations=[wrong], own=["aten::sin"])])
    assert "script's own" not in dossier.defect_sentence


def test_repeats_that_differ_are_no_rounding() -> None:
    plain = DossierCell(label="cpu", attempts=3, outputs=3)
    dossier = build_dossier([plain, cell(CPU, off_by(2))])
    assert (dossier.cause, dossier.defect) == ("rounding", "undecided")
    assert "The repeats differ, and no test showed why." in dossier.unknown
    known = build_dossier([plain, cell(CPU, off_by(2))], cause="unseeded", defect=Defect.NO)
    assert (known.cause, known.defect) == ("unseeded", "no")


def test_one_element_that_cancels_makes_no_tensor_ill_conditioned() -> None:
    small = off_by(3e6, uncertainty=0.5, shape=[40])
    assert build_dossier([cell(CPU, {**small, "relative": 1e-6})]).cause == "rounding"
    assert build_dossier([cell(CPU, {**small, "relative": 0.3})]).cause == "ill_conditioned"


def test_a_function_that_the_script_replaced_leaves_a_no_open() -> None:
    dossier = build_dossier([cell(CPU, off_by(2), replaced=["torch.nn.functional.softmax"])])
    assert (dossier.defect, answers(dossier)["E"]) == ("undecided", "yes")
    assert "The script replaces torch.nn.functional.softmax by an" in " ".join(dossier.questions[4].facts)


def test_two_formulas_that_the_script_compares_leave_a_no_open() -> None:
    other = cell(CPU, shadow={"compared": [compared(2.0, 1.0, (2.0, 1.0), UNIT)]})
    dossier = build_dossier([other])
    assert (dossier.cause, dossier.defect) == (None, "undecided")
    assert any("Nothing shows which formula is meant" in gap for gap in dossier.unknown)


def test_a_cast_of_what_no_integer_holds_is_undefined() -> None:
    cast = {"undefined": [{"number": 1, "name": "aten::_to_copy", "elements": 3}]}
    assert build_dossier([cell(CPU, value(), shadow=cast)]).cause == "undefined_conversion"


def test_free_signs_are_the_cause_if_the_factors_are_right() -> None:
    choice = {"name": "aten::_linalg_svd", "number": 1, "why": "several right answers"}
    free = {"restart_count": 2, "free_choices": 2, "restarts": [choice, choice]}
    dossier = build_dossier([cell(CPU, value(free=True), shadow=free)])
    assert dossier.cause == "sign_or_order"
    # There are no two sides.
    assert dossier.summary.startswith("Signs or the order of the numbers are free in what the script shows")
    assert build_dossier([cell(CPU, value(free=True), unjudged=1, shadow=free)]).cause is None
    # What is free stays within a pseudoinverse.
    assert build_dossier([cell(CPU, off_by(2), shadow=free)]).cause == "rounding"


def test_memory_that_nobody_wrote_leaves_a_no_open() -> None:
    """What it holds by chance may look right: only a cell that fills it shows whether it matters."""
    read = {"unwritten": [{"number": 4, "name": "aten::mean", "elements": 16}]}
    traced = cell(CPU, off_by(2), shadow=read)
    dossier = build_dossier([traced])
    assert (dossier.cause, dossier.defect) == ("rounding", Defect.UNDECIDED)
    assert "operation 4, aten::mean, reads memory that nobody wrote" in dossier.unknown[0]
    filled = DossierCell(label="cpu:fill=nan", attempts=1, outputs=1, settings=frozenset({"fill"}))
    assert build_dossier([traced, filled]).defect is Defect.NO
    plain = cell(CPU, off_by(2))
    assert build_dossier([plain]).defect is Defect.NO
    assert build_dossier([plain], takes_memory=True).defect is Defect.UNDECIDED


def test_factors_far_apart_are_free_signs_and_no_amplification() -> None:
    """As an H200 gave them: both sides give the matrix back, and the vectors point the other way."""
    sides = [{"side": side, "explained": True, "error": 1e-6, "ulps": 5.0} for side in ("cpu", "cuda")]
    apart = {
        "number": 1, "name": "aten::_linalg_svd", "dtype": "torch.float32", "shape": [6, 6], "sides": sides,
        "inputs_agree": True, "gap": 1.96, "relative_gap": 2.0, "input_gap": 0.0,
    }  # fmt: skip
    assert build_dossier([cell(CUDA, off_by(2), pairs=1, operations=[apart])]).cause == "sign_or_order"
    solve = {**apart, "name": "aten::_linalg_solve_ex"}
    dossier = build_dossier([cell(CUDA, off_by(2), pairs=2, operations=[solve, apart])])
    assert dossier.cause == "ill_conditioned"


def test_the_line_that_shows_a_number_is_found_by_its_printed_digits() -> None:
    shown = value(value=0.98656559, reference=0.98656540, error=1.9e-7, ulps=3.2)
    dossier = build_dossier([cell(CPU, shown, stdout="begin\nloss 0.9866\n1 2\n")])
    assert dossier.numbers[0].lines == [2]


def test_repeats_that_print_other_texts_vary() -> None:
    plain = DossierCell(label="cpu", attempts=3, outputs=2)
    dossier = build_dossier([plain, cell(CPU, value())])
    assert answers(dossier)["A"] == "yes"
    assert dossier.numbers == []
    assert "exact" in dossier.summary


@pytest.mark.parametrize("cells", [[], [DossierCell(label="cpu", attempts=1, outputs=1)]])
def test_without_a_trace_nothing_is_known(cells: list[DossierCell]) -> None:
    dossier = build_dossier(cells)
    assert (dossier.cause, dossier.defect) == (None, "undecided")
    assert "nothing is known" in dossier.summary


def test_overflow_is_said_as_such() -> None:
    shown = value(value="inf", reference=3e8, error=None, ulps=None, dtype="torch.float16")
    (number,) = build_dossier([cell(CPU, shown)]).numbers
    assert "beyond the range of the type" in number.sentence
    assert "inf for 300000000.0" in number.sentence


def steps(*digests: str) -> dict[str, Any]:
    """Operations of one kind; each has the first digit of its inputs and of its outputs: "ab"."""
    kinds = ["aten::mm(float32 2x2, float32 2x2)", "aten::sum(float32 2x2)"]
    names = [f"{at}:{0 if at < 3 else 1}:{one[0] * 8}:{one[1] * 8}" for at, one in enumerate(digests, 1)]
    return {"kinds": kinds, "steps": names}


def test_two_executions_part_where_inputs_are_equal_and_outputs_are_not() -> None:
    cells = [
        cell(CPU, value(), **steps("ab", "bc", "cd")),
        cell(CUDA, value(), **steps("ab", "be", "ef")),
    ]
    dossier = build_dossier(cells)
    (part,) = dossier.divergences
    assert (part.pairs, part.unpaired, part.differing, part.origins) == (3, 0, 2, 1)
    assert (part.begins_at, part.operation) == ((2, 2), "aten::mm(float32 2x2, float32 2x2)")
    begins = "the distance begins at operation 2, aten::mm(float32 2x2, float32 2x2), on equal inputs"
    assert begins in dossier.questions[2].facts[0]
    assert begins in dossier_markdown(dossier)


def test_an_operation_that_one_side_has_more_moves_no_pair() -> None:
    one, other = steps("ab", "bc", "cd"), steps("ab", "bc", "cd")
    del one["steps"][0]
    dossier = build_dossier([cell(CPU, value(), **one), cell(CUDA, value(), **other)])
    (part,) = dossier.divergences
    assert (part.pairs, part.unpaired, part.begins_at) in (((2, 1, None)), ((2, 1, (2, 1))))
    equal = build_dossier([cell(CPU, value(), **other), cell(CUDA, value(), **other)]).divergences[0]
    assert (equal.differing, equal.begins_at) == (0, None)


def test_the_picture_has_a_dot_for_each_side_and_the_band_of_rounding() -> None:
    (number,) = build_dossier([cell(CPU, off_by(2)), cell(CUDA, off_by(4000, outside=1))]).numbers
    picture = strip(number)
    dots = [float(x) for x in re.findall(r'<circle cx="([0-9.]+)"', picture)]
    assert len(dots) == 2
    assert 319 < dots[0] < 325
    assert dots[1] > 550
    # Only the side within rounding is filled.
    assert re.findall(r'r="5" fill="(\w+)"', picture) == ["currentColor", "none"]
    assert "<script" not in picture
    assert "style" not in picture
    assert strip(number.model_copy(update={"judgeable": False})) == ""


def test_the_markdown_has_the_same_facts() -> None:
    dossier = build_dossier([cell(CPU, off_by(2)), cell(CUDA, off_by(4000, outside=1))])
    text = dossier_markdown(dossier, address="http://here")
    assert f"| `read[0]` | `{CPU}` | 1.00000024 | 1 | 2 of float32 |" in text
    assert all(f"{letter}. " in text for letter in "ABCDE")
    assert text.endswith("The whole dossier: http://here\n")
