"""The pieces of evidence in one shown output, and their stance in the words around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.intake.claim.claim_text import (
    MOST_LINES_OF_OUTPUT,
    crash_check,
    cut,
    exception_claim,
    output_check,
)
from app.intake.claim.claims import Check, CheckKind, Claim, Role, Where
from app.intake.claim.endings import crash_signal
from app.intake.claim.stated_place import newest_place
from app.intake.exhibit import ExhibitKind, Stance
from app.intake.exhibits.conditions import condition_of
from app.intake.exhibits.shown_outputs import lines_of, reads_as_output
from app.intake.exhibits.shown_warnings import split_warnings
from app.intake.remarks.output_remarks import read_remarks
from app.intake.snippets.parts import Part
from app.intake.snippets.roles import says_it_works
from app.intake.words.other_devices import device_at_issue
from app.intake.words.vocabulary import device_of, is_printed_line

_TRACEBACK = "Traceback (most recent call last)"
_MOST_WARNINGS = 3
_MOST_BECAUSE = 200
_NUMBERS = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?")
_PLAIN_NUMBERS = re.compile(r"(?<![\w.])[-+]?\d{1,30}(?:\.\d{0,30})?(?:e[-+]?\d{1,3})?(?!\w)")
# Fewer numbers may be the same by chance.
_LEAST_NUMBERS = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of evidence: its kind, its lines as shown, and the check that it makes."""

    kind: ExhibitKind
    lines: Sequence[str]
    check: Check


@dataclass(frozen=True, slots=True)
class StanceInWords:
    """The stance of an output in the words around it."""

    stance: Stance
    because: str
    where: Where
    condition: str = ""


def stance_of(part: Part, script: str) -> StanceInWords:
    """The stance of an output, with the words that decided it. Without such words it is what happens."""
    device = device_of(part.introduction) or device_at_issue(part.introduction)
    where = newest_place(part.version).model_copy(update={"device": device})
    last = part.before.strip().rpartition("\n")[2].strip()
    if condition := condition_of(part.before, script):
        words = cut(condition)
        return StanceInWords(Stance.ELSEWHERE, words, where.model_copy(update={"mode": "other code"}), words)
    if part.elsewhere or says_it_works(part.before):
        return StanceInWords(Stance.ELSEWHERE, last[-_MOST_BECAUSE:], where)
    if part.expected:
        return StanceInWords(
            Stance.EXPECTED, (part.introduction or part.heading).strip()[-_MOST_BECAUSE:], where
        )
    return StanceInWords(Stance.ACTUAL, part.introduction.strip()[-_MOST_BECAUSE:], where)


def evidence_of(part: Part, script: str) -> Iterator[Evidence]:
    """The pieces of evidence in an output: a failure, printed lines, and warnings."""
    lines, warnings = split_warnings(part.text.split("\n"))
    visible = [line for line in lines if line.strip()]
    text = "\n".join(visible)
    failure = exception_claim(text) or crash_check(text)
    if failure:
        yield from _failure(visible, failure[0])
    else:
        printed = read_remarks(lines_of(part), script).lines
        if 0 < len(printed) <= MOST_LINES_OF_OUTPUT and reads_as_output(part, script):
            kind = ExhibitKind.REPL_VALUE if part.transcript else ExhibitKind.OUTPUT
            yield Evidence(kind, printed, output_check(printed))
    for warning in warnings[:_MOST_WARNINGS]:
        yield Evidence(ExhibitKind.WARNING, [warning.text], warning)


def _failure(lines: Sequence[str], check: Check) -> Iterator[Evidence]:
    """The failure that lines show, and the printed lines above it."""
    heads = [at for at, line in enumerate(lines) if _TRACEBACK in line]
    message = check.text.removesuffix("…")
    start = heads[-1] if heads else 0
    end = next((at for at in range(start, len(lines)) if lines[at].strip().startswith(message)), None)
    if check.kind is CheckKind.CRASH or end is None:
        end = next((at for at, line in enumerate(lines) if crash_signal(line)[0]), len(lines) - 1)
        yield Evidence(ExhibitKind.CRASH, lines[end : end + 1], check)
        start = end
    elif heads:
        yield Evidence(ExhibitKind.TRACEBACK, lines[start : end + 1], check)
    else:
        yield Evidence(ExhibitKind.ERROR_LINE, lines[end : end + 1], check)
        start = end
    above = [line.strip() for line in lines[: min([start, *heads])]]
    printed = [line for line in above if is_printed_line(line)][:MOST_LINES_OF_OUTPUT]
    if printed:
        yield Evidence(ExhibitKind.OUTPUT, printed, output_check(printed))


def is_shown_in(check: Check, text: str) -> bool:
    """Whether a text shows all numbers of a printed value one after the other, as a message does."""
    claimed = [number for line in check.lines for number in _NUMBERS.findall(line)]
    row = f" {' '.join(claimed)} "
    return len(claimed) >= _LEAST_NUMBERS and row in f" {' '.join(_NUMBERS.findall(text))} "


def plain_numbers(text: str) -> list[float]:
    """The numbers of a text that are written with digits alone, such as `-3`, `2.50` and `1e-6`."""
    return [float(number) for number in _PLAIN_NUMBERS.findall(text)]


def expected_output(part: Part, lines: Sequence[str]) -> list[Check]:
    """The output that is right. The words of an error differ between versions, its type doesn't."""
    start = next((at for at, line in enumerate(lines) if "Traceback (most recent call last)" in line), None)
    error = exception_claim(part.text)[:1] if start is not None else []
    if start is None or not error:
        return [output_check(lines, role=Role.EXPECTED)]
    printed = [output_check(lines[:start], role=Role.EXPECTED)] if start else []
    return [*printed, error[0].model_copy(update={"role": Role.EXPECTED, "message": ""})]


def names_error_of(claim: Claim, bug: Check) -> bool:
    """Whether an output is only words about the claimed error: a line such as ``OSError`, see above`.

    So is a piece of a traceback.
    """
    types = {check.exception_type for check in claim.having(Role.BUG) if check.exception_type}
    if bug.kind is not CheckKind.OUTPUT or not types:
        return False
    if any(_TRACEBACK in line for line in bug.lines):
        return True
    return len(bug.lines) == 1 and any(
        re.match(rf"`?{re.escape(name)}`?(?:[,.;]|$)", bug.lines[0]) for name in types
    )
