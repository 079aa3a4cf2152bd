"""The source of variation, by a cell that fixes one source and is the same otherwise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.judging.judgement import JudgedCell
from app.judging.output.failure_signature import last_name
from app.judging.output.printed_lines import fingerprint
from worker.contract import Result

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


def _cures(test: JudgedCell, cell: JudgedCell, *, most_chance: float) -> bool:
    """Whether the repeats of the test agree, end as plain ones did, and are too many to agree by chance."""
    results = [result for result in test.results if result.outcome.is_evidence]
    plain = [result for result in cell.results if result.outcome.is_evidence]
    if not results or varies(results) or _ending(results[0]) not in set(map(_ending, plain)):
        return False
    return len(results) > 1 and _chance(plain, results) <= most_chance


def _chance(plain: Sequence[Result], equal: Sequence[Result]) -> float:
    """The probability that chance alone makes these results equal, if the setting changes nothing.

    Then any choice of so many results, from all of them, was as likely (an exact permutation test).
    """
    counts = Counter(map(shown_result, (*plain, *equal)))
    choices = sum(math.comb(count, len(equal)) for count in counts.values())
    return choices / math.comb(len(plain) + len(equal), len(equal))


def _ending(result: Result) -> tuple[object, ...]:
    seen = result.observation
    exception = None if seen.exception is None else last_name(seen.exception.type)
    return seen.exit_status, seen.signal, exception
