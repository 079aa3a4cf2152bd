"""Readings of one report: those that say nothing of the bug, and those that name another one."""

from __future__ import annotations

from collections.abc import Sequence

from app.intake.claim.claims import ANY_ERROR, Check, CheckKind, Claim, Role
from app.intake.claim.endings import ending_of
from app.intake.claim.slowness import labelled_times
from app.intake.exhibits.anchors import speaks_of_failure
from app.intake.exhibits.right_values import PRINTED_KINDS, values_of
from app.intake.exhibits.shown_evidence import is_shown_in, names_error_of, plain_numbers


def without_outputs_before_end(readings: list[Claim], title: str) -> list[Claim]:
    """The readings without those of plain output, if the title is about a crash that one of them has.

    A program prints as always before it crashes, so that its output shows nothing.
    """
    ending = ending_of(title)
    kinds = [{check.kind for check in each.having(Role.BUG)} for each in readings]
    if ending is None or ending.signal is None or not any(ending.kind in each for each in kinds):
        return readings
    return [each for each, kind in zip(readings, kinds, strict=True) if not kind <= PRINTED_KINDS]


def without_measured_times(readings: list[Claim]) -> list[Claim]:
    """The readings without those that take measured times for values, beside one that something is slower."""
    bugs = [check for each in readings for check in each.having(Role.BUG)]
    slower = [check for check in bugs if check.kind is CheckKind.SLOWER]
    times = {line.strip() for check in slower for line in check.text.split("\n")}

    def shows_times(claim: Claim) -> bool:
        bugs = claim.having(Role.BUG)
        return bool(bugs) and all(
            check.kind is CheckKind.OUTPUT
            and ({line.strip() for line in check.lines} <= times or labelled_times(check.lines))
            for check in bugs
        )

    return [each for each in readings if not shows_times(each)] if times else readings


def with_warnings_as_bug(checks: Sequence[Check]) -> list[Check]:
    """The checks; where the claimed output is the expected one, the warnings beside it are the bug.

    `The number 22.9… and nothing else` is expected, and the report shows warnings and 22.9598.
    """
    bugs = [check for check in checks if check.role is Role.BUG]
    right = [check for check in checks if check.role is Role.EXPECTED]
    warnings = [
        check
        for check in checks
        if check.role is Role.DETAIL and (check.exception_type or "").endswith("Warning")
    ]
    lines = [line for check in bugs for line in check.lines]
    if (
        not (bugs and right and warnings)
        or any(check.kind is not CheckKind.OUTPUT for check in bugs)
        or not all(_is_shown_by(check, lines) for check in right)
    ):
        return list(checks)
    details = [check.model_copy(update={"role": Role.DETAIL}) for check in bugs]
    return [*(check.model_copy(update={"role": Role.BUG}) for check in warnings), *details]


def _is_shown_by(expected: Check, lines: Sequence[str]) -> bool:
    """Whether the claimed lines show the expected value, or begin as it does: `22.9...`."""
    if expected.kind is CheckKind.OUTPUT:
        return set(expected.lines) <= set(lines)
    number = expected.number or ""
    is_cut = any(f"{number}{dots}" in expected.text for dots in ("...", "…"))
    words = [value for line in lines for value in line.split()]
    return bool(number) and any(value == number or (is_cut and value.startswith(number)) for value in words)


def is_error_asked_for(checks: Sequence[Check], frame: Claim) -> bool:
    """Whether the bug is only an error that the report asks for: `should be refused with a ValueError`."""
    return any(
        check.role is Role.BUG and not check.message and check.exception_type in frame.right_errors
        for check in checks
    )


def without_right_ones(readings: list[Claim]) -> list[Claim]:
    """The readings without those whose error or value the report calls right."""
    return _without_right_values(_without_right_errors(readings))


