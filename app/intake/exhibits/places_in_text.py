"""Finds lines and words of a report in the text as submitted.

Reading removes quotation signs, prompts, tags and line ends. So a line is looked for without such signs, and
its place is that of the submitted text. Each search is linear or bounded.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from app.intake.remarks.output_remarks import without_remark

# A text is searched up to here: reading looks at no more lines, and at no more words of a claim.
MOST_LINES = 20_000
_MOST_CHARACTERS = 200_000
_MOST_WORDS = 80
# The same line or word may stand there often. The first places are tried.
_MOST_TRIES = 50
# Between two printed lines that belong together, so many others may stand.
_MOST_BETWEEN = 20
_LINE = re.compile(r"[^\r\n]+")
_WORD = re.compile(r"\S+")
_PROMPT = re.compile(r"[ \t>#]*+(?:>>>|\.\.\.(?= |$)|In ?\[[\d *]{1,6}\]:)")
_OUTPUT_MARK = re.compile(r"(?:Out ?\[\d{1,6}\]:|={1,5}>|-{1,5}>|→|\.\.\. )\s*")
_SIGNS = " \t>#*`|\ufeff"
_AROUND_WORDS = "*_`>#|\"'“”‘’"
_BEHIND_WORDS = ",;:!?." + _AROUND_WORDS
_TAG = re.compile(r"</?[A-Za-z][^<>\s]{0,200}>")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text: the offsets of its first character and behind its last one."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PrintedRun:
    """Printed lines that stand together, and their place. `last` is the number of the last line."""

    place: Place
    lines: tuple[str, ...]
    last: int


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text without signs around them, and the offsets of each with its signs."""

    words: list[str]
    starts: list[int]
    ends: list[int]

    def numbers(self, word: str, first: int) -> Iterator[int]:
        """The numbers of such words from number `first` on, the first ones."""
        at = first - 1
        with suppress(ValueError):
            for _ in range(_MOST_TRIES):
                at = self.words.index(word, at + 1)
                yield at


class PlacesInText:
    """The lines and the words of one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _lines(self) -> list[Place]:
        """The lines that are not empty."""
        places: list[Place] = []
        for match in _LINE.finditer(self.text):
            line = match[0]
            if len(places) >= MOST_LINES:
                break
            if bare := line.strip(" \t\ufeff"):
                start = match.start() + line.index(bare)
                places.append(Place(start, start + len(bare)))
        return places

    @cached_property
    def _prompts(self) -> set[int]:
        """The numbers of the lines that somebody typed at a prompt."""
        lines = enumerate(self._lines)
        return {at for at, place in lines if _PROMPT.match(self.text, place.start, place.end)}

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        numbers: dict[str, list[int]] = {}
        for at, place in enumerate(self._lines):
            numbers.setdefault(_bare(self.text[place.start : place.end]), []).append(at)
        return numbers

    @cached_property
    def _words(self) -> _Words:
        spans = [
            match.span() for match in _WORD.finditer(self.text, 0, min(len(self.text), _MOST_CHARACTERS))
        ]
        pairs = [(_bare_word(self.text[start:end]), start, end) for start, end in spans]
        words, starts, ends = list[str](), list[int](), list[int]()
        for word, start, end in pairs:
            if word:
                words.append(word)
                starts.append(start)
                ends.append(end)
        return _Words(words, starts, ends)

    def find_line(self, line: str, after: int = 0, *, typed: bool = False) -> int | None:
        """The number of the first such line from number `after` on.

        With `typed` it may stand at a prompt.
        """
        numbers = self._numbers.get(_bare(line), ())
        first = bisect_left(numbers, after)
        for number in numbers[first : first + _MOST_TRIES]:
            if typed or number not in self._prompts:
                return number
        return None

    def place_of_line(self, number: int) -> Place:
        """The place of a line, without space around it."""
        return self._lines[number]

    def find_printed(self, lines: Sequence[str], after: int = 0, *, apart: bool = False) -> list[PrintedRun]:
        """The places of printed lines in their order. With `apart` each run of lines has its own place."""
        runs: list[PrintedRun] = []
        for line in lines:
            number = self.find_line(line, runs[-1].last + 1 if runs else after)
            if number is None:
                continue
            place, last = self._of_line(number, line), runs[-1] if runs else None
            if last is None or (apart and number != last.last + 1):
                runs.append(PrintedRun(place, (line,), number))
            elif number - last.last <= _MOST_BETWEEN:
                joined = Place(last.place.start, place.end)
                runs[-1] = PrintedRun(joined, (*last.lines, line), number)
        return runs

    def _of_line(self, number: int, line: str) -> Place:
        """The place of a line without the signs before it, such as those of a quote."""
        place = self._lines[number]
        at = self.text.find(line.strip(), place.start, place.end)
        return place if at < 0 else Place(at, at + len(line.strip()))

    def find_words(self, text: str, after: int = 0) -> Place | None:
        """The first place of these words from the offset `after` on, whatever signs stand around them."""
        sequence = [word for word in map(_bare_word, text.split()[:_MOST_WORDS]) if word]
        if not sequence:
            return None
        index = self._words
        for number in index.numbers(sequence[0], bisect_left(index.starts, after)):
            if index.words[number : number + len(sequence)] == sequence:
                place = Place(index.starts[number], index.ends[number + len(sequence) - 1])
                return self._exactly(text, place)
        return None

    def find_within(self, text: str, place: Place) -> Place | None:
        """The first place of this text inside of another place, where it is no part of a longer word."""
        at = self.text.find(text, place.start, place.end) if text else -1
        for _ in range(_MOST_TRIES):
            if at < 0:
                return None
            end = at + len(text)
            before, behind = self.text[at - 1 : at] if at else "", self.text[end : end + 2]
            is_word = text[0].isalnum() and (before.isalnum() or before in {"_", "."})
            goes_on = behind[:1].isalnum() or (behind[:1] == "." and behind[1:].isdigit())
            if not is_word and not (goes_on and text[-1].isalnum()):
                return Place(at, end)
            at = self.text.find(text, at + 1, place.end)
        return None

    def _exactly(self, text: str, place: Place) -> Place:
        """The place without the signs around it."""
        region = self.text[place.start : place.end]
        at = region.find(text)
        if at >= 0:
            return Place(place.start + at, place.start + at + len(text))
        bare = region.lstrip(_AROUND_WORDS)
        start = place.start + len(region) - len(bare)
        return Place(start, start + len(bare.rstrip(_AROUND_WORDS))) if bare else place


def _bare(line: str) -> str:
    """A line without space, prompts, signs of quotes and comments, and marks of output."""
    line = line.strip(_SIGNS)
    if mark := _OUTPUT_MARK.match(line):
        line = line[mark.end() :].strip(_SIGNS) or line
    return " ".join(without_remark(line).split())


def _bare_word(word: str) -> str:
    if "<" in word:
        word = _TAG.sub("", word)
    return word.lstrip(_AROUND_WORDS).rstrip(_BEHIND_WORDS)
