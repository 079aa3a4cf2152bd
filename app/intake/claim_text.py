"""Free claim text → checks. What can't be read with certainty gives no check: nothing is guessed."""

from __future__ import annotations

import re

from app.intake.claims import Check, CheckKind, Claim, Over, Role, Where
from app.intake.wording import EXCEPTION_LINE, both_devices, device_of, is_output_line, phrase_checks, side_of_line

# Reading stops here; every rule is linear in what is left.
MOST_CHARACTERS = 100_000
MOST_LINE = 2_000
MOST_TEXT = 300


def read_claim(text: str) -> Claim:
    """The checks that a claim's text makes."""
    text = text[:MOST_CHARACTERS].replace("\r\n", "\n")
    lines = [line.strip()[:MOST_LINE] for line in text.splitlines() if line.strip()]
    if not lines:
        return Claim()
    checks = _traceback(lines) or _sides(lines) or _literal_output(lines) or _phrases(lines)
    return Claim(checks=tuple(checks), text=text[: 4 * MOST_LINE])


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "…"


def exception_check(line: str, *, role: Role = Role.BUG) -> Check | None:
    """`SomeError: message` as a check; None when the line is no such thing."""
    found = EXCEPTION_LINE.fullmatch(line.strip())
    if found is None:
        return None
    return Check(
        text=_cut(line.strip()),
        kind=CheckKind.EXCEPTION,
        role=role,
        exception_type=found["type"].rsplit(".", 1)[-1],
        message=(found["message"] or "").strip(),
    )


def _traceback(lines: list[str]) -> list[Check]:
    """A printed traceback: its last line is the failure; what was printed before it is a detail."""
    starts = [at for at, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    if not starts:
        return []
    for line in reversed(lines[starts[-1] :]):
        check = exception_check(line)
        if check is not None:
            before = tuple(line for line in lines[: starts[0]] if is_output_line(line))
            detail = [Check(text=_cut("\n".join(before)), kind=CheckKind.OUTPUT, role=Role.DETAIL, lines=before)] if before else []
            return [check, *detail]
    return []


def _sides(lines: list[str]) -> list[Check]:
    """Lines that name a device each: the difference is the bug, what each side prints is a detail."""
    named = [(side_of_line(line), line) for line in lines]
    if len(lines) < 2 or any(side is None for side, _ in named):
        return []
    sides = list(dict.fromkeys(side for side, _ in named if side is not None))
    if len(sides) != 2 or not all(is_output_line(line) for line in lines):
        return []
    first = {side: next(line for name, line in named if name == side) for side in sides}
    differs = Check(
        text=_cut("\n".join(lines)),
        kind=CheckKind.DIFFERS,
        sides=tuple(sides),
        side_lines=tuple(first[side] for side in sides),
        where=Where(device="cuda") if "cuda" in sides else Where(),
    )
    details = [
        Check(text=_cut(line), kind=CheckKind.OUTPUT, role=Role.DETAIL, lines=(line,), where=Where(device=side if side == "cuda" else None))
        for side, line in named
    ]
    return [differs, *details]


def _literal_output(lines: list[str]) -> list[Check]:
    """Printed lines given as they are."""
    if len(lines) < 2 or not all(is_output_line(line) for line in lines):
        return []
    return [Check(text=_cut("\n".join(lines)), kind=CheckKind.OUTPUT, lines=tuple(lines))]


def _phrases(lines: list[str]) -> list[Check]:
    """Sentences: the first one that can be read makes the claim."""
    for line in lines:
        check = exception_check(line)
        if check is not None:
            return [check]
    for sentence in _sentences(lines):
        checks = phrase_checks(sentence)
        if checks:
            return [check.model_copy(update={"text": _cut(check.text)}) for check in checks]
    if len(lines) == 1 and is_output_line(lines[0]) and not both_devices(lines[0]):
        device = device_of(lines[0])
        where = Where(device="cuda") if device == "cuda" else Where()
        return [Check(text=_cut(lines[0]), kind=CheckKind.OUTPUT, lines=(lines[0],), where=where)]
    return []


def _sentences(lines: list[str]) -> list[str]:
    """The whole text first, then its sentences."""
    whole = " ".join(lines)
    parts = [part.strip() for line in lines for part in re.split(r"(?<=[.!?;])\s+(?=[A-Z\"'`])", line)]
    return [whole[:MOST_LINE], *[part for part in parts if part and part != whole]][:200]


def output_check(lines: list[str], *, role: Role = Role.BUG) -> Check:
    """Literal output as one check."""
    return Check(text=_cut("\n".join(lines)), kind=CheckKind.OUTPUT, role=role, over=Over.ATTEMPT, lines=tuple(lines))
