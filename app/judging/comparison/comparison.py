"""Two attempts side by side: what differs in what they printed, in what they held, in how they ended, and in their environments.

`identical` needs the same bytes in both streams and in every captured value, `equivalent` the same values;
`different` is a printed line that says something else, another ending, or a captured value that holds other
numbers while the prints, which are short, are alike. A value that is another one in each repeat of one job (a
duration, an unseeded number) says nothing about two jobs: it is listed only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.judging.check.reach import ended_by_limit
from app.judging.comparison.environments import differing_fields
from app.judging.comparison.text_diff import (
    Piece,
    Row,
    Text,
    TextDiff,
    TextResult,
    meaning,
    same_bytes,
    text_diff,
)
from app.judging.comparison.values import ValueComparison, ValueResult, compare_values, told
from app.judging.judgement import ComparisonResult
from worker.contract import Environment, Result, Scalar

MOST_SHOWN = 300
MOST_LINES_SHOWN = 10
MOST_VALUES_SHOWN = 10
# Ours: nothing that could be compared.
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
# Variables follow from settings, and the fingerprint of a library from its path.
_UNTOLD = ("variable.", "blas.fingerprint")
_NOT_KEPT = "differs in the part that was not kept"


@dataclass(frozen=True, slots=True)
class Repeats:
    """What the repeats of both jobs say of the values: which vary within a job, and whether there are repeats at all."""

    varying: frozenset[str] = frozenset()
    known: bool = True


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference, both sides cut short; hostile text. `note` is ours: how far the sides are apart."""

    about: str
    baseline: str
    candidate: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison says; `first` is the first printed line in which the two differ, else how they ended otherwise, else a value.

    `first_line` is its number in the baseline, `first_line_candidate` that in the candidate; a line that one
    side lacks has none there.
    """

    result: ComparisonResult
    differences: tuple[Difference, ...] = ()
    first: Difference | None = None
    first_line: int | None = None
    first_line_candidate: int | None = None
    endings: tuple[Difference, ...] = ()
    stdout: TextDiff | None = None
    values: tuple[ValueComparison, ...] = ()
    around: tuple[Difference, ...] = ()
    environment: tuple[Difference, ...] = ()


def compare(baseline: Result, candidate: Result, *, repeats: Repeats = Repeats()) -> Comparison:
    """Compare what two attempts showed.

    What surrounds it (stderr, flags, the environments) is listed, and never makes them different.
    """
    environment = environment_differences(baseline.environment, candidate.environment)
    around = tuple(_around(baseline, candidate))
    bare = Comparison(
        ComparisonResult.INCOMPARABLE, around + environment, around=around, environment=environment
    )
    if not (baseline.outcome.is_evidence and candidate.outcome.is_evidence):
        return bare
    stdout = text_diff(stream_of(baseline, "stdout"), stream_of(candidate, "stdout"))
    values = compare_values(
        baseline.observation.values, candidate.observation.values, varying=repeats.varying
    )
    endings = tuple(_ending_differences(baseline, candidate))
    lines = _line_differences(stdout)
    held = [value for value in values if _decides(value, repeats)]
    told_values = tuple(_value_difference(value) for value in held[:MOST_VALUES_SHOWN])
    made = replace(
        bare,
        result=_result(baseline, candidate, values, differs=bool(lines or endings or held)),
        differences=(*endings, *lines, *told_values, *around, *environment),
        first=next(iter((*lines, *endings, *told_values)), None),
        endings=endings,
        stdout=stdout,
        values=values,
    )
    if not lines or stdout.result is TextResult.UNKNOWN:
        return made
    row = next(row for row in stdout.rows if not row.same)
    return replace(
        made, first_line=row.baseline_line or row.candidate_line, first_line_candidate=row.candidate_line
    )


def digests_of(result: Result) -> dict[str, str]:
    """What repeats are told apart by: the captured values' digests by name."""
    return {value.name: value.digest for value in result.observation.values if value.digest}


def repeats_of(
    baseline: Sequence[Mapping[str, str]], candidate: Sequence[Mapping[str, str]], *, same_job: bool
) -> Repeats:
    """From the digests of all counted attempts of both jobs.

    Within one job only what is another value every time is left aside.
    """
    if same_job:
        always = frozenset(
            name
            for name, digests in _by_name(baseline).items()
            if len(digests) > 2 and len(set(digests)) == len(digests)
        )
        return Repeats(varying=always, known=len(baseline) > 2)
    varying = frozenset((*varying_names(baseline), *varying_names(candidate)))
    return Repeats(varying=varying, known=len(baseline) > 1 and len(candidate) > 1)


