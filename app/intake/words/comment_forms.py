"""Writes what a comment says of a value in one form: `7 should be 3` for `3 is right, it prints 7`."""

from __future__ import annotations

import re

from app.intake.words.vocabulary import DTYPE, MODALS, SEE, SHOW, any_of

_NUMBER = r"[-+]?(?:(?:\d[\d_]*+(?:\.\d*+)?|\.\d++)(?:e[-+]?\d++)?|nan|inf)j?(?![\w.]*\w)"
_V = (
    r"(?:(?:tensor|array|torch\.Size)\([^#\n]{0,200}?\)(?![)\]])|\[[^#\n]{0,200}?\](?![\])])|\([^()#\n]{0,80}\)"
    r"|'[^'\n]{0,80}'|\"[^\"\n]{0,80}\"|`[^`\n]{1,80}`|True|False|None"
    rf"|{_NUMBER}|{DTYPE})"
)
_TOOLS = (
    r"(?:numpy|np|scipy|pandas|torch|pytorch|tensorflow|tf|jax|sympy|mpmath|matlab|octave|mathematica"
    r"|wolfram(?: ?alpha)?|R|julia|maple|excel|c\+\+|c|java(?:script)?|python|by hand|reference"
    r"|analytical(?:ly)?|theory|docs?|cpu|eager|math(?:ematically)?)"
)
_SAYS = r"(?:gives?|says?|returns?|prints?|has|gets?|shows?|computes?|=|:|is)"
_SEEN = rf"(?:{any_of(SEE)}|outputs?|actual(?:ly)?)"
_RIGHT = (
    rf"(?:(?:the )?(?:correct|right|true|exact|real|actual true)(?: (?:value|answer|result|one))?"
    rf"|expect(?:ed|ing)?(?: (?:value|answer|result))?|{any_of(MODALS)}(?: {any_of(SHOW)})?|want(?:ed)?)"
)
# `expected 3, got 7`, `should be True, is False`.
_RIGHT_FIRST = re.compile(
    rf"(?:{any_of(MODALS)} {any_of(SHOW)}|expected:?) (?P<right>[^,;]{{1,80}}?)"
    rf"(?:[,;] ?(?:but )?| but )(?:(?:it|i|we|this) )?(?:actually )?{any_of(SEE)} "
    r"(?P<wrong>\S[^,;]{0,80})$",
    re.IGNORECASE,
)
# `3 is expected, 7 is printed`, `3 expected but 7 returned`.
_RIGHT_THEN_WRONG = re.compile(
    rf"(?<![\w.])(?P<right>{_V}) (?:is |was )?(?:expected|correct|right|wanted),? (?:but |and |while )?"
    rf"(?P<wrong>{_V}) (?:is |was )?(?:printed|returned|shown|given|got|obtained|seen)\W*$",
    re.IGNORECASE,
)
# `7 (correct: 3)`, `7; true value 3`, `gives 7 but 3 expected`, `7 (3 in numpy)`, `7 != 3`.
_PAIR = re.compile(
    rf"(?:(?:it |this |i |we )?{_SEEN}:? )?(?P<wrong>{_V})(?:[,;.]? ?\(?|[,;]? but |,? while |,? and not )\s?"
    rf"(?:(?:(?:i|we)(?: would|['’]d)? )?{_RIGHT}(?: is|:|=)? ?(?P<a>{_V})"
    rf"|(?P<b>{_V}),? (?:is |was |would be )?(?:expected|correct|right|wanted)"
    rf"|(?:in |with |by |from )?{_TOOLS} ?{_SAYS} ?(?P<c>{_V})|(?P<d>{_V}) (?:in|with|by|from"
    rf"|according to) {_TOOLS}"
    rf"|(?:!=|≠|<>|=/=|vs\.?|versus) ?(?P<e>{_V})(?: expected| \(expected\))?)\)?[\s.!?]*$",
    re.IGNORECASE,
)
# `I get 7`, `this prints 7`, `Wrong: 7`, `nan???`, `nan :(`, `False unexpectedly`.
_SEEN_FIRST = re.compile(
    rf"(?:(?:i|we|it|this|that|which) (?:still |now |always )?{_SEEN}|out(?:\[\d*\])?:|(?:here )?i see)"
    rf":? (?P<value>{_V})(?P<rest>.*)$",
    re.IGNORECASE,
)
_WRONG_FIRST = re.compile(
    rf"(?:wrong|incorrect|false|bug|bad|oops|unexpected(?:ly)?)(?: (?:value|result|output|answer|one))?\b"
    rf"[:,!=]{{1,2}} ?(?:{_SEEN} )?(?P<value>{_V})"
    r"(?P<rest>.*)$",
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    rf"(?:{_SEEN}:? )?(?P<value>{_V}) ?(?:[?!]{{1,5}}|[-–—.,;]{{1,2}} ?(?:but )?(?:why|how come|wtf"
    rf"|huh|hm+|weird|strange|odd)\b.{{0,40}}"
    r"|[:;]-?[(/|]|🤔|😕|😱|unexpectedly\W*|\(?(?:weird|strange|odd|surprising(?:ly)?)!?\)?)$",
    re.IGNORECASE,
)
# `should be True`: the script shows the other one.
_TRUTH_ALONE = re.compile(
    rf"(?:this |it )?(?:{any_of(MODALS)} {any_of(SHOW)}|expect(?:ed)?:?|i(?:['’]d"
    rf"| would) expect) `?(?P<right>True|False)`?"
    r"(?P<rest>[\s.!?]*)$",
    re.IGNORECASE,
)