def _without_right_errors(readings: list[Claim]) -> list[Claim]:
    """The readings without errors of a type that the report calls right, beside a value in place of it.

    `It prints 4. An exception would be right, as numpy raises it:` with a traceback below. A title that
    speaks of a failure is about the error.
    """
    values = [bug for reading in readings for bug in reading.having(Role.BUG) if bug.kind in PRINTED_KINDS]
    right = set(readings[0].right_errors)
    rest = [
        reading
        for reading in readings
        if not all(
            bug.kind is CheckKind.EXCEPTION and (bug.exception_type in right or right == {ANY_ERROR})
            for bug in reading.having(Role.BUG)
        )
    ]
    return rest if values and right and rest and not speaks_of_failure(readings[0].text) else readings


def _without_right_values(readings: list[Claim]) -> list[Claim]:
    """The readings without those of one value that another one calls right, and that name no right one."""
    right = {
        value
        for reading in readings
        for check in reading.having(Role.EXPECTED)
        if check.kind in PRINTED_KINDS
        for value in values_of(check)
    }
    rest = [
        reading
        for reading in readings
        if reading.having(Role.EXPECTED)
        or not all(
            bug.kind in PRINTED_KINDS and len(bug.lines) <= 1 and values_of(bug) and values_of(bug) <= right
            for bug in reading.having(Role.BUG)
        )
    ]
    return rest if right and rest else readings


def is_failure(checks: Sequence[Check]) -> bool:
    """Whether the bug is something else than a printed value."""
    return any(check.kind not in PRINTED_KINDS for check in checks if check.role is Role.BUG)


def other_readings(readings: Sequence[Claim], failing: str) -> tuple[Claim, ...]:
    """The further readings that name another bug than the first one.

    `failing` are the outputs that show a failure, and may name in its message what else is wrong.
    """
    names = {_bug_of(readings[0])}
    right = {value for check in readings[0].having(Role.EXPECTED) for value in values_of(check)}
    others: list[Claim] = []
    for reading in readings[1:]:
        name = _bug_of(reading)
        bugs = reading.having(Role.BUG)
        # Runs that differ show more than one value.
        is_example = readings[0].checks[0].kind is CheckKind.VARIES and all(
            bug.kind in {*PRINTED_KINDS, CheckKind.VARIES} for bug in bugs
        )
        is_right = bool(right) and all(values_of(bug) <= right for bug in bugs)
        is_same = is_failure(readings[0].checks) and all(
            is_shown_in(bug, failing) or names_error_of(readings[0], bug) for bug in bugs
        )
        is_part = _is_part_of(bugs, readings[0]) or _is_number_of(reading, readings[0])
        if name in names or not name or is_example or is_right or is_same or is_part:
            continue
        names.add(name)
        others.append(reading)
    return tuple(others)


def _is_part_of(bugs: Sequence[Check], first: Claim) -> bool:
    """Whether the bugs are lists out of a longer line of the first reading: `[1, 2]` out of `[1, 2] [3]`."""
    lines = [line for bug in first.having(Role.BUG) for line in bug.lines]
    parts = [line for bug in bugs for line in bug.lines]
    return bool(parts) and all(part[:1] in "[(" and any(part in line for line in lines) for part in parts)


def _is_number_of(reading: Claim, first: Claim) -> bool:
    """Whether a reading is only about a number of the one line of numbers that the first reading is about."""
    lines = {line for bug in first.having(Role.BUG) for line in bug.lines}
    if (
        len(reading.checks) != 1
        or not plain_numbers(reading.checks[0].number or "")
        or len(lines) != 1
        or first.having(Role.EXPECTED)
    ):
        return False
    (numbers,) = map(plain_numbers, lines)
    return len(numbers) > 1 and set(plain_numbers(reading.checks[0].number or "")) <= set(numbers)


def _bug_of(claim: Claim) -> tuple[object, ...]:
    """The evidence of the first bug, to tell readings apart."""
    bugs = claim.having(Role.BUG)
    if not bugs:
        return ()
    bug = bugs[0]
    return (bug.exception_type, bug.signal, bug.exit_status, bug.sides, values_of(bug) or bug.kind)
