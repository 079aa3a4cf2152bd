"""Values, errors and bounds that a report calls right, whatever else it says.

They are no checks: by themselves they say nothing. Judging asks whether what came instead of the claimed bug
is among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.intake.claim.claim_text import cut, sentences_in
from app.intake.claim.claims import MOST_RIGHT_VALUES, Check, Claim, Role
from app.intake.claim.phrases import literal_check
from app.intake.claim.right_bounds import right_bounds
from app.intake.remarks.right_errors import errors_called_right
from app.intake.snippets.parts import Part
from app.intake.words.keyed_pattern import key_set, words_of
from app.intake.words.vocabulary import (
    DESIRED,
    EXPECT,
    FLAGS,
    INSTEAD,
    LITERAL,
    MODALS,
    RESULTS,
    RIGHT,
    SHOW,
    any_of,
    strip_quotes,
)

_MOST_SENTENCES = 200
_MOST_LINE = 1_000
_MOST_LINES = 20
_BREAK = re.compile(
    r"[;.]\s|\s[–—-]{1,2}\s|,?\s(?:but|while|whereas|yet|however|although|though|and not|not)\s"
    r"|,\s(?=(?:and|so)\s)",
    FLAGS,
)
_INSTEAD = re.compile(
    rf"\b{any_of(INSTEAD, 'statt', 'anstatt', 'au lieu de', 'en vez de', 'en lugar de')}\b", FLAGS
)
_CALLED_RIGHT = re.compile(
    rf"\b(?:{any_of(MODALS)}(?: (?!not\b)\w{{1,12}})? {any_of(SHOW)}|{EXPECT}|{any_of(DESIRED)}"
    rf"|(?:the |my )?{any_of(RIGHT, 'proper', 'actual true', 'analytic(?:al)?', 'theoretical', 'reference')}"
    rf"(?: \w{{1,12}})? (?:{any_of(RESULTS)}|one|number|sum|limit|integral|solution|order|shape|p-value)?"
    r"|(?:that|this|which|it)(?: is|['’]s) (?:right|correct|fine|ok)|correctly|rightly|properly"
    r"|(?:I|we) (?:hold|take|consider|regard|deem|believe|judge)(?: (?:it|them|this|that|these))?"
    r"(?: (?:for|as|to be|is|are))?(?: the)? (?:right|correct|true)"
    r"|(?:is|are) (?:right|correct|fine|ok)|by hand|on paper|as documented|want(?:s|ed)?|wish"
    r"|would (?:have )?(?:liked?|hoped?|thought|guessed)|hoped?"
    # A list should have the lines that it lacks.
    r"|(?:is|are|was|goes|went) (?:missing|left out|skipped|lost|dropped)|missing|lacks?|skips?|skipped"
    r"|omits?|leaves out|left out|fehl(?:t|en)|manquent?|il manque|faltan?|manca(?:no)?)\b",
    FLAGS,
)
_NAMES_OF_TOOLS = (
    *("R", "MATLAB", "Matlab", "Octave", "Mathematica", "Maple", "Maxima", "Excel", "Julia", "Stata", "SAS"),
    *("SPSS", "numpy", "scipy", "pandas", "sympy", "torch", "pytorch", "tensorflow", "jax", "sklearn"),
    *("scikit-learn", "statsmodels", "mpmath", "networkx", "C", "C++", "Fortran", "bc", "gcc", "clang"),
    *("node", "perl", "ruby", "GIMP", "ImageMagick", "JavaScript", "PHP"),
)
_TOOLS = rf"(?P<tool>Wolfram ?\w{{0,6}}|Sage\w*|{'|'.join(map(re.escape, _NAMES_OF_TOOLS))})"
# `Mathematica gives 3`, and `3 comes from Mathematica`, `3 according to R`.
_OTHER_TOOL = re.compile(
    rf"(?<![\w.]){_TOOLS}(?:['’]s)?(?: \w{{1,12}})? "
    r"(?:says?|gives?|gets?|returns?|finds?|shows?|reports?|prints?|computes?|yields?|answers?)\b"
)
_BY_OTHER_TOOL = re.compile(
    r"\b(?:comes? (?:from|out of)|(?:computed|obtained|given|found|printed|returned) (?:by|in|with|from)"
    rf"|[Aa]ccording to|is what|as (?:per|in|by)) {_TOOLS}(?![\w.+])"
)
# `In Fortran I obtain 3`.
_IN_OTHER_TOOL = re.compile(
    rf"\b(?:[Ii]n|[Ww]ith|[Uu]sing) {_TOOLS},? (?:I|we|it|you|one) "
    r"(?:get|have|has|see|obtain|receive|find|is|give|print|show|return)s?\b"
)
_CALLED_WRONG = re.compile(
    r"\b(?:wrong\w*|incorrect\w*|false result|bug|actual(?:ly)?|rubbish|garbage|strange|weird|odd"
    r"|unexpected\w*|surpris\w+|nonsense|broken|bad|neither|nor)\b"
    r"|n['’]t\b|\bnot\b",
    FLAGS,
)
_VALUE = re.compile(rf"`[^`\n]{{1,200}}`|{LITERAL}", FLAGS)
_GOES_ON = re.compile(r"\.\d")
_COMMENT = re.compile(r"#\s?(?P<text>[^\n]{3,300})")
_IMPORT = re.compile(r"^[ \t]{0,40}(?:import|from)[ \t]{1,8}(\w{1,60})", re.MULTILINE)
_ROOT = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,30})\.(?=[A-Za-z_])")
_ALIASES = {
    "np": "numpy",
    "pd": "pandas",
    "nx": "networkx",
    "tf": "tensorflow",
    "jnp": "jax",
    "sm": "statsmodels",
}
# A text that has none of these words names no tool.
_WORDS_OF_TOOLS = frozenset(re.split(r"\W+", " ".join(_NAMES_OF_TOOLS).lower())) | key_set(
    "wolfram wolframalpha sage sagemath"
)
_VALUE_OF_TOOL = re.compile(
    rf"(?<![\w.`]){_TOOLS}(?:['’]s)?(?: (?!not\b|never\b)\w{{1,12}})? ?"
    r"(?::|=|->|says?|gives?|gets?|returns?|shows?|reports?|prints?|computes?|yields?|answers?) ?"
    rf"(?P<value>`[^`\n]{{1,200}}`|{LITERAL})(?! (?:rows|times|digits|%))"
)
# `eager gives 0`, `without torch.compile it prints 0`, `uncompiled it is 0`.
_COMPILED = re.compile(
    r"\b(?:compil(?:e[ds]?|ing|ation)|inductor|dynamo|jit(?:ted|ting)?|numba|tf\.function|xla|with it)\b",
    FLAGS,
)
# A text that has none of these words says nothing of uncompiled code.
_WORDS_OF_EAGER = key_set("eager eagerly uncompiled compiled unjitted jitted plain without")
_OF_EAGER = re.compile(
    r"\b(?:eager(?:ly)?(?: (?:mode|execution|code|version|run|pytorch))?"
    r"|un-?compiled(?: (?:code|function|module|version|model))?"
    r"|(?:un|non)-?jitted(?: (?:code|function|version))?|the plain (?:function|version|code|model)"
    r"|without (?:`?torch\.)?(?:compil\w+|jit\w*|numba)`?),?"
    r" (?:(?:it|this|the \w{1,12}|I|we) )?(?:\w{1,12}ly )?"
    r"(?:gives?|returns?|prints?|is|says?|yields?|shows?|get|see)(?: back| me)?:? "
    rf"(?P<value>`[^`\n]{{1,200}}`|{LITERAL})(?! (?:rows|times|digits|%))",
    FLAGS,
)
_WORD = re.compile(r"[A-Za-z][\w+]*")
# `[1] 0.9567` is how R numbers its values.
_INDEX_OF_R = re.compile(r"^\s*\[\d+\]\s+")


def with_what_is_right(
    claim: Claim, texts: Sequence[str], should: Sequence[str], outputs: Sequence[Part], main: str
) -> Claim:
    """The claim with the values, errors and bounds that are called right. The first text is the title."""
    return claim.model_copy(
        update={
            "right_values": values_called_right(texts, should, outputs, main),
            "right_errors": errors_called_right(texts, should, outputs, main),
            "right_bounds": right_bounds(texts[0], sentences_of(texts, should)),
        }
    )


def sentences_of(texts: Sequence[str], should: Sequence[str]) -> list[str]:
    """The sentences of the texts, without the title, which is the first of them. Wishes come first."""
    return [each for text in (*should, *texts[1:]) for each in sentences_in(text)]


def values_called_right(
    texts: Sequence[str], should: Sequence[str], outputs: Sequence[Part], main: str
) -> tuple[str, ...]:
    """The values that clauses of the texts and comments of the script call right, and blocks shown as right.

    `should` are lines about what is expected, and `outputs` those that are right.
    """
    comments = [match["text"] for match in _COMMENT.finditer(main[: _MOST_LINE * 20])]
    packages = _packages_of(main)
    values: dict[str, None] = {}
    for text in (*should, *texts, *comments):
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            for clause in _BREAK.split(sentence[:_MOST_LINE]):
                values.update(dict.fromkeys(_right_in(clause, packages)))
    for part in outputs:
        lines = [_INDEX_OF_R.sub("", line).strip() for line in part.text.split("\n") if line.strip()]
        values.update(dict.fromkeys(line for line in lines[:_MOST_LINES] if len(line) <= _MOST_LINE))
    return tuple(list(values)[:MOST_RIGHT_VALUES])


def _right_in(clause: str, packages: frozenset[str]) -> Iterator[str]:
    instead = _INSTEAD.search(clause)
    right = _CALLED_RIGHT.search(clause)
    if instead is not None:
        # `should be 3 instead of 4`, and `prints 4 instead of 3`.
        before = right is not None and right.start() < instead.start()
        clause = clause[: instead.start()] if before else clause[instead.end() :]
    elif _CALLED_WRONG.search(clause):
        return
    elif right is None:
        tool = _tool_of(clause)
        if not tool or tool in packages:
            return
    for match in _VALUE.finditer(clause):
        value = strip_quotes(match[0])
        # 1.2 in `1.2.2 is fine` is none.
        if value.strip() and not _GOES_ON.match(clause, match.end()):
            yield value.strip()


def is_of_other_tool(clause: str, main: str) -> bool:
    """Whether a clause says what a tool gives that is no package of the script: `Matlab gives 1.0`."""
    tool = _tool_of(clause)
    return bool(tool) and tool not in _packages_of(main)


def _tool_of(clause: str) -> str:
    """The tool that a clause says shows something, in lower case; empty if it names none."""
    if _WORDS_OF_TOOLS.isdisjoint(words_of(clause)):
        return ""
    patterns = (_OTHER_TOOL, _BY_OTHER_TOOL, _IN_OTHER_TOOL)
    return next((match["tool"].lower() for each in patterns if (match := each.search(clause))), "")


def values_of_other_tools(texts: Sequence[str], main: str) -> frozenset[str]:
    """The values that the texts say another tool gives, such as `mpmath gives 3`.

    A clause that also names a package of the script may be about both.
    """
    packages = _packages_of(main)
    values: set[str] = set()
    for text in _that_name_tools(texts):
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            for clause in _BREAK.split(sentence[:_MOST_LINE]):
                if not _tool_of(clause) or packages & {word.lower() for word in _WORD.findall(clause)}:
                    continue
                values.update(strip_quotes(match[0]).strip() for match in _VALUE.finditer(clause))
    return frozenset(values)


def values_of_eager(texts: Sequence[str]) -> frozenset[str]:
    """The values that sentences say code has uncompiled: `eager gives 0, inductor does not`."""
    return frozenset(
        strip_quotes(match["value"]).strip()
        for text in texts
        if not _WORDS_OF_EAGER.isdisjoint(words_of(text))
        for sentence in sentences_in(text)[:_MOST_SENTENCES]
        for match in _OF_EAGER.finditer(sentence[:_MOST_LINE])
        if (other := _COMPILED.search(sentence, match.end()))
        and not _CALLED_WRONG.search(sentence, match.end(), other.start())
        and not _CALLED_RIGHT.search(sentence, match.end())
    )


def _that_name_tools(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if not _WORDS_OF_TOOLS.isdisjoint(words_of(text))]


def checks_of_tools(texts: Sequence[str], main: str) -> list[Check]:
    """The value of a package of the script as the bug and that of another tool as right: `R: 3, numpy: 4`.

    Empty if the texts do not name one value of each.
    """
    packages = _packages_of(main)
    own: set[str] = set()
    others: set[str] = set()
    first_sentence = ""
    for text in _that_name_tools(texts):
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            for match in _VALUE_OF_TOOL.finditer(sentence[:_MOST_LINE]):
                value = strip_quotes(match["value"]).strip()
                first_sentence = first_sentence or sentence
                (own if match["tool"].lower() in packages else others).add(value)
    if not len(own) == len(others) == 1 or own == others:
        return []
    return [
        check
        for value, role in ((own.pop(), Role.BUG), (others.pop(), Role.EXPECTED))
        if (check := literal_check(value, cut(first_sentence), role)) is not None
    ]


def _packages_of(main: str) -> frozenset[str]:
    """The packages that the script imports or names, in lower case, with torch's other name."""
    names = {name.lower() for name in (*_IMPORT.findall(main), *_ROOT.findall(main))}
    names |= {package for alias, package in _ALIASES.items() if alias in names}
    return frozenset(names | ({"pytorch"} if "torch" in names else set()))