def varying_names(repeats: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The names whose values differ among the repeats of a job; what one of them lacks is not compared."""
    return tuple(name for name, digests in _by_name(repeats).items() if len(set(digests)) > 1)


def _by_name(repeats: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for digests in repeats:
        for name, digest in digests.items():
            found.setdefault(name, []).append(digest)
    return found


def stream_of(result: Result, stream: str) -> Text:
    """A stream of an attempt, as text to compare."""
    seen = result.observation
    return Text(text=getattr(seen, stream), digest=getattr(seen, f"{stream}_digest"), cut=seen.truncated)


def _result(
    baseline: Result, candidate: Result, values: Iterable[ValueComparison], *, differs: bool
) -> ComparisonResult:
    if ended_by_limit(baseline) != ended_by_limit(candidate):
        # One of them was cut off by a limit of ours: what it would have shown is not known.
        return ComparisonResult.INCOMPARABLE
    if differs:
        return ComparisonResult.DIFFERENT
    same = all(
        same_bytes(stream_of(baseline, stream), stream_of(candidate, stream))
        for stream in ("stdout", "stderr")
    )
    same_values = all(value.result is ValueResult.IDENTICAL or _unknown_of_one(value) for value in values)
    return ComparisonResult.IDENTICAL if same and same_values else ComparisonResult.EQUIVALENT


def _unknown_of_one(value: ValueComparison) -> bool:
    """Too large to have been read on both sides, and so no reason to deny that all that was captured is the same."""
    return value.result is ValueResult.UNKNOWN and value.note.endswith("nor a digest of them.")


def _decides(value: ValueComparison, repeats: Repeats) -> bool:
    """Whether a value makes two attempts different: not one that varies by itself, nor a plain number that no repeat tells from such."""
    return (
        value.result is ValueResult.DIFFERENT
        and not value.varies
        and (repeats.known or value.kind != "number")
    )


def _value_difference(value: ValueComparison) -> Difference:
    place = f"{value.first_differing}: " if value.first_differing else ""
    return Difference(
        f"value: {value.name}",
        _cut(f"{place}{value.baseline}"),
        _cut(f"{place}{value.candidate}"),
        told(value),
    )


def _line_differences(stdout: TextDiff) -> tuple[Difference, ...]:
    """The first lines that differ; numbers as values, in whatever order the lines come."""
    if stdout.result is TextResult.UNKNOWN:
        return (Difference("stdout", _NOT_KEPT, _NOT_KEPT),)
    rows = [row for row in stdout.rows if not row.same][:MOST_LINES_SHOWN]
    return tuple(
        Difference("stdout", _cut(_line(row.baseline)), _cut(_line(row.candidate)), _apart(row))
        for row in rows
    )


def _line(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def _apart(row: Row) -> str:
    """The distance of the numbers in a line that differs in nothing else."""
    found = [number for number in row.numbers if number.absolute is not None]
    if not found:
        return ""
    worst = max(found, key=lambda number: number.absolute or 0.0)
    share = "" if worst.relative is None else f", {100 * worst.relative:.3g} % of the baseline"
    return f"off by {worst.absolute:.3g}{share}"


def _ending_differences(baseline: Result, candidate: Result) -> list[Difference]:
    one, other = baseline.observation, candidate.observation
    pairs = (
        ("outcome", str(baseline.outcome), str(candidate.outcome)),
        ("exit_status", _said(one.exit_status), _said(other.exit_status)),
        ("signal", _said(one.signal), _said(other.signal)),
        ("exception", _exception(baseline), _exception(candidate)),
    )
    return [
        Difference(about, _cut(left), _cut(right))
        for about, left, right in pairs
        if _ADDRESS.sub("", left) != _ADDRESS.sub("", right)
    ]


def _exception(result: Result) -> str:
    raised = result.observation.exception
    return "none" if raised is None else f"{raised.type}: {raised.message}"


def _said(value: object) -> str:
    return "none" if value is None else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"


def _around(baseline: Result, candidate: Result) -> list[Difference]:
    """Weak evidence: what the streams of warnings say, and the flags as the scripts left them."""
    one, other = baseline.observation, candidate.observation
    found = [
        Difference(f"flag: {name}", _said(one.flags.get(name)), _said(other.flags.get(name)))
        for name in _differing(one.flags, other.flags)
    ]
    if not same_bytes(stream_of(baseline, "stderr"), stream_of(candidate, "stderr")) and _says(
        one.stderr
    ) != _says(other.stderr):
        found.append(Difference("stderr", _cut(one.stderr), _cut(other.stderr)))
    return found


def _says(stderr: str) -> list[tuple[str, ...]]:
    return [meaning(line) for line in stderr.splitlines()]


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
