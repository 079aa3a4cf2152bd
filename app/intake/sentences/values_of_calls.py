"""Reads the value of one call: in the title, in `I type X and get Y`, in `3 is what it says`."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.claim.claim_text import cut, output_check
from app.intake.claim.claims import Check, Role
from app.intake.claim.phrases import literal_check
from app.intake.code.syntax import tree_of
from app.intake.snippets.inputs_in_prose import typed_values
from app.intake.words.vocabulary import FLAGS, LITERAL, NUMBER, strip_quotes

_TITLE = re.compile(
    r"`?(?P<name>[A-Za-z_][\w.]{0,60})\([^`\n]{0,200}\)`? (?:is|are|returns?|gives?|yields?|prints?|equals"
    rf"|evaluates to|=|==|->) (?:now |always |wrongly |still |just )?(?P<value>`[^`\n]{{1,100}}`|{LITERAL})"
    r"(?=$|[,;:!?(]| (?:if|when|for|with|in|on|since|instead|although|even|under|as of|after|while|but"
    r"|and)\b|\.(?:$| ))",
    FLAGS,
)
_EXPECTED_CALL = re.compile(
    rf"\bexpect(?:ed|s)?(?: that)? `(?P<code>[^`\n]{{3,200}})` (?:to|should|would) (?:be|return|give|equal) "
    rf"(?P<right>`[^`\n]{{1,100}}`|{LITERAL})[,;]? (?:but|and|while|instead)(?:[,;])? (?:it |that |this |i )?"
    rf"(?:is|was|returns|returned|gives|gave|get|got) (?P<wrong>`[^`\n]{{1,100}}`|{LITERAL})",
    FLAGS,
)
# A number with its words, as a program says it: `2 hours`, `1.0 MB`.
_SAYING = (
    rf"(?P<value>`[^`\n]{{1,80}}`|\"[^\"\n]{{1,80}}\"|'[^'\n]{{1,80}}'|{NUMBER}(?: [^\W\d_]{{1,16}}){{0,3}})"
)
_IS_WHAT = re.compile(
    rf"(?:^|(?<=[.:,] )){_SAYING},? (?:is|are|was) what (?:it|this|that|i|we|the \w{{1,20}}) "
    r"(?:actually |really )?(?:says?|said|gets?|got|prints?|printed|shows?|showed|returns?|returned|gives?"
    r"|gave|sees?|saw)\b",
    FLAGS,
)
_WANTED = re.compile(
    r"\b(?:want(?:ed)?|like|love|prefer|expect(?:ed)?|wish(?:ed)?|hoped?)(?: for)? "
    r"(?:it|this|that|the \w{1,20})(?: \w{1,20}){0,2}? (?:say|print|return|show|give|be|get|read) "
    rf"{_SAYING}(?=[\s.,;!)]|$)",
    FLAGS,
)
_MOST_TITLE = 400
_MOST_LINE = 400
_MOST_LINES = 400


def values_of_calls(texts: Sequence[str], should: Sequence[str], main: str) -> list[Check]:
    """The checks of the first of these forms that the texts have. The first text is the title."""
    return (
        expected_calls(texts)
        or values_at_inputs(texts, main)
        or what_it_says(texts, should)
        or value_of_title(texts[0], main)
    )


def value_of_title(title: str, main: str) -> list[Check]:
    """The value that the title gives for a call of a function which the script calls, too."""
    match = _TITLE.search(title[:_MOST_TITLE]) if "(" in title and main else None
    name = match["name"].rpartition(".")[2] if match else ""
    if match is None or not re.search(rf"(?<!\w){re.escape(name)}\(", main):
        return []
    check = literal_check(match["value"], cut(title), Role.BUG)
    return [] if check is None else [check]


def values_at_inputs(texts: Sequence[str], main: str) -> list[Check]:
    """The values of lines `I type X and get Y` whose expressions the script has."""
    tree = tree_of(main)
    if tree is None:
        return []
    codes = {ast.dump(node) for node in ast.walk(tree) if isinstance(node, ast.expr)}
    values = [value for code, value in typed_values(texts) if _dump(code) in codes]
    return [output_check(values)] if values else []


def _dump(code: str) -> str:
    tree = tree_of(code)
    statement = tree.body[0] if tree is not None and tree.body else None
    return ast.dump(statement.value) if isinstance(statement, ast.Expr) else ""


def expected_calls(texts: Sequence[str]) -> list[Check]:
    """The wrong and the right value of `Expected `f(1)` to be 2, but it is 3`."""
    for line in _lines(texts):
        match = _EXPECTED_CALL.search(line) if "`" in line else None
        if match is not None:
            return _both(match["wrong"], match["right"], line)
    return []


def what_it_says(texts: Sequence[str], should: Sequence[str]) -> list[Check]:
    """The values of `2 hours is what it says` and `I'd want it to say 3 hours`; empty unless both stand."""
    seen = {match["value"]: line for line in _lines(texts) for match in _IS_WHAT.finditer(line)}
    right_values = {match["value"] for line in _lines([*should, *texts]) for match in _WANTED.finditer(line)}
    if len(seen) != 1 or len(right_values) != 1 or set(seen) == right_values:
        return []
    (value, line), right = next(iter(seen.items())), right_values.pop()
    return _both(value, right, line)


def _both(wrong: str, right: str, line: str) -> list[Check]:
    return [
        output_check([strip_quotes(strip_quotes(value))], role=role).model_copy(update={"text": cut(line)})
        for value, role in ((wrong, Role.BUG), (right, Role.EXPECTED))
    ]


def _lines(texts: Sequence[str]) -> list[str]:
    lines = [line.strip()[:_MOST_LINE] for text in texts for line in text.split("\n") if line.strip()]
    return lines[:_MOST_LINES]