# `4.0 3.0` beside `print(a, b)`.
_PLAIN = rf"(?:True|False|None|{_NUMBER})"
_ROW = re.compile(rf"{_PLAIN}(?:,? {_PLAIN}){{1,12}}", re.IGNORECASE)


# `print(np.__version__)  # 1.12`: the comment says which version it was.
_OF_VERSION = re.compile(r"version", re.IGNORECASE)
_VERSION = re.compile(r"v?\d{1,4}(?:\.\w{1,12}){1,4}(?:\+\w{1,20})?")
_BEFORE = re.compile(
    r"\s*#+ ?(?:the )?(?:before|until|till|up to|prior to|previously|formerly|older?|earlier|in the past"
    r"|used to)\b[^\n]{0,60}$",
    re.IGNORECASE,
)


def is_of_version(code: str, value: str) -> bool:
    """Whether a value beside a statement about a version is one."""
    return _OF_VERSION.search(code) is not None and _VERSION.fullmatch(value.strip("\"'")) is not None


def tells_of_before(line: str) -> bool:
    """Whether a line is a comment that says that the statement below is how it was: `# before 1.20`."""
    return "#" in line and _BEFORE.match(line) is not None


def is_row_of_values(comment: str) -> bool:
    """Whether a comment is nothing but values that one call prints: `4.0 3.0`, `True False`."""
    return _ROW.fullmatch(comment) is not None


def in_one_form(comment: str) -> str:
    """The comment as `WRONG should be RIGHT`, or with the value first, if it says so in other words."""
    return _contrast(comment) or _lone_value(comment) or comment


def _contrast(comment: str) -> str | None:
    for pattern in (_RIGHT_FIRST, _RIGHT_THEN_WRONG):
        if pair := pattern.match(comment):
            return f"{pair['wrong']} should be {pair['right']}"
    if pair := _PAIR.match(comment):
        right = next(value for value in pair.group("a", "b", "c", "d", "e") if value)
        return comment if right == pair["wrong"] else f"{pair['wrong']} should be {right}"
    if truth := _TRUTH_ALONE.match(comment):
        right = truth["right"].capitalize()
        return f"{right == 'False'} should be {right}"
    return None


def _lone_value(comment: str) -> str | None:
    if seen := _SEEN_FIRST.match(comment):
        return f"{seen['value']}{seen['rest']}"
    if wrong := _WRONG_FIRST.match(comment):
        return f"{wrong['value']} is wrong{wrong['rest']}"
    doubted = _DOUBTED.match(comment)
    return f"{doubted['value']} !" if doubted else None
