"""Gives outputs a place by all captions together: `Before:` and `After:`, `Old (1.5)` and `New (2.0)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from app.intake.claim.stated_place import version_named
from app.intake.layout.captions import (
    is_expected_caption,
    is_foreign_caption,
    is_newer_caption,
    is_older_caption,
    is_seen_caption,
    may_be_of_steps,
)
from app.intake.snippets.parts import Part, PartKind, is_expectation_heading
from app.intake.snippets.roles import says_it_works

_CHANGES = re.compile(
    r"\b(?:regress\w*|upgrad\w*|updat\w*|version\w*|releases?|released|since|chang\w+|used to"
    r"|no longer|broke\w*|downgrad\w*|commit\w*|bisect\w*|\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)\b",
    re.IGNORECASE,
)
# `while in 1.2 it returned`.
_PAST = re.compile(
    r"\b(?:was|were|gave|printed|returned|showed|got|used to|while|whereas|fine|ok|works?|worked"
    r"|but (?:in|with|on))\b",
    re.IGNORECASE,
)
_MOST_CAPTION = 200
_MOST_WORDS = 4


def with_captions_of_headings(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which an output below a heading about it alone has this heading as its caption."""
    result: list[Part] = []
    heading_of_code: str | None = None
    for part in parts:
        heading_of_code = part.heading if part.kind is PartKind.CODE else heading_of_code
        is_own = (
            part.kind is PartKind.OUTPUT
            and not part.before.strip()
            and heading_of_code is not None
            and part.heading != heading_of_code
            and not part.about_environment
        )
        is_caption = is_own and (version_named(part.heading) is not None or _is_side(part.heading))
        is_caption |= part.kind is PartKind.CODE and not part.before.strip() and says_it_works(part.heading)
        result.append(replace(part, before=f"{part.heading.strip(' :')}:") if is_caption else part)
    return [_with_plain_caption(part) for part in result]


def _is_side(heading: str) -> bool:
    return is_older_caption(heading) or is_newer_caption(heading)


def _with_plain_caption(part: Part) -> Part:
    """The part with `Expected:` for a caption such as `but I expect`, and such a heading in other words."""
    heading = part.heading
    if is_expected_caption(heading) and not is_expectation_heading(heading):
        heading = "Expected output"
    elif is_seen_caption(heading) and is_foreign_caption(heading):
        heading = "Output"
    part = replace(part, heading=heading) if heading != part.heading else part
    caption = _caption(part)
    is_expected = part.kind is PartKind.OUTPUT and not part.expected and is_expected_caption(caption)
    return replace(part, before=f"{part.before}\nExpected:") if is_expected else part


def with_places_of_pairs(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which outputs of an older state, beside those of a newer one, are elsewhere.

    So are outputs below nothing but another version, if the same code stands above one without a version.
    """
    captions = [_caption(part) if part.kind is PartKind.OUTPUT else "" for part in parts]
    older = {at for at, caption in enumerate(captions) if is_older_caption(caption)}
    newer = {at for at, caption in enumerate(captions) if is_newer_caption(caption)}
    named = {captions[at] for at in older | newer}
    if older and newer and all(map(may_be_of_steps, named)) and not _tells_of_changes(parts):
        older = set()
    elsewhere = (older if newer else set()) | _of_other_version(parts) | _of_named_versions(parts, captions)
    return [replace(part, elsewhere=True) if at in elsewhere else part for at, part in enumerate(parts)]


def _tells_of_changes(parts: Sequence[Part]) -> bool:
    return any(_CHANGES.search(part.text) for part in parts if part.kind is PartKind.PROSE)


def _of_other_version(parts: Sequence[Part]) -> set[int]:
    """The outputs of code that is repeated below nothing but a version, such as `On 3.11:`."""
    first: dict[str, bool] = {}
    others: set[int] = set()
    is_other = False
    for at, part in enumerate(parts):
        if part.kind is PartKind.CODE:
            code, is_of_version = part.text.strip(), _is_version(_caption(part))
            is_other = first.setdefault(code, is_of_version) is False and is_of_version
        elif part.kind is PartKind.OUTPUT and is_other and _is_version(_caption(part)):
            others.add(at)
    return others


def _of_named_versions(parts: Sequence[Part], captions: Sequence[str]) -> set[int]:
    """The outputs with a version in their captions, if another one stands below `Output:` or `it prints`."""
    outputs = [at for at, part in enumerate(parts) if part.kind is PartKind.OUTPUT and not part.expected]
    named = {at for at in outputs if version_named(captions[at]) is not None}
    own = [at for at in outputs if at not in named]
    is_told = len(own) == 1 and (not captions[own[0]] or is_seen_caption(captions[own[0]]))
    texts = {parts[at].text.strip() for at in own}
    is_contrast = all(_PAST.search(captions[at]) and parts[at].text.strip() not in texts for at in named)
    return named if is_told and is_contrast else set()


def _is_version(caption: str) -> bool:
    return len(caption.split()) <= _MOST_WORDS and version_named(caption) is not None


def _caption(part: Part) -> str:
    return part.before.strip().rpartition("\n")[2][-_MOST_CAPTION:].strip()
