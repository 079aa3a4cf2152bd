"""Finds outputs by the place where they stand: below a command, below a label `Out[5]:`, below a control."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from app.intake.code.syntax import tree_of
from app.intake.sessions.prompts import IPYTHON_OUT
from app.intake.snippets.parts import Part, PartKind
from app.intake.snippets.roles import says_it_works
from app.intake.words.vocabulary import is_printed_line, strip_quotes

_RUNS = re.compile(r"\bpython[\d.]*\b[^\n]*\.py\b|\.py[ \t]*$", re.MULTILINE)
# A paragraph that is nothing but `prints `3`.`
_ONLY_VALUE = re.compile(
    r"\W*(?:(?:which|it|this|that|and) )?(?:prints?|gives?|returns?|outputs?|shows?|yields?)\b[ \t:]*"
    r"(?P<value>`[^`\n]{1,300}`)[\s.!]*",
    re.IGNORECASE,
)


def with_outputs_of_commands(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which the lines below `$ python t.py` are output, whatever they say."""
    result: list[Part] = []
    for part in parts:
        above = result[-1] if result else None
        is_below = (
            above is not None
            and above.kind is PartKind.COMMANDS
            and part.kind is PartKind.OUTPUT
            and (part.before, part.heading) == (above.before, above.heading)
            and _RUNS.search(above.text) is not None
            and not any(map(is_printed_line, part.text.split("\n")))
        )
        result.append(replace(part, transcript=True) if is_below else part)
    return result


def with_values_of_labels(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which `Out[5]: 3` right below a script is what its last expression shows."""
    result: list[Part] = []
    for part in parts:
        above = result[-1] if result else None
        lines = part.text.split("\n")
        out = IPYTHON_OUT.match(lines[0].lstrip()) if part.kind is PartKind.PROSE else None
        if out and above is not None and above.kind is PartKind.CODE and _ends_in_value(above.text):
            text = "\n".join([lines[0].lstrip()[out.end() :], *lines[1:]])
            result[-1] = replace(above, transcript=True)
            result.append(replace(part, kind=PartKind.OUTPUT, text=text, before="", transcript=True))
        else:
            result.append(part)
    return result


def _ends_in_value(code: str) -> bool:
    tree = tree_of(code)
    return tree is not None and bool(tree.body) and isinstance(tree.body[-1], ast.Expr)


def with_values_of_controls(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which `prints `3`.` right below code that works is the output of that code."""
    result: list[Part] = []
    for part in parts:
        above = result[-1] if result else None
        match = _ONLY_VALUE.fullmatch(part.text) if part.kind is PartKind.PROSE else None
        if match and above is not None and above.kind is PartKind.CODE and says_it_works(above.before):
            value = strip_quotes(match["value"])
            result.append(replace(part, kind=PartKind.OUTPUT, text=value, before="prints:", elsewhere=True))
        else:
            result.append(part)
    return result
