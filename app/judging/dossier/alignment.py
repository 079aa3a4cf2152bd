"""Holds two traced executions of a script against each other, by the digests of their operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from app.judging.dossier.distances import curve_of, growth_in, ulps_between
from app.judging.dossier.document import Divergence, DossierCell
from worker.contract.trace import Trace


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: its number, its kind (name, types and shapes), and digests of inputs and outputs.

    `sample` has elements and sums of its result, in base64; it is empty in older traces.
    """

    number: int
    kind: str
    inputs: str
    outputs: str
    sample: str = ""


def steps_of(trace: Trace) -> list[Step]:
    """The operations of a trace; those without a kind are left out."""
    steps = []
    samples = trace.samples[: len(trace.steps)]
    for text, sample in zip_longest(trace.steps, samples, fillvalue=""):
        number, kind, inputs, outputs = text.split(":")
        if int(kind) < len(trace.kinds):
            steps.append(Step(int(number), trace.kinds[int(kind)], inputs, outputs, sample))
    return steps


def pairs_of(one: Sequence[Step], other: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """The operations of both that are the same step of the script: equal kinds in the same order."""
    matcher = SequenceMatcher(
        None, [step.kind for step in one], [step.kind for step in other], autojunk=False
    )
    for block in matcher.get_matching_blocks():
        for at in range(block.size):
            yield one[block.a + at], other[block.b + at]


def divergence(one: DossierCell, other: DossierCell) -> Divergence | None:
    """Where two executions part; None unless both have digests."""
    if one.trace is None or other.trace is None or not one.trace.steps or not other.trace.steps:
        return None
    left, right = steps_of(one.trace), steps_of(other.trace)
    pairs = list(pairs_of(left, right))
    differing = [(a, b) for a, b in pairs if a.outputs != b.outputs]
    origin = next(((a, b) for a, b in differing if a.inputs == b.inputs), None)
    first = origin or next(iter(differing), None)
    curve = curve_of([(a.number, a.kind, a.sample, b.sample) for a, b in differing])
    grows, factor = growth_in(curve)
    return Divergence(
        cells=(one.label, other.label),
        pairs=len(pairs),
        unpaired=len(left) + len(right) - 2 * len(pairs),
        differing=len(differing),
        origins=sum(a.inputs == b.inputs for a, b in differing),
        begins_at=None if first is None else (first[0].number, first[1].number),
        operation=None if first is None else first[0].kind,
        on_equal_inputs=origin is not None,
        omitted=max(one.trace.steps_omitted, other.trace.steps_omitted),
        ulps=None if first is None else ulps_between(first[0].kind, first[0].sample, first[1].sample),
        curve=curve,
        grows=grows,
        grows_by=factor,
    )


def divergences(cells: Sequence[DossierCell]) -> list[Divergence]:
    """Each further traced cell against the first one."""
    results = (divergence(cells[0], other) for other in cells[1:])
    return [each for each in results if each is not None]


def divergence_sentence(part: Divergence) -> str:
    """Where two executions part, in words."""
    both = f"{part.cells[0]} against {part.cells[1]}"
    if part.begins_at is None or part.operation is None:
        more = f" of the first operations; {part.omitted} more were not compared" if part.omitted else ""
        return f"{both}: all {part.pairs} common operations gave the same bits{more}."
    if not part.on_equal_inputs:
        return (
            f"{both}: {part.differing} of {part.pairs} common operations give other bits, none of them on "
            f"equal inputs. The numbers that the script draws or begins with differ, before operation "
            f"{part.begins_at[0]}, {part.operation}."
        )
    number = part.begins_at[0] if part.begins_at[0] == part.begins_at[1] else "{}/{}".format(*part.begins_at)
    far = "" if part.ulps is None else f" and {part.ulps:.3g} ULP apart"
    return (
        f"{both}: the distance begins at operation {number}, {part.operation}, on equal inputs{far}; "
        f"{part.differing} of {part.pairs} common operations give other bits, {part.origins} of them on "
        "equal inputs."
    )


def growth_sentence(part: Divergence) -> str:
    """The step at which a distance grows most, in words; empty if it never grows."""
    if part.grows is None or part.grows_by is None:
        return ""
    return (
        f"{part.cells[0]} against {part.cells[1]}: operation {part.grows.number}, {part.grows.operation}, "
        f"enlarges the distance most, {part.grows_by:.3g} times, to {part.grows.distance:.3g} (relative)."
    )
