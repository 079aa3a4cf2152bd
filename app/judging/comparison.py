"""Two attempts side by side: what differs in what they showed, and in the environments they ran in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from app.judging.environments import differing_fields
from app.judging.judgement import ComparisonResult
from app.judging.numbers import Number
from app.judging.output import steady, tokens_of
from app.judging.reach import ended_by_limit
from worker.contract import Environment, Outcome, Result, Scalar

MOST_SHOWN = 300
MOST_LINES_SHOWN = 10
# Ours: nothing that could be compared.
_NOTHING = {Outcome.LOST, Outcome.CANCELLED, Outcome.SETUP_FAILED}
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
# Variables follow from settings, and the fingerprint of a library from its path.
_UNTOLD = ("variable.", "blas.fingerprint")


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference, both sides cut short; hostile text."""

    about: str
    baseline: str
    candidate: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison says; `first` is the first printed line in which the two differ, or else how they ended otherwise."""

    result: ComparisonResult
    differences: tuple[Difference, ...] = ()
    first: Difference | None = None
    first_line: int | None = None


def compare(baseline: Result, candidate: Result) -> Comparison:
    """Compare what two attempts showed. What surrounds it (stderr, flags, the environments) is listed, and never makes them different."""
    around = (*_around(baseline, candidate), *environment_differences(baseline.environment, candidate.environment))
    if baseline.outcome in _NOTHING or candidate.outcome in _NOTHING:
        return Comparison(ComparisonResult.INCOMPARABLE, differences=around)
    endings = _ending_differences(baseline, candidate)
    lines, first_line = _printed_differences(baseline, candidate)
    shown = (*lines, *endings) if lines else tuple(endings)
    first = shown[0] if shown else None
    if ended_by_limit(baseline) != ended_by_limit(candidate):
        # One of them was cut off by a limit of ours: what it would have shown is not known.
        return Comparison(ComparisonResult.INCOMPARABLE, (*endings, *lines, *around), first, first_line)
    if shown:
        return Comparison(ComparisonResult.DIFFERENT, (*endings, *lines, *around), first, first_line)
    same = _same_bytes(baseline, candidate, "stdout") and _same_bytes(baseline, candidate, "stderr")
    return Comparison(ComparisonResult.IDENTICAL if same else ComparisonResult.EQUIVALENT, around)


def _same_bytes(baseline: Result, candidate: Result, stream: str) -> bool:
    one, other = (getattr(result.observation, f"{stream}_digest") for result in (baseline, candidate))
    if one and other:
        return bool(one == other)
    return bool(getattr(baseline.observation, stream) == getattr(candidate.observation, stream))


def _ending_differences(baseline: Result, candidate: Result) -> list[Difference]:
    one, other = baseline.observation, candidate.observation
    pairs = (
        ("outcome", str(baseline.outcome), str(candidate.outcome)),
        ("exit_status", _said(one.exit_status), _said(other.exit_status)),
        ("signal", _said(one.signal), _said(other.signal)),
        ("exception", _exception(baseline), _exception(candidate)),
    )
    return [Difference(about, _cut(left), _cut(right)) for about, left, right in pairs if _ADDRESS.sub("", left) != _ADDRESS.sub("", right)]


def _exception(result: Result) -> str:
    raised = result.observation.exception
    return "none" if raised is None else f"{raised.type}: {raised.message}"


def _said(value: object) -> str:
    return "none" if value is None else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"


def _printed_differences(baseline: Result, candidate: Result) -> tuple[tuple[Difference, ...], int | None]:
    """The lines that say something else, and the number of the first; numbers as values, in whatever order the lines come."""
    if _same_bytes(baseline, candidate, "stdout"):
        return (), None
    one, other = baseline.observation.stdout.splitlines(), candidate.observation.stdout.splitlines()
    left, right = [_meaning(line) for line in one], [_meaning(line) for line in other]
    if Counter(filter(None, left)) == Counter(filter(None, right)):
        if not (baseline.observation.truncated or candidate.observation.truncated):
            return (), None
        return (Difference("stdout", "differs in the part that was not kept", "differs in the part that was not kept"),), None
    found: list[Difference] = []
    first = None
    for number in range(max(len(one), len(other))):
        if (left[number] if number < len(left) else ()) != (right[number] if number < len(right) else ()):
            first = number + 1 if first is None else first
            shown = [_cut(lines[number]) if number < len(lines) else "" for lines in (one, other)]
            found.append(Difference("stdout", shown[0], shown[1]))
            if len(found) == MOST_LINES_SHOWN:
                break
    return tuple(found), first


def _meaning(line: str) -> tuple[str, ...]:
    """What a line says, so that equal values compare equal however they are written: nan is nan, and zero is not minus zero."""
    return tuple(
        repr(complex(0, token.value) if token.imaginary else token.value) if isinstance(token, Number) else token
        for token in tokens_of(steady(line))
    )


def _around(baseline: Result, candidate: Result) -> list[Difference]:
    """Weak evidence: what the streams of warnings say, and the flags as the scripts left them."""
    one, other = baseline.observation, candidate.observation
    found = [
        Difference(f"flag: {name}", _said(one.flags.get(name)), _said(other.flags.get(name))) for name in _differing(one.flags, other.flags)
    ]
    if [_meaning(line) for line in one.stderr.splitlines()] != [_meaning(line) for line in other.stderr.splitlines()]:
        found.append(Difference("stderr", _cut(one.stderr), _cut(other.stderr)))
    return found


def _differing(one: Mapping[str, Scalar], other: Mapping[str, Scalar]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def environment_differences(baseline: Environment, candidate: Environment) -> tuple[Difference, ...]:
    """The fields in which two environments differ, likeliest culprit first."""
    return tuple(
        Difference(f"environment: {name}", _cut(_field(baseline, name)), _cut(_field(candidate, name)))
        for name in differing_fields(baseline, candidate)
        if not name.startswith(_UNTOLD)
    )


def _field(environment: Environment, name: str) -> str:
    value = environment.get(name)
    return "not known" if value is None else str(value)
