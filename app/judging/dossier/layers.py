"""Finds the layer of the compiler that changes a number: the output of each against the uncompiled one.

The bounds are those of the float64 shadow of the traced cell, in which nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.judging.dossier.document import DossierCell, Question
from app.judging.dossier.shown_numbers import SPREADS, UNITS
from app.judging.output.printed_numbers import Number, numbers_in
from app.targets.planning.cause_tests import LAYERS
from worker.contract.trace import ShownValue

ASKS = "Which layer of the compiler?"
# The plain cell: the backend that the script asks for, which may be its own.
AS_ASKED = "as asked"
# The cause if this is the first layer that lies outside.
CAUSES = {
    "eager": "compiler_frontend",
    "aot_eager": "compiler_frontend",
    "decomposed": "decomposition",
    "inductor": "code_generation",
    AS_ASKED: "code_generation",
}
_EPS = {"torch.float16": 2.0**-10, "torch.bfloat16": 2.0**-7, "torch.float64": 2.0**-52}
_SINGLE = 2.0**-23
_MOST_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class LayerResult:
    """One layer against the uncompiled run. `within` is None if nothing can be said; `fact` says it."""

    layer: str
    within: bool | None
    fact: str
    same: bool = False


@dataclass(frozen=True, slots=True)
class LayersFinding:
    """The answer, the cause if a layer is at fault, and whether all layers that count were compared."""

    question: Question
    cause: str | None = None
    answered: bool = False


def layers_finding(cells: Sequence[DossierCell], *, compiles: bool) -> LayersFinding:
    """The answer to question D, by the cells with the setting `compile`."""
    if not compiles:
        return LayersFinding(
            Question(
                letter="D",
                asks=ASKS,
                answer="not compiled",
                test="The script asks for no compilation.",
            ),
            answered=True,
        )
    results = list(_results(cells))
    if not results:
        test = "No cell compared compiled layers: traced scripts run without compilation."
        return LayersFinding(Question(letter="D", asks=ASKS, test=test))
    first = next((each for each in results if each.within is False), None)
    # The plain cell has run all layers that it needs: one that can't run here is not among them.
    within = {each.layer for each in results if each.within}
    whole = AS_ASKED in within and len(within) > 1
    return LayersFinding(
        Question(
            letter="D",
            asks=ASKS,
            answer=first.layer
            if first is not None
            else None
            if not whole
            else "none: the same output"
            if all(each.same for each in results if each.within)
            else "none: within rounding",
            test="The output with each layer of the compiler against the uncompiled one. The float64 shadow "
            "of that one says how far rounding may move a number.",
            facts=[each.fact for each in results],
        ),
        cause=None if first is None else CAUSES[first.layer],
        answered=whole,
    )


def _results(cells: Sequence[DossierCell]) -> Iterator[LayerResult]:
    """Each layer of each device, in the order in which the layers are run; last, what the script asks for."""
    layered = [cell for layer in LAYERS for cell in cells if cell.layer == layer]
    for cell in layered:
        yield _result(cell.layer, cell, _without_compiler(cell, cells))
    if layered:
        for cell in cells:
            if not cell.settings and cell.outputs == 1:
                yield _result(AS_ASKED, cell, _without_compiler(cell, cells))


def _without_compiler(cell: DossierCell, cells: Sequence[DossierCell]) -> DossierCell | None:
    return next((each for each in cells if each.trace is not None and each.device == cell.device), None)


def _result(layer: str, cell: DossierCell, uncompiled: DossierCell | None) -> LayerResult:
    why = _why_unknown(layer, cell, uncompiled)
    if why or uncompiled is None or uncompiled.trace is None or uncompiled.trace.shadow is None:
        return LayerResult(layer, None, f"{layer}: {why}.")
    if cell.stdout == uncompiled.stdout:
        return LayerResult(layer, True, f"{layer}: the same output as without compilation.", same=True)
    plain, compiled = (_numbers(each.stdout) for each in (uncompiled, cell))
    pairs = [(a, b) for a, b in zip(plain, compiled, strict=False) if a.value != b.value]
    judged = [(a, b, _is_within(a, b, uncompiled.trace.shadow.values)) for a, b in pairs]
    outside = next(((a, b) for a, b, within in judged if within is False), None)
    if len(plain) != len(compiled) or not pairs:
        return LayerResult(layer, None, f"{layer}: the outputs have no common form.")
    if outside is not None:
        a, b = outside
        return LayerResult(
            layer, False, f"{layer}: {b.text[:40]} for {a.text[:40]}, further apart than rounding allows."
        )
    if any(within is None for *_, within in judged):
        return LayerResult(layer, None, f"{layer}: other numbers, and their rounding is not known.")
    return LayerResult(layer, True, f"{layer}: other numbers, within what rounding allows.")


def _why_unknown(layer: str, cell: DossierCell, uncompiled: DossierCell | None) -> str:
    """Why nothing can be said of a layer; empty if it can be held against the uncompiled run."""
    if not cell.attempts:
        return f"it ended with {cell.failure}" if cell.failure else "it did not run"
    if layer != AS_ASKED and not cell.graphs:
        return "nothing was compiled" if cell.graphs == 0 else "whether it compiled is not known"
    if uncompiled is None or not uncompiled.attempts:
        return "there is no uncompiled run to hold it against"
    if uncompiled.trace is None or uncompiled.trace.shadow is None:
        return "there is no reference to hold it against"
    return "the reference uses a kernel that the script registers" if uncompiled.trace.own else ""


def _numbers(stdout: str) -> list[Number]:
    return [number for line in stdout[:_MOST_TEXT].splitlines() for number in numbers_in(line)]


def _is_within(plain: Number, compiled: Number, values: Sequence[ShownValue]) -> bool | None:
    """Whether rounding may move the one printed number to the other; None if no shown value is known."""
    step = float(plain.step) if not plain.whole else 0.0
    fitting = [
        value
        for value in values
        if isinstance(value.value, float) and abs(value.value - plain.value) <= step / 2 + 1e-300
    ]
    # The elements of a tensor are known by the worst one only.
    known = fitting or [value for value in values if value.shape]
    sizes = [
        UNITS * _EPS.get(value.dtype, _SINGLE) * max(abs(plain.value), _size(value))
        + SPREADS * max(value.uncertainty or 0.0, value.rounding or 0.0)
        for value in known
        if value.outside == 0
    ]
    if not sizes or len(sizes) != len(known):
        return None
    return abs(plain.value - compiled.value) <= step + max(sizes)


def _size(value: ShownValue) -> float:
    return abs(value.reference) if isinstance(value.reference, float) else 0.0
