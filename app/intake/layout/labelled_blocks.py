"""Splits a block that shows both sides, as `Expected: 3` above `Actual: 2`, and tidies a failed doctest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from app.intake.layout.captions import is_expected_caption, is_seen_caption
from app.intake.snippets.parts import Part, PartKind

EXPECTED = "Expected:"
SEEN = "Output:"
_LABELLED = re.compile(r"[ \t]*(?P<label>[^\W\d][^\n:=]{0,40}?)[ \t]*+:(?:[ \t]++(?P<value>\S.*)?)?$")
_GOT = re.compile(r"got|(?:but )?was|is|found", re.IGNORECASE)
_CARET = re.compile(r"[ \t]*(?:\^[\^~ \t]*|[|│][|│ \t]*|[└╰][─-]*)")
_DRAWN = re.compile(r"[ \t]*(?:[|│]?_{1,8}|\^{1,80}|[└╰][─-]{1,8}|[|│])[> ]{1,4}[A-Za-z][^\n]{0,200}")
_COLUMNS = re.compile(r"[ \t]{2,}|\t")
_RULER = re.compile(r"[*=_-]{20,}$")
_PLACE = re.compile(r"\s*File \"[^\"\n]{1,400}\", line \d{1,9}, in \S")
_FAILED = "Failed example:"
_MOST_LINES = 400
_MOST_LABELS = 8


def with_split_blocks(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which an output that labels two sides is two outputs, each with its label above it."""
    code = "\n".join(part.text for part in parts if part.kind is PartKind.CODE).lower()
    result: list[Part] = []
    for part in map(_without_drawing, parts):
        sides = _sides(part, code) if part.kind is PartKind.OUTPUT else []
        result += [replace(part, text=text, before=label or part.before) for label, text in sides] or [part]
    return result


def _without_drawing(part: Part) -> Part:
    """The part without signs and words that somebody drew below a printed line: `^` above `|__ wrong`."""
    lines = part.text.split("\n")
    if part.kind is not PartKind.OUTPUT or "Error" in part.text or not any(map(_CARET.fullmatch, lines)):
        return part
    rest = [line for line in lines if not (_CARET.fullmatch(line) or _DRAWN.fullmatch(line))]
    return replace(part, text="\n".join(rest)) if any(map(str.strip, rest)) else part


def _sides(part: Part, code: str) -> list[tuple[str, str]]:
    """(caption, lines) of each side; empty for any other output."""
    lines = part.text.split("\n")
    if len(lines) > _MOST_LINES:
        return []
    if _FAILED in part.text:
        return _of_doctest(part, lines)
    if "Traceback (most recent call last)" in part.text or "Error" in part.text:
        return []
    return _of_columns(lines, code) or _of_labels(lines, code)


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
            sides.append((side, [match["value"].rstrip()] if match["value"] else []))
        elif sides:
            sides[-1][1].append(line)
        elif line.strip():
            # Above the first label stands what the code before it prints.
            sides.append(("", [line]))
    filled = [(side, "\n".join(text).strip("\n")) for side, text in sides]
    is_pair = sorted(side or SEEN for side, _ in filled) == sorted((EXPECTED, SEEN))
    return filled if is_pair and all(text.strip() for _, text in filled) else []


def _of_columns(lines: Sequence[str], code: str) -> list[tuple[str, str]]:
    """The sides of a table whose head names them: `n  got  expected`. Its other columns belong to both."""
    rows = [_COLUMNS.split(line.strip()) for line in lines if line.strip()]
    heads = rows[0] if rows else []
    columns = {side: at for at, head in enumerate(heads) if (side := side_of_label(head))}
    if len(columns) != 2 or len(rows) < 2 or any(len(row) != len(heads) for row in rows):
        return []
    if sum(bool(side_of_label(head)) for head in heads) > len(columns) or " ".join(heads).lower() in " ".join(
        code.split()
    ):
        return []
    return [
        (
            side,
            "\n".join(" ".join(cell for at, cell in enumerate(row) if at not in others) for row in rows[1:]),
        )
        for side, own in columns.items()
        for others in [set(columns.values()) - {own}]
    ]


def side_of_label(label: str) -> str:
    """The side that a label names: EXPECTED, SEEN, or an empty text."""
    if is_expected_caption(label):
        return EXPECTED
    return SEEN if is_seen_caption(label) or _GOT.fullmatch(label.strip()) else ""
