"""Reads the one value below a heading for what happens, and the one below a heading for what is expected."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.layout.labelled_blocks import EXPECTED, SEEN, side_of_label
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
_LABELLED = re.compile(
    r"[ \t]*(?:[-*+•] |\d{1,2}[.)] )?[*_]{0,2}(?P<label>[^\W\d][^\n:：`]{0,40}?)[*_]{0,2}[:：][*_ \t]{0,6}"
    r"`(?P<value>[^`\n]{1,200})`[\s.]*"
)
_MOST_LINE = 400
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


def with_labelled_values(parts: Sequence[Part]) -> list[Part]:
    """The parts, with an output for each side of a list that labels both values: ``2. Actual: `bb` ``.

    Only values between backticks that don't look printed are read: others are read with their sentences.
    """
    lines = [line for part in parts if part.kind is PartKind.PROSE for line in part.text.split("\n")]
    matches = [match for line in lines if (match := _LABELLED.fullmatch(line[:_MOST_LINE]))]
    pairs = [(side, match["value"]) for match in matches if (side := side_of_label(match["label"]))]
    sides = dict(pairs)
    if len(pairs) != 2 or set(sides) != {SEEN, EXPECTED} or all(map(is_printed_line, sides.values())):
        return [*parts]
    return [*parts, *(Part(PartKind.OUTPUT, value, "", caption) for caption, value in pairs)]
