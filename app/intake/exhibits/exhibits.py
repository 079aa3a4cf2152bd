"""Collects the exhibits of a report: what its outputs, comments and sentences show, with their places.

The rules of `report_claim` decide what is evidence. Here each piece gets its place, its stance and its words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from app.intake.claim.claim_text import cut, output_check
from app.intake.claim.claims import Check, CheckKind, Claim, Role, Where
from app.intake.claim.comments import commented_outputs, statements_with_values
from app.intake.exhibit import (
    Condition,
    Exhibit,
    ExhibitAnchor,
    ExhibitKind,
    Span,
    Stance,
    is_about,
)
from app.intake.exhibits.places_in_text import Place, PlacesInText
from app.intake.exhibits.shown_evidence import evidence_of, stance_of
from app.intake.snippets.parts import Part

REPORTER = "reporter"
MOST_EXHIBITS = 60
_MOST_OUTPUTS = 40
_MOST_COMMENTED = 30
# A longer exhibit is cut to its first lines, and a longer traceback to its last ones.
MOST_CHARACTERS = 2_000
_MOST_AUTHOR = 100
_KINDS = {
    CheckKind.EXCEPTION: ExhibitKind.ERROR_LINE,
    CheckKind.CRASH: ExhibitKind.CRASH,
    CheckKind.EXIT_STATUS: ExhibitKind.EXIT_STATUS,
    CheckKind.OUTPUT: ExhibitKind.INLINE_VALUE,
    CheckKind.VALUE: ExhibitKind.NUMBER,
}
_STANCES = {Role.BUG: Stance.ACTUAL, Role.DETAIL: Stance.ACTUAL, Role.EXPECTED: Stance.EXPECTED}


@dataclass(frozen=True, slots=True)
class PostText:
    """A post as submitted, and the outputs that it shows if it was taken apart."""

    text: str
    number: int = 0
    author: str = REPORTER
    outputs: Sequence[Part] = ()


@dataclass(slots=True)
class _Collection:
    """The exhibits that were seen so far. No place has two of a kind."""

    exhibits: list[Exhibit] = field(default_factory=list)
    taken: set[tuple[int, int, int, ExhibitKind]] = field(default_factory=set)

    def add(
        self,
        post: PostText,
        place: Place,
        evidence: Check,
        *,
        kind: ExhibitKind,
        stance: Stance,
        because: str = "",
        condition: str = "",
        anchor: int | None = None,
    ) -> None:
        span = _cut_span(post, place, from_end=kind is ExhibitKind.TRACEBACK)
        key = (span.post, span.start, span.end, kind)
        if key in self.taken or span.start == span.end:
            return
        self.taken.add(key)
        limits = evidence.where
        exhibit = Exhibit(
            id="",
            kind=kind,
            span=span,
            author=post.author[:_MOST_AUTHOR],
            text=post.text[span.start : span.end],
            stance=stance,
            because=because,
            condition=Condition(words=condition, where=limits) if condition or limits != Where() else None,
            anchor=None if anchor is None else ExhibitAnchor(line=anchor),
            evidence=evidence.model_copy(update={"role": Role.BUG, "id": None, "of": None}),
        )
        self.exhibits.append(exhibit)


def _cut_span(post: PostText, place: Place, *, from_end: bool) -> Span:
    start, end = place.start, place.end
    if end - start > MOST_CHARACTERS and from_end:
        line = post.text.find("\n", end - MOST_CHARACTERS, end)
        start = line + 1 if line >= 0 else end - MOST_CHARACTERS
    elif end - start > MOST_CHARACTERS:
        line = post.text.rfind("\n", start, start + MOST_CHARACTERS)
        end = line if line > start else start + MOST_CHARACTERS
    return Span(post=post.number, start=start, end=end)


def exhibits_of(posts: Sequence[PostText], claim: Claim, script: str) -> tuple[Exhibit, ...]:
    """The exhibits of a report, in the order of their places. `script` is the main script as it is run."""
    collection = _Collection()
    places = [PlacesInText(post.text) for post in posts]
    for post, text in zip(posts, places, strict=True):
        _add_outputs(collection, post, text, script)
    for post, text in zip(posts[:1], places, strict=False):
        _add_comments(collection, post, text, script)
    checks = [check for reading in (claim, *claim.further) for check in reading.checks]
    for check in checks:
        if not any(is_about(exhibit, check) for exhibit in collection.exhibits):
            _add_check(collection, posts, places, check)
    exhibits = [_with_check(exhibit, checks) for exhibit in collection.exhibits[:MOST_EXHIBITS]]
    exhibits.sort(key=lambda each: (each.span.post, each.span.start, -each.span.end))
    return tuple(each.model_copy(update={"id": f"e{number}"}) for number, each in enumerate(exhibits, 1))


def align(exhibits: Sequence[Exhibit], claim: Claim) -> tuple[Exhibit, ...]:
    """The exhibits of a report with a claim that somebody gave as it stands: they have its stances."""
    checks = [check for reading in (claim, *claim.further) for check in reading.checks]
    return tuple(_with_check(exhibit, checks, keep=()) for exhibit in exhibits)


def _with_check(
    exhibit: Exhibit, checks: Sequence[Check], *, keep: Collection[Stance] = (Stance.ELSEWHERE,)
) -> Exhibit:
    """The exhibit with the stance and the anchor that the claim gives it, if the claim is about it.

    `keep` are stances that stay. The value elsewhere may be the right one, too.
    """
    about = [check for check in checks if is_about(exhibit, check)]
    stances = [Stance.ELSEWHERE if check.where.mode else _STANCES[check.role] for check in about]
    update: dict[str, object] = {}
    if stances and exhibit.stance not in {*stances, *keep}:
        update |= {"stance": stances[0], "because": cut(about[0].text), "corrected_by": None}
    anchors = [check for check in about if check.at is not None]
    if anchors and exhibit.anchor is None:
        number = 1 if anchors[0].script is None else anchors[0].script.number
        update["anchor"] = ExhibitAnchor(script=number, line=anchors[0].at or 1)
    return exhibit.model_copy(update=update) if update else exhibit


def _add_outputs(collection: _Collection, post: PostText, text: PlacesInText, script: str) -> None:
    """The outputs that a post shows, in blocks and in prose. Each stands behind the one before it."""
    after = 0
    for part in post.outputs[:_MOST_OUTPUTS]:
        words = stance_of(part, script)
        introduction = text.find_line(part.before.strip().rpartition("\n")[2], after) if part.before else None
        begin = after if introduction is None else introduction
        for piece in evidence_of(part, script):
            runs = text.find_printed(piece.lines, begin, apart=piece.kind is ExhibitKind.REPL_VALUE)
            places = [(run.place, _of_lines(piece.check, run.lines)) for run in runs]
            if not runs and (place := text.find_words("\n".join(piece.lines))):
                places = [(place, piece.check)]
            for place, check in places:
                collection.add(
                    post,
                    place,
                    check.model_copy(update={"where": words.where}),
                    kind=piece.kind,
                    stance=words.stance,
                    because=words.because,
                    condition=words.condition,
                )
            after = max([after, *(run.last + 1 for run in runs)])


def _of_lines(check: Check, lines: Sequence[str]) -> Check:
    """The part of a check about output that a run of lines shows."""
    is_part = check.kind is CheckKind.OUTPUT and len(lines) < len(check.lines)
    return output_check([line.strip() for line in lines]) if is_part else check


def _add_comments(collection: _Collection, post: PostText, text: PlacesInText, script: str) -> None:
    """The values in comments beside statements of the main script."""
    wrong, right = map(set, commented_outputs(script))
    lines = script.split("\n")
    after = 0
    for number, value in statements_with_values(script)[:_MOST_COMMENTED]:
        if value not in wrong | right or number > len(lines):
            continue
        at = text.find_line(lines[number - 1], after, typed=True)
        place = None if at is None else _last(text, value, text.place_of_line(at))
        if at is None or place is None:
            continue
        after = at + 1
        stance = Stance.ACTUAL if value in wrong else Stance.EXPECTED
        comment = text.text[place.end : text.place_of_line(at).end].strip(" ,;:-")
        kind = ExhibitKind.COMMENTED_VALUE
        collection.add(
            post, place, output_check([value]), kind=kind, stance=stance, because=cut(comment), anchor=number
        )


def _last(text: PlacesInText, value: str, line: Place) -> Place | None:
    """The place of a value in the comment at the end of a line."""
    sign = text.text.find("#", line.start, line.end)
    return None if sign < 0 else text.find_within(value, Place(sign, line.end))


def _add_check(
    collection: _Collection, posts: Sequence[PostText], places: Sequence[PlacesInText], check: Check
) -> None:
    """The sentence, the number or the lines of a check, in the first post that has them."""
    stance = Stance.ELSEWHERE if check.where.mode else _STANCES[check.role]
    for post, text in zip(posts, places, strict=True):
        for place, kind in _places_of(text, check):
            quoted = text.text[place.start : place.end]
            because = "" if check.text in quoted else cut(check.text)
            collection.add(post, place, check, kind=kind, stance=stance, because=because, anchor=check.at)
            return


def _places_of(text: PlacesInText, check: Check) -> Iterator[tuple[Place, ExhibitKind]]:
    """The places that may be meant by a check, the most exact one first."""
    sentence = text.find_words(check.text.removesuffix("…"))
    exact = check.number or (check.lines[0] if len(check.lines) == 1 else "")
    if not exact and check.exception_type and not check.message:
        # A sentence may name the error that is raised and the right one.
        exact = check.exception_type
    if sentence and exact and (place := text.find_within(exact, sentence)):
        yield place, _KINDS.get(check.kind, ExhibitKind.RELATION)
    elif check.kind is CheckKind.OUTPUT and (run := text.find_printed(check.lines)):
        yield run[0].place, ExhibitKind.OUTPUT
    elif sentence:
        is_warning = (check.exception_type or "").endswith("Warning")
        yield sentence, ExhibitKind.WARNING if is_warning else _KINDS.get(check.kind, ExhibitKind.RELATION)
