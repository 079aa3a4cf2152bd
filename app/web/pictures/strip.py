"""The strip of versions: a mark for each, oldest first, and a line where the result flips. Also as a file."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from app.web.pictures.drawing import CHARACTER, link, number, picture, shape, standing_alone, words_at
from app.web.pictures.marks import Strip, strip_words

WIDTH = 320
_TOP, _BOTTOM, _EDGE = 18, 18, 6
# Pixels from mark to mark. With the least one, 24 marks fit on a phone; with the most, two versions side by
# side. No mark is larger than _TALL.
_LEAST, _MOST, _TALL = 12.8, 48.0, 30.0
# Pixels from a text to the line of a flip, and between two texts of neighbours.
_GAP = 7
# The file: its width, the place of its names, and the most machines and characters.
FILE_WIDTH, _INDENT = 620, 290
MOST_MACHINES, MOST_NAME, MOST_TITLE = 4, 42, 84


def strip_picture(strip: Strip) -> Markup:
    """One machine. Each mark is a link with its words."""
    drawn, height = _marks(strip, 0, 0, are_links=True)
    return picture(WIDTH, height, drawn, label=f"{strip.name}: {strip_words(strip)}")


def strips_file(title: str, strips: Sequence[Strip], *, package: str) -> str:
    """The machines as a picture that stands alone, for an issue. `title` is our own sentence."""
    body = [words_at(14, 22, _cut(title, MOST_TITLE), kind="ink")]
    y = 32.0
    for strip in strips[:MOST_MACHINES]:
        drawn, height = _marks(strip, _INDENT, y, are_links=False)
        body.append(words_at(14, y + _TOP + 14, _cut(strip.label, MOST_NAME)))
        body.append(words_at(14, y + _TOP + 30, _cut(strip.hardware, MOST_NAME)))
        body += drawn
        y += height
    more = len(strips) - MOST_MACHINES
    last = f"and {more} more · " if more > 0 else ""
    last += f"{package} versions, oldest first · full: in each attempt, ring: in none · " if strips else ""
    last += "samehere"
    body.append(words_at(14, y + 14, last))
    words = " ".join(f"{strip.name}: {strip_words(strip)}" for strip in strips[:MOST_MACHINES])
    return standing_alone(FILE_WIDTH, y + 24, body, title=title, words=words)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _marks(strip: Strip, x: float, y: float, *, are_links: bool) -> tuple[list[Markup], float]:
    """The marks of a machine from `x`, `y` on, and their height."""
    count = len(strip.marks)
    pitch = min(_MOST, max(_LEAST, (WIDTH - 2 * _EDGE) / max(count, 1)))
    tall = min(pitch, _TALL)
    middle = y + _TOP + tall / 2
    at = [x + _EDGE + pitch * (number_ + 0.5) for number_ in range(count)]
    body = [*_flip_lines(strip, at, pitch, y, tall=tall)]
    for mark, place in zip(strip.marks, at, strict=True):
        drawn = shape(mark, place, middle, tall * 0.36)
        body.append(link(mark.href, mark.words, drawn) if are_links else drawn)
    body += _texts(strip, at, x, y + 12, y + _TOP + tall + 13)
    return body, _TOP + tall + _BOTTOM


def _flip_lines(strip: Strip, at: Sequence[float], pitch: float, y: float, *, tall: float) -> list[Markup]:
    """A line between neighbours, and a band over versions that are not known."""
    lines = []
    for flip in strip.flips:
        left, right = at[flip.older] + pitch / 2, at[flip.newer] - pitch / 2
        if flip.newer == flip.older + 1:
            ends = f'x1="{number(left)}" x2="{number(left)}" y1="{number(y + 3)}"'
            lines.append(f'<line class="kl" {ends} y2="{number(y + _TOP + tall + 16)}"/>')
        else:
            size = f'width="{number(right - left)}" height="{number(tall)}"'
            lines.append(f'<rect class="kn" x="{number(left)}" y="{number(y + _TOP)}" {size}/>')
    return [Markup(line) for line in lines]  # noqa: S704 - numbers only


class TextLine:
    """Texts on one line, none over another. The first ones given have precedence."""

    def __init__(self, left: float, baseline: float, width: float = WIDTH) -> None:
        self._left, self._right, self._baseline = left, left + width, baseline
        self.taken: list[tuple[float, float]] = []
        self.texts: list[Markup] = []

    def write(self, x: float, text: str, anchor: str) -> None:
        """Write it, if there is room."""
        wide = len(text) * CHARACTER
        start = {"start": x, "middle": x - wide / 2, "end": x - wide}[anchor]
        start = min(max(start, self._left), self._right - wide)
        if not text or any(start < right + 4 and start + wide > left - 4 for left, right in self.taken):
            return
        self.taken.append((start, start + wide))
        fixed = {"start": start, "middle": start + wide / 2, "end": start + wide}[anchor]
        self.texts.append(words_at(fixed, self._baseline, text, anchor=anchor))


def _write_at_line(texts: TextLine, places: tuple[float, float], older: str, newer: str) -> None:
    """The texts of two neighbours: each at its mark, or if that is too narrow, on its side of the line."""
    left, right = places
    if (len(older) + len(newer)) / 2 * CHARACTER + 2 * _GAP <= right - left:
        texts.write(right, newer, "middle")
        texts.write(left, older, "middle")
        return
    line = (left + right) / 2
    texts.write(line + _GAP, newer, "start")
    texts.write(line - _GAP, older, "end")


def _texts(strip: Strip, at: Sequence[float], x: float, above: float, below: float) -> list[Markup]:
    """The versions above the marks, and the counts below: at the flips, at the newest, at the oldest."""
    versions, counts = TextLine(x, above), TextLine(x, below)
    marks = strip.marks
    for flip in reversed(strip.flips):
        older, newer = marks[flip.older], marks[flip.newer]
        if flip.newer > flip.older + 1:
            for mark, place in ((newer, at[flip.newer]), (older, at[flip.older])):
                versions.write(place, mark.version, "middle")
                counts.write(place, mark.counts, "middle")
            continue
        places = at[flip.older], at[flip.newer]
        _write_at_line(versions, places, older.version, newer.version)
        _write_at_line(counts, places, older.counts, newer.counts)
    for number_ in dict.fromkeys((len(marks) - 1, 0, *range(len(marks)))):
        versions.write(at[number_], marks[number_].version, "middle")
        counts.write(at[number_], marks[number_].counts, "middle")
    return [*versions.texts, *counts.texts]
