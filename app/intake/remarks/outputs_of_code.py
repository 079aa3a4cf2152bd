"""Tells which outputs of a report are those of the main script, and which are those of other code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.intake.claim.claim_text import exception_claim
from app.intake.claim.named_errors import seen_error
from app.intake.snippets.parts import Part, PartKind
from app.intake.snippets.roles import as_source

_CALLED_WRONG = re.compile(
    r"\b(?:wrong\w*|incorrect\w*|false|bugs?|buggy|unexpected\w*|broken|fails?|also|too|same|still|even|neither"
    r"|strange|weird|odd|actual(?:ly)?|instead)\b|n['’]t\b|\bnot\b",
    re.IGNORECASE,
)
_MOST_CAPTION = 200


def outputs_of_main(parts: Sequence[Part], outputs: Sequence[Part], main: str) -> Sequence[Part]:
    """The outputs without those that stand below another piece of code, if some stand below the main one.

    An error that the words below the main code name is such an output, too. Failures stay: a report may show
    one of them for all its pieces of code.
    """
    below = _below_main(parts, main)
    others = [
        part
        for part in outputs
        if below.get(part.text) is False and not part.expected and not exception_claim(part.text)
    ]
    if not others or not (any(below.get(part.text) for part in outputs) or _names_error(parts, below)):
        return outputs
    return [part for part in outputs if part not in others]


def _names_error(parts: Sequence[Part], below: Mapping[str, bool | None]) -> bool:
    """Whether words below the main code, and above the next one, say that it ends with an error."""
    return any(
        part.kind is PartKind.PROSE
        and below.get(part.text.strip()) is True
        and any(seen_error(line[:_MOST_CAPTION]) for line in part.text.split("\n"))
        for part in parts
    )


def right_outputs(parts: Sequence[Part], outputs: Sequence[Part], main: str) -> list[Part]:
    """The outputs that are called right, and those of other code that nobody calls wrong."""
    below = _below_main(parts, main)
    return [
        part
        for part in outputs
        if part.expected
        or (
            (part.elsewhere or below.get(part.text) is False)
            and not _CALLED_WRONG.search(part.introduction[-_MOST_CAPTION:])
            and not exception_claim(part.text)
        )
    ]


def _below_main(parts: Sequence[Part], main: str) -> dict[str, bool | None]:
    """Whether each output stands below the main script, by its text. None: it stands above all code."""
    lines = {line.strip() for line in main.split("\n")}
    below: dict[str, bool | None] = {}
    is_main: bool | None = None
    for part in parts:
        if part.kind is PartKind.CODE:
            own = [line.strip() for line in as_source(part.text).split("\n")]
            is_main = all(line in lines for line in own if line)
        elif part.kind in {PartKind.OUTPUT, PartKind.PROSE}:
            text = part.text if part.kind is PartKind.OUTPUT else part.text.strip()
            below[text] = is_main or below.get(text, is_main)
    return below
