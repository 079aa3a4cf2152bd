"""Reads a diff between what is expected and what is there as two outputs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.layout.labelled_blocks import EXPECTED, SEEN, side_of_label
from app.intake.text.markdown import Block

_HEAD = re.compile(r"(?P<sign>---|\+\+\+)[ \t]++(?P<words>\S[^\n]{0,100})$")
# `(- expected, + actual)`, `- is what I get, + is expected`.
_LEGEND = re.compile(
    r"(?P<first>[-+])`?[ \t:=]{0,3}(?:is |means )?(?:the |what (?:i |we |is )?)?(?P<one>[a-z]{2,20})\b"
    r"[^\n+-]{0,40}?"
    r"(?P<second>[-+])`?[ \t:=]{0,3}(?:is |means )?(?:the |what (?:i |we |is )?)?(?P<other>[a-z]{2,20})\b",
    re.IGNORECASE,
)
_SIGNS = ("+", "-")
_MOST_LINES = 400


def with_sides_of_diffs(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, in which such a diff is two blocks of output below a caption each."""
    result: list[Block] = []
    for at, block in enumerate(blocks):
        around = [each.text for each in (*blocks[max(0, at - 1) : at], *blocks[at + 1 : at + 2])]
        sides = _sides(block, around) if block.kind == "code" and block.fenced else {}
        for caption, text in sides.items():
            result += [Block("prose", caption), Block("code", text, "text", fenced=True)]
        result += [] if sides else [block]
    return result


def _sides(block: Block, around: Sequence[str]) -> dict[str, str]:
    lines = [line for line in block.text.split("\n") if line.strip()][:_MOST_LINES]
    heads = {match["sign"][0]: match["words"].rstrip() for line in lines[:2] if (match := _HEAD.match(line))}
    body = [line for line in lines[len(heads) :] if not line.startswith("@@")]
    if not heads and all(line[:1] in {*_SIGNS, " "} for line in body):
        heads = next(filter(None, map(_legend, around)), {})
    names = {sign: side_of_label(words) for sign, words in heads.items()}
    if set(names) != set(_SIGNS) or set(names.values()) != {EXPECTED, SEEN}:
        return {}
    return {names[sign]: "\n".join(line[1:] for line in body if line[:1] in {sign, " "}) for sign in _SIGNS}


def _legend(text: str) -> dict[str, str]:
    match = _LEGEND.search(text[:_MOST_LINES])
    if match is None or match["first"] == match["second"]:
        return {}
    return {match["first"]: match["one"], match["second"]: match["other"]}
