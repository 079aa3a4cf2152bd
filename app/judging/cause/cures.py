"""The source of variation, by a cell that fixes one source and is the same otherwise."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.judging.judgement import JudgedCell
from app.judging.output.failure_signature import last_name
from app.judging.output.printed_lines import fingerprint
from app.judging.output.printed_numbers import numbers_in
from app.targets.target import Target
from worker.contract import Outcome, Result

# That the repeats of a test agree by chance has at most this probability.
MOST_CHANCE = 0.05
# For each setting that fixes one source: the cause, and the name of the source. A more exact one comes first.
_SOURCES = {
    ("fix", "numpy-generator"): ("unseeded", "numpy.random.default_rng"),
    ("fix", "numpy-legacy"): ("unseeded", "numpy.random"),
    ("fix", "python"): ("unseeded", "random"),
    ("fix", "torch"): ("unseeded", "torch"),
    ("fix", "hash"): ("hash_order", "PYTHONHASHSEED"),
    ("fix", "clock"): ("clock", "time"),
    ("fix", "files"): ("file_order", "os.listdir"),
    ("fix", "generators"): ("unseeded", "random, numpy.random and torch"),
    ("seed", ""): ("unseeded", "random, numpy.random and torch"),
    ("deterministic", "on"): ("nondeterministic_kernel", ""),
    ("threads", "1"): ("thread_order", "threads"),
}
# The settings of cells that test for the source of a variation.
CURES = frozenset({"fix", "deterministic", "threads"})


# Roundings in another order move a sum by less than this share.
_SLIGHT = 1e-2
# Torch's words for an operation that varies, if algorithms that don't are asked for.
_REFUSAL = re.compile(r"^(\w{1,80}) does not have a deterministic implementation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cure:
    """A cause of variation, the name of its source, and the label of the target that showed it."""

    cause: str
    source: str
    test: str


def shown_result(result: Result) -> tuple[object, ...]:
    """The result that an attempt showed, without times and addresses: equal for attempts that agree."""
    return (fingerprint(result.observation.stdout), *_ending(result))


def varies(results: Sequence[Result]) -> bool:
    """Whether the attempts that are evidence show different results."""
    return len({shown_result(result) for result in results if result.outcome.is_evidence}) > 1


def tests_of(cell: JudgedCell, cells: Sequence[JudgedCell]) -> list[tuple[tuple[str, str], JudgedCell]]:
    """The cells that differ from this one in one setting only, which fixes a source, in the order above."""
    tests = []
    for setting in _SOURCES:
        name, value = setting
        for other in cells:
            extra = dict(other.target.settings)
            given = extra.pop(name, None)
            if (
                other.script == cell.script
                and given is not None
                and (given == value or not value)
                and name not in cell.target.settings
                and other.target.model_copy(update={"settings": extra}) == cell.target
            ):
                tests.append((setting, other))
    return tests


def cure_of(cell: JudgedCell, cells: Sequence[JudgedCell], *, is_documented: bool = False) -> Cure | None:
    """The first source without which the repeats agree; None if no test shows one.

    `is_documented`: torch documents an operation of the script as nondeterministic. Then two repeats that
    agree with deterministic algorithms are enough.
    """
    if not varies(cell.results):
        return None
    for setting, other in tests_of(cell, cells):
        is_known = is_documented and setting == ("deterministic", "on")
        if _cures(other, cell, most_chance=1.0 if is_known else MOST_CHANCE):
            cause, source = _SOURCES[setting]
            return Cure(cause=cause, source=source, test=other.target.label())
    return None


def refusal_of(cell: JudgedCell, cells: Sequence[JudgedCell]) -> Cure | None:
    """The operation that torch refuses with deterministic algorithms, if repeats vary on this device only.

    That they agree on another device shows that the script itself brings no variation, and that they vary
    slightly, that only the order of roundings may have changed.
    """
    if not varies(cell.results) or not _agrees_elsewhere(cell, cells) or not _vary_slightly(cell.results):
        return None
    for setting, other in tests_of(cell, cells):
        raised = [result.observation.exception for result in other.results if result.outcome.is_evidence]
        refusals = [None if each is None else _REFUSAL.match(each.message) for each in raised]
        if setting == ("deterministic", "on") and refusals and refusals[0] is not None and all(refusals):
            return Cure(cause=_SOURCES[setting][0], source=refusals[0][1], test=other.target.label())
    return None


def _agrees_elsewhere(cell: JudgedCell, cells: Sequence[JudgedCell]) -> bool:
    """Whether repeats agree, and end by themselves, in a cell that differs in the device only."""
    for other in cells:
        results = [result for result in other.results if result.outcome.is_evidence]
        alike = other.script == cell.script and other.target.settings == cell.target.settings
        if alike and other.target.device is not cell.target.device and len(results) > 1:
            return not varies(results) and all(result.outcome is Outcome.COMPLETED for result in results)
    return False


def _vary_slightly(results: Sequence[Result]) -> bool:
    """Whether all print as many numbers, and none is further apart than a hundredth of the largest one."""
    outputs = [result.observation.stdout for result in results if result.outcome.is_evidence]
    rows = [[number.value for number in numbers_in(text)] for text in outputs]
    if not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        return False
    columns = [column for column in zip(*rows, strict=True) if len(set(map(str, column))) > 1]
    if not columns or not all(math.isfinite(value) for column in columns for value in column):
        return False
    largest = max(abs(value) for row in rows for value in row if math.isfinite(value))
    return all(max(column) - min(column) <= _SLIGHT * largest for column in columns)


def _cures(test: JudgedCell, cell: JudgedCell, *, most_chance: float) -> bool:
    """Whether the repeats of the test agree, end as plain ones did, and are too many to agree by chance."""
    results = [result for result in test.results if result.outcome.is_evidence]
    plain = [result for result in cell.results if result.outcome.is_evidence]
    if not results or varies(results) or not _ends_like(results[0], plain):
        return False
    return len(results) > 1 and _chance(plain, results[0], len(results)) <= most_chance


def is_plain_cell(plain: Target, test: Target) -> bool:
    """Whether the first target is the second one without a setting that may remove a variation."""
    settings = settings_without_cures(test)
    return settings != test.settings and plain == test.model_copy(update={"settings": settings})


def settings_without_cures(test: Target) -> dict[str, str]:
    """The settings of the plain cell of a test."""
    return {name: value for name, value in test.settings.items() if name not in CURES}


def needed_for_cure(plain: Sequence[Result], fixed: Sequence[Result], *, most: int) -> int:
    """The attempts, in all, that show whether fixing a source makes the repeats agree; `most` at most.

    `plain` are all results without the setting, `fixed` those with it. One attempt is enough if nothing
    varies without it. Looking after each attempt does not raise the error of the test: it can only say yes
    while all attempts agree, so that its first yes is the only one.
    """
    plain = [result for result in plain if result.outcome.is_evidence]
    fixed = [result for result in fixed if result.outcome.is_evidence]
    if not fixed or not varies(plain):
        return 1
    if varies(fixed) or not _ends_like(fixed[0], plain):
        return len(fixed)
    enough = (count for count in range(2, most + 1) if _chance(plain, fixed[0], count) <= MOST_CHANCE)
    # If even `most` equal attempts would not be enough, more of them tell nothing.
    return next(enough, len(fixed))


def _ends_like(result: Result, plain: Sequence[Result]) -> bool:
    return _ending(result) in set(map(_ending, plain))


def _chance(plain: Sequence[Result], example: Result, count: int) -> float:
    """The probability that chance alone makes `count` results equal, if the setting changes nothing.

    Then any choice of so many results, from all of them, was as likely (an exact permutation test).
    """
    counts = Counter(map(shown_result, plain))
    counts[shown_result(example)] += count
    choices = sum(math.comb(each, count) for each in counts.values())
    return choices / math.comb(len(plain) + count, count)


def _ending(result: Result) -> tuple[object, ...]:
    seen = result.observation
    exception = None if seen.exception is None else last_name(seen.exception.type)
    return seen.exit_status, seen.signal, exception
