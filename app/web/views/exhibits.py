"""The submitted text of a report with its exhibits marked, and the words for their stances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.errors import InputError
from app.intake.exhibit import ExhibitKind, Stance
from app.intake.text.thread import thread_of
from app.runs.run_object.claim_part import ExhibitPart
from app.web.text import text_budget

# The list shows so many exhibits. The JSON has all of them.
MOST_LISTED = 30
_LINES, _CHARACTERS = 120, 6_000
_MOST_COMMENTS = 3


@dataclass(frozen=True, slots=True)
class StanceLook:
    """A stance in words. `tone` is a CSS class."""

    name: str
    tone: str


STANCES: Mapping[Stance, StanceLook] = {
    Stance.ACTUAL: StanceLook("what happens", "seen"),
    Stance.EXPECTED: StanceLook("what should happen", "gone"),
    Stance.ELSEWHERE: StanceLook("another place", "cant"),
    Stance.UNCLEAR: StanceLook("unclear", "part"),
}
# Plain words for the kinds: a reporter need not know what a REPL is.
KINDS: Mapping[ExhibitKind, str] = {
    ExhibitKind.TRACEBACK: "traceback",
    ExhibitKind.ERROR_LINE: "error message",
    ExhibitKind.CRASH: "crash",
    ExhibitKind.OUTPUT: "printed output",
    ExhibitKind.COMMENTED_VALUE: "value in a comment",
    ExhibitKind.REPL_VALUE: "value that Python shows",
    ExhibitKind.INLINE_VALUE: "value in a sentence",
    ExhibitKind.NUMBER: "number in a sentence",
    ExhibitKind.WARNING: "warning",
    ExhibitKind.RELATION: "sentence that compares",
    ExhibitKind.EXIT_STATUS: "exit status",
}
# The stances that a click gives.
OFFERED = (Stance.ACTUAL, Stance.EXPECTED, Stance.ELSEWHERE)


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the submitted text, with its exhibit if it is one."""

    text: str
    exhibit: ExhibitPart | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedPost:
    """A post as it is shown: its number, its author, and its pieces up to the limit."""

    number: int
    author: str
    pieces: Sequence[TextPiece]
    is_cut: bool


def marked_posts(text: str, exhibits: Sequence[ExhibitPart] | None, *, form: str) -> list[MarkedPost]:
    """The report as submitted, and those comments of a thread that hold exhibits."""
    every = exhibits or []
    return [
        _mark_post(number, author, post, [each for each in every if each.span.post == number])
        for number, author, post in _posts(text, form, {each.span.post for each in every})
    ]


def _posts(text: str, form: str, numbers: set[int]) -> Iterator[tuple[int, str, str]]:
    """(number, author, text) of the posts that are shown."""
    try:
        thread = None if form == "script" else thread_of(text)
    except InputError:
        thread = None
    if thread is None:
        yield 0, "", text
        return
    yield 0, thread.author, thread.body
    comments = [post for post in thread.comments if post.number in numbers]
    yield from ((post.number, post.author, post.text) for post in comments[:_MOST_COMMENTS])


def _mark_post(number: int, author: str, text: str, exhibits: Sequence[ExhibitPart]) -> MarkedPost:
    cut = text_budget.head(text, _LINES, _CHARACTERS)
    length = len(cut.text)
    pieces: list[TextPiece] = []
    at = 0
    for exhibit in exhibits:
        start, end = exhibit.span.start, min(exhibit.span.end, length)
        if start < at or start >= end:
            # Another exhibit holds it, or it is not shown.
            continue
        pieces += [TextPiece(cut.text[at:start]), TextPiece(cut.text[start:end], exhibit)]
        at = end
    pieces.append(TextPiece(cut.text[at:]))
    return MarkedPost(
        number=number,
        author=author,
        pieces=[piece for piece in pieces if piece.text],
        is_cut=length < len(text),
    )
