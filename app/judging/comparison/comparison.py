"""The comparison of two attempts: their output, captured values, endings and environments.

`identical` needs the same bytes in both streams and in every captured value, `equivalent` only the same
values. `different` is another printed line, another ending, or another captured value. A value that varies
between repeats of one job, such as a duration, does not count: it is only listed.
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
from app.judging.comparison.values import ValueComparison, ValueResult, compare_values, comparison_text
from app.judging.judgement import ComparisonResult
from worker.contract import Environment, Result, Scalar

MOST_SHOWN = 300
MOST_LINES_SHOWN = 10
MOST_VALUES_SHOWN = 10
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
# Variables follow from settings, and the fingerprint of a library from its path.
_NOT_LISTED = ("variable.", "blas.fingerprint")
_NOT_STORED = "differs in the part that was not stored"


@dataclass(frozen=True, slots=True)
class Repeats:
    """The names of values that vary within a job, and whether there are enough repeats to know that."""

    varying: frozenset[str] = frozenset()
    known: bool = True


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. Both sides are hostile text, cut short. `note` is our own text about the distance."""

    about: str
    baseline: str
    candidate: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison with all differences.

    `first` is the first printed line that differs, else another ending, else a value. `first_line` and
    `first_line_candidate` are the line numbers on both sides; a side without the line has None.
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
    """Compare two attempts. Differences in stderr, flags and environments are listed, but do not count."""
    environment = environment_differences(baseline.environment, candidate.environment)
    around = tuple(_weak_differences(baseline, candidate))
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
    deciding = [value for value in values if _decides(value, repeats)]
    value_differences = tuple(_value_difference(value) for value in deciding[:MOST_VALUES_SHOWN])
    comparison = replace(
        bare,
        result=_result(baseline, candidate, values, differs=bool(lines or endings or deciding)),
        differences=(*endings, *lines, *value_differences, *around, *environment),
        first=next(iter((*lines, *endings, *value_differences)), None),
        endings=endings,
        stdout=stdout,
        values=values,
    )
    if not lines or stdout.result is TextResult.UNKNOWN:
        return comparison
    row = next(row for row in stdout.rows if not row.same)
    return replace(
        comparison,
        first_line=row.baseline_line or row.candidate_line,
        first_line_candidate=row.candidate_line,
    )


def digests_of(result: Result) -> dict[str, str]:
    """The digests of the captured values by name, by which repeats are compared."""
    return {value.name: value.digest for value in result.observation.values if value.digest}


def repeats_of(
    baseline: Sequence[Mapping[str, str]], candidate: Sequence[Mapping[str, str]], *, same_job: bool
) -> Repeats:
    """The varying values, from the digests of all counted attempts of both jobs.

    For two attempts of the same job, only values that differ in every repeat are varying.
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
    """The names of values that differ among the repeats of a job."""
    return tuple(name for name, digests in _by_name(repeats).items() if len(set(digests)) > 1)


def _by_name(repeats: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    digests_by_name: dict[str, list[str]] = {}
    for digests in repeats:
        for name, digest in digests.items():
            digests_by_name.setdefault(name, []).append(digest)
    return digests_by_name


def stream_of(result: Result, stream: str) -> Text:
    """A stream of an attempt as a text to compare."""
    seen = result.observation
    return Text(text=getattr(seen, stream), digest=getattr(seen, f"{stream}_digest"), cut=seen.truncated)


def _result(
    baseline: Result, candidate: Result, values: Iterable[ValueComparison], *, differs: bool
) -> ComparisonResult:
    if ended_by_limit(baseline) != ended_by_limit(candidate):
        # One of them was stopped at a limit, so the rest of its output is not known.
        return ComparisonResult.INCOMPARABLE
    if differs:
        return ComparisonResult.DIFFERENT
    same = all(
        same_bytes(stream_of(baseline, stream), stream_of(candidate, stream))
        for stream in ("stdout", "stderr")
    )
    same_values = all(value.result is ValueResult.IDENTICAL or _is_too_large(value) for value in values)
    return ComparisonResult.IDENTICAL if same and same_values else ComparisonResult.EQUIVALENT


def _is_too_large(value: ValueComparison) -> bool:
    """Whether the value was too large to be read. Then it does not prevent `identical`."""
    return value.result is ValueResult.UNKNOWN and value.note.endswith("nor a digest of them.")


def _decides(value: ValueComparison, repeats: Repeats) -> bool:
    """Whether a value makes two attempts different.

    A varying value does not, nor does a plain number if there are no repeats to show whether it varies.
    """
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
        comparison_text(value),
    )


def _line_differences(stdout: TextDiff) -> tuple[Difference, ...]:
    """The first lines that differ. Numbers are compared as values; the order of lines does not count."""
    if stdout.result is TextResult.UNKNOWN:
        return (Difference("stdout", _NOT_STORED, _NOT_STORED),)
    rows = [row for row in stdout.rows if not row.same][:MOST_LINES_SHOWN]
    return tuple(
        Difference("stdout", _cut(_line(row.baseline)), _cut(_line(row.candidate)), _distance_of_numbers(row))
        for row in rows
    )


def _line(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def _distance_of_numbers(row: Row) -> str:
    """The largest distance of the numbers in a line; empty if the line differs in other things."""
    measured = [number for number in row.numbers if number.absolute is not None]
    if not measured:
        return ""
    worst = max(measured, key=lambda number: number.absolute or 0.0)
    share = "" if worst.relative is None else f", {100 * worst.relative:.3g} % of the baseline"
    return f"off by {worst.absolute:.3g}{share}"


def _ending_differences(baseline: Result, candidate: Result) -> list[Difference]:
    one, other = baseline.observation, candidate.observation
    pairs = (
        ("outcome", str(baseline.outcome), str(candidate.outcome)),
        ("exit_status", _text_of(one.exit_status), _text_of(other.exit_status)),
        ("signal", _text_of(one.signal), _text_of(other.signal)),
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


def _text_of(value: object) -> str:
    return "none" if value is None else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"


def _weak_differences(baseline: Result, candidate: Result) -> list[Difference]:
    """Differences that are weak evidence: the flags at the end of the scripts, and stderr."""
    one, other = baseline.observation, candidate.observation
    differences = [
        Difference(f"flag: {name}", _text_of(one.flags.get(name)), _text_of(other.flags.get(name)))
        for name in _differing(one.flags, other.flags)
    ]
    if not same_bytes(stream_of(baseline, "stderr"), stream_of(candidate, "stderr")) and _meanings(
        one.stderr
    ) != _meanings(other.stderr):
        differences.append(Difference("stderr", _cut(one.stderr), _cut(other.stderr)))
    return differences


def _meanings(stderr: str) -> list[tuple[str, ...]]:
    return [meaning(line) for line in stderr.splitlines()]


def _differing(one: Mapping[str, Scalar], other: Mapping[str, Scalar]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def environment_differences(baseline: Environment, candidate: Environment) -> tuple[Difference, ...]:
    """The fields in which two environments differ, the most likely cause first."""
    return tuple(
        Difference(f"environment: {name}", _cut(_field(baseline, name)), _cut(_field(candidate, name)))
        for name in differing_fields(baseline, candidate)
        if not name.startswith(_NOT_LISTED)
    )


def _field(environment: Environment, name: str) -> str:
    value = environment.get(name)
    return "not known" if value is None else str(value)
