"""Finds outputs by the place where they stand: below a command, below a label `Out[5]:`, below a control."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from app.intake.claim.comments import commented_outputs
from app.intake.code.syntax import tree_of
from app.intake.sessions.prompts import IPYTHON_OUT
from app.intake.snippets.parts import Part, PartKind
from app.intake.snippets.roles import says_it_works
from app.intake.words.vocabulary import is_printed_line, strip_quotes

_RUNS = re.compile(r"\bpython[\d.]{0,8}\b[^\n]{0,200}?\.py\b|\.py[ \t]{0,20}$", re.MULTILINE)
_CODE_LABEL = re.compile(
    r"\W{0,8}(?:script|code|case|example|version|variant|snippet|test|program)?\s{0,3}#?"
    r"(?P<label>[A-Za-z]|\d)\b\W{0,8}",
    re.IGNORECASE,
)
_OUTPUT_LABEL = re.compile(
    r"\W{0,8}(?:(?:the )?(?:outputs?|results?) (?:of|for|from)) (?:the )?(?:script|code|case|example|version"
    r"|variant|snippet|test|program)?\s{0,3}#?(?P<label>[A-Za-z]|\d)\b\W{0,8}",
    re.IGNORECASE,
)
_OF_ISSUE = re.compile(
    r"\W*(?:(?:issue|problem|bug|error)(?: description)?|description|what happen(?:s|ed)|message)\W*",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\s*[\[({\d+-]|\s*(?:True|False|None|nan|inf|tensor|array)\b")
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


def with_outputs_at_their_code(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which an output below `Output of B:` stands right below the code under `Script B:`."""
    labels = [_label(_CODE_LABEL, part) if part.kind is PartKind.CODE else "" for part in parts]
    own = {label: at for at, label in enumerate(labels) if label}
    moved = {
        at: own[label]
        for at, part in enumerate(parts)
        if part.kind is PartKind.OUTPUT and (label := _label(_OUTPUT_LABEL, part)) in own
    }
    if len(own) < 2 or not moved:
        return [*parts]
    result: list[Part] = []
    for at, part in enumerate(parts):
        result += [] if at in moved else [part]
        result += [parts[other] for other, code in moved.items() if code == at]
    return result


def _label(pattern: re.Pattern[str], part: Part) -> str:
    caption = part.before.strip().rpartition("\n")[2] or part.heading
    match = pattern.fullmatch(caption.strip())
    return match["label"].lower() if match else ""


def with_bare_outputs(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which a paragraph of printed lines alone below `Issue Description` is output."""
    result: list[Part] = []
    has_code = False
    counts = Counter(part.heading for part in parts)
    for at, part in enumerate(parts):
        has_code |= part.kind is PartKind.CODE
        alone = counts[part.heading] == 1
        is_bare = has_code and part.kind is PartKind.PROSE and alone and not part.before.strip()
        is_output = is_bare and _OF_ISSUE.fullmatch(part.heading) is not None and _is_value(part.text)
        result.append(replace(part, kind=PartKind.OUTPUT, before="Output:") if is_output and at else part)
    return result


def _is_value(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    return all(map(is_printed_line, lines)) and all(map(_BRACKETS.match, lines))


def with_expected_code(parts: Sequence[Part]) -> list[Part]:
    """The parts, with an expected output for the commented values of code below an expectation heading."""
    result: list[Part] = []
    has_code = False
    for part in parts:
        result.append(part)
        is_expected = part.kind is PartKind.CODE and has_code and part.expected
        has_code |= part.kind is PartKind.CODE
        values = commented_outputs(part.text)[0] if is_expected else ()
        if values:
            result.append(replace(part, kind=PartKind.OUTPUT, text="\n".join(values), before="Expected:"))
    return result
