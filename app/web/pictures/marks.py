"""The data of a picture over versions: a mark for each version of a machine, and where the result flips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise


class Shape(StrEnum):
    """The shape of a mark. The shapes differ without colour.

    FULL: in every attempt. EMPTY: in none. PART: in some. OTHER: something else happens. HATCHED: it can't be
    shown here. UNTRIED: no attempt.
    """

    FULL = "full"
    EMPTY = "empty"
    PART = "part"
    OTHER = "other"
    HATCHED = "hatched"
    UNTRIED = "untried"


DECIDED = {Shape.FULL, Shape.PART, Shape.EMPTY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The result of one version on one machine.

    `matched` and `of` are None if they are not known. `words` is a whole sentence, with names of machines.
    """

    version: str
    shape: Shape
    words: str
    href: str = ""
    matched: int | None = None
    of: int | None = None

    @property
    def counts(self) -> str:
        """`3/3`, or nothing."""
        return f"{self.matched}/{self.of}" if self.of else ""

    @property
    def rate(self) -> float:
        """The share of attempts that show the claim. A half if the counts are not known."""
        if self.shape is not Shape.PART:
            return float(self.shape is Shape.FULL)
        return (self.matched or 0) / self.of if self.of else 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """Two marks, next to each other among the decided ones, that say the opposite. They are indices."""

    older: int
    newer: int
    happens_now: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One machine: a mark for each version, oldest first."""

    label: str
    hardware: str
    marks: tuple[Mark, ...]

    @property
    def name(self) -> str:
        """The machine in words: its target, and its processor or card."""
        return f"{self.label}, {self.hardware}" if self.hardware else self.label

    @property
    def flips(self) -> list[Flip]:
        """Where the result flips, oldest first."""
        decided = [(at, mark) for at, mark in enumerate(self.marks) if mark.shape in DECIDED]
        return [
            Flip(older=one, newer=other, happens_now=new.shape is not Shape.EMPTY)
            for (one, old), (other, new) in pairwise(decided)
            if (old.shape is Shape.EMPTY) != (new.shape is Shape.EMPTY)
        ]


def strip_words(strip: Strip) -> str:
    """The picture of a machine in a sentence or two, with the counts."""
    decided = [mark for mark in strip.marks if mark.shape in DECIDED]
    if not decided:
        return "No version gave an answer about the claim."
    flips = strip.flips
    if not flips:
        open_ones = sum(mark.shape not in DECIDED | {Shape.UNTRIED} for mark in strip.marks)
        return _without_flip(decided, others=open_ones > 0)
    often = f"The result changes {len(flips)} times, here is the last: " if len(flips) > 1 else ""
    words = _flip_words(strip, flips[-1])
    return f"{often}{words if often else words[0].upper() + words[1:]}"


def _flip_words(strip: Strip, flip: Flip) -> str:
    older, newer = (
        f"{mark.version}{_of(mark)}" for mark in (strip.marks[flip.older], strip.marks[flip.newer])
    )
    between = flip.newer - flip.older - 1
    unknown = f" Not known for the {between} between." if between else ""
    if flip.happens_now:
        return f"it does not happen in {older}, and happens in {newer}.{unknown}"
    return f"it happens in {older}, and not in {newer}.{unknown}"


def _without_flip(decided: Sequence[Mark], *, others: bool) -> str:
    newest, shapes = decided[-1], {mark.shape for mark in decided}
    always = {frozenset({Shape.EMPTY}): "does not happen", frozenset({Shape.FULL}): "happens"}
    how = always.get(frozenset(shapes), "happens, but not in each attempt,")
    if len(decided) == 1:
        return f"It {how} in {newest.version}{_of(newest)}."
    limit = " that gave an answer" if others else ""
    return f"It {how} in each of {len(decided)} versions{limit}. The newest is {newest.version}{_of(newest)}."


def _of(mark: Mark) -> str:
    return f" ({mark.matched} of {mark.of})" if mark.of else ""


_LEGEND = {
    Shape.FULL: "● in each attempt",
    Shape.PART: "◐ in some attempts",
    Shape.EMPTY: "○ in none",
    Shape.OTHER: "◇ something else happens",
    Shape.HATCHED: "▨ can't be shown there",
    Shape.UNTRIED: "· not tried",
}


def legend(shapes: Sequence[Shape]) -> str:
    """The meanings of these shapes."""
    return ", ".join(_LEGEND[each] for each in shapes)
