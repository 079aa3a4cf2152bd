"""Reads a diff of a whole script as the script that it leads to, if the report shows no other code."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from app.intake.code.names import undefined_names
from app.intake.code.syntax import tree_of
from app.intake.snippets.transcripts import does_something, take_apart
from app.intake.text.markdown import Block

# A patch of a file. Its lines are a part of something.
_OF_FILE = re.compile(r"(?:@@|diff |index [0-9a-f]{6}|---|\+\+\+)")
_REMEDY = re.compile(
    r"\b(?:fix\w*|patch\w*|solv\w+|solution|work-?around|suggest\w*|propos\w+|mend\w*|repair\w*|resolv\w+)\b",
    re.IGNORECASE,
)
# A script imports or prints something.
_SHOWS = re.compile(r"^(?:import \w|from [\w.]{1,80} import |print\()", re.MULTILINE)
_TAGS = frozenset(("diff", "patch", ""))
_MOST_LINES = 400


def with_changed_code(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, in which such a diff is the code of its new side."""
    sides = {
        at: code for at, block in enumerate(blocks) if block.kind == "code" and (code := _new_side(block))
    }
    if len(sides) != 1:
        return list(blocks)
    ((place, code),) = sides.items()
    above = blocks[place - 1].text if place and blocks[place - 1].kind == "prose" else ""
    others = (block for at, block in enumerate(blocks) if block.kind == "code" and at != place)
    if _REMEDY.search(above[-400:]) or any(take_apart(other.text).code for other in others):
        return list(blocks)
    script = replace(blocks[place], text=code, language="python")
    return [*blocks[:place], script, *blocks[place + 1 :]]


def _new_side(block: Block) -> str:
    """The new side of a diff, if it is a script of its own; else empty."""
    lines = block.text.rstrip("\n").split("\n")
    if not block.fenced or block.language not in _TAGS or len(lines) > _MOST_LINES:
        return ""
    is_diff = all(not line.strip() or line[0] in "+- " for line in lines)
    signs = {line[0] for line in lines if line.strip()}
    if not is_diff or "+" not in signs or any(map(_OF_FILE.match, lines)):
        return ""
    code = textwrap.dedent("\n".join(line[1:] for line in lines if line[:1] != "-"))
    tree = tree_of(code)
    is_whole = tree is not None and does_something(code) and not undefined_names(tree)
    return code if is_whole and _SHOWS.search(code) else ""
