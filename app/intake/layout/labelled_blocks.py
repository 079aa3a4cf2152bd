"""Splits a block that shows both sides, as `Expected: 3` above `Actual: 2`, and tidies a failed doctest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from app.intake.layout.captions import is_expected_caption, is_seen_caption
from app.intake.snippets.parts import Part, PartKind

EXPECTED = "Expected:"
SEEN = "Output:"
_LABELLED = re.compile(r"[ \t]*(?P<label>[^\W\d][^\n:=]{0,40}?)[ \t]*:(?:[ \t]+(?P<value>\S.*))?[ \t]*$")
_GOT = re.compile(r"got|(?:but )?was|is|found", re.IGNORECASE)
_RULER = re.compile(r"[*=_-]{20,}$")
_PLACE = re.compile(r"\s*File \"[^\"\n]{1,400}\", line \d{1,9}, in \S")
_FAILED = "Failed example:"
_MOST_LINES = 400
_MOST_LABELS = 8


def with_split_blocks(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which an output that labels two sides is two outputs, each with its label above it."""
    code = "\n".join(part.text for part in parts if part.kind is PartKind.CODE).lower()
    result: list[Part] = []
    for part in parts:
        sides = _sides(part, code) if part.kind is PartKind.OUTPUT and not part.transcript else []
        result += [replace(part, text=text, before=label) for label, text in sides] or [part]
    return result


def _sides(part: Part, code: str) -> list[tuple[str, str]]:
    """(caption, lines) of each side; empty for any other output."""
    lines = part.text.split("\n")
    if len(lines) > _MOST_LINES:
        return []
    if _FAILED in part.text:
        return _of_doctest(part, lines)
    if "Traceback (most recent call last)" in part.text:
        return []
    return _of_labels(lines, code)


def _of_doctest(part: Part, lines: Sequence[str]) -> list[tuple[str, str]]:
    """The output of a failed doctest without its rulers and without the place of the file."""
    rest = [line for line in lines if not _RULER.match(line) and not _PLACE.match(line)]
    return [(part.before, "\n".join(rest))] if len(rest) < len(lines) else []


def _of_labels(lines: Sequence[str], code: str) -> list[tuple[str, str]]:
    sides: list[tuple[str, list[str]]] = []
    for line in lines:
        match = _LABELLED.match(line)
        side = side_of_label(match["label"]) if match else ""
        if match and side:
            if match["label"].strip().lower() in code or len(sides) >= _MOST_LABELS:
                # The script itself prints such words.
                return []
            sides.append((side, [match["value"]] if match["value"] else []))
        elif sides:
            sides[-1][1].append(line)
        elif line.strip():
            return []
    filled = [(side, "\n".join(text).strip("\n")) for side, text in sides]
    is_pair = sorted(side for side, _ in filled) == sorted((EXPECTED, SEEN))
    return filled if is_pair and all(text.strip() for _, text in filled) else []


def side_of_label(label: str) -> str:
    """The side that a label names: EXPECTED, SEEN, or an empty text."""
    if is_expected_caption(label):
        return EXPECTED
    return SEEN if is_seen_caption(label) or _GOT.fullmatch(label.strip()) else ""
