"""Reads the one value below a heading for what happens, and the one below a heading for what is expected."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.layout.labelled_blocks import EXPECTED, SEEN
from app.intake.snippets.parts import Part, PartKind, is_expectation_heading
from app.intake.words.vocabulary import is_printed_line

_SEEN_HEADING = re.compile(
    r"\W*(?:the |my )?(?:what (?:actually )?happen(?:s|ed)|current|actual|observed|wrong"
    r"|describe the current)\b[^.\n]{0,40}",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"\W*actual\b[^.\n]{0,20}?\b(?:vs\.?|versus|and|/)\W{0,3}expected\b[^.\n]{0,20}", re.IGNORECASE
)
_BOTH_TURNED = re.compile(
    r"\W*expected\b[^.\n]{0,20}?\b(?:vs\.?|versus|and|/)\W{0,3}actual\b[^.\n]{0,20}", re.IGNORECASE
)
_VALUE = re.compile(r"`([^`\n]{1,200})`")
_MOST_TEXT = 2_000


def with_headed_values(parts: Sequence[Part]) -> list[Part]:
    """The parts, with an output for each side, if both headings have one value and no block."""
    sides = _sides(parts)
    if set(sides) != {SEEN, EXPECTED} or sides[SEEN] == sides[EXPECTED]:
        return [*parts]
    outputs = [Part(PartKind.OUTPUT, value, "", caption) for caption, value in sides.items()]
    return [*parts, *outputs]


def _sides(parts: Sequence[Part]) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for part in parts:
        side = _side_of(part.heading)
        if side and part.kind is not PartKind.PROSE:
            return {}
        texts = [each.strip() for each in _VALUE.findall(part.text[:_MOST_TEXT])] if side else []
        values.setdefault(side, []).extend(each for each in texts if is_printed_line(each))
    for both, order in ((_BOTH, (SEEN, EXPECTED)), (_BOTH_TURNED, (EXPECTED, SEEN))):
        pairs = [
            _VALUE.findall(part.text[:_MOST_TEXT])
            for part in parts
            if both.fullmatch(part.heading) and part.kind is PartKind.PROSE
        ]
        if len(pairs) == 1 and len(pairs[0]) == len(order):
            return dict(zip(order, pairs[0], strict=True))
    return {side: texts[0] for side, texts in values.items() if side and len(set(texts)) == 1}


def _side_of(heading: str) -> str:
    if _BOTH.fullmatch(heading) or _BOTH_TURNED.fullmatch(heading):
        return ""
    if is_expectation_heading(heading):
        return EXPECTED
    return SEEN if _SEEN_HEADING.fullmatch(heading) else ""
