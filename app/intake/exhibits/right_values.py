"""Values that the report calls right: of the bug, or by mistake of the reading both right and wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from app.intake.claim.claim_text import output_check
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.memory import remembers
from app.intake.remarks.called_right import values_of_eager, values_of_other_tools
from app.intake.remarks.expected_elsewhere import find_expected_elsewhere
from app.intake.remarks.expected_of_expressions import expected_of_expression
from app.intake.remarks.right_messages import right_message
from app.intake.remarks.values_of_versions import values_before_change, values_of_versions
from app.intake.remarks.worded_values import worded_values
from app.intake.sentences.values_of_releases import value_of_good_release, values_of_releases
from app.intake.snippets.parts import Part
from app.intake.words.keyed_pattern import keyed_pattern
from app.intake.words.vocabulary import strip_quotes

PRINTED_KINDS = {CheckKind.OUTPUT, CheckKind.VALUE}
_GIVES = (
    r"(?:gets?|gives?|gave|prints?|printed|returns?|returned|shows?|yields?|produces?|finds?|found|answers?"
    r"|says?|results? in)"
)
_BUT = r"\b(?:but|while|whereas|however|although|though|yet|in contrast|on the other hand),?"
_USING = r"(?:(?:with|by|for|using|if I use|the call|the same with) )?"
# A value is not right where the words behind it say so.
_NOT_WRONG = r"(?![^.\n]{0,60}\b(?:wrong|incorrect|not|bug|too|also)\b)"
# "By `a.sum()` I do get `10`", "but `a.sum()` gives `10`": another way shows the right value.
_OTHER_WAY = keyed_pattern(
    "do does correctly rightly but while whereas however although though yet contrast hand",
    r"(?:`(?P<code>[^`\n]{3,200})`,? (?:(?:I|we|you|one) )?(?:do|does|correctly|rightly) "
    r"(?:get|give|print|return|show)s? `(?P<value>[^`\n]{1,200})`"
    rf"|{_BUT} {_USING}`(?P<other>[^`\n]{{3,200}})`(?: (?:correctly|rightly|I|we|you))?,? "
    rf"{_GIVES}:?\s{{1,4}}`(?P<given>[^`\n]{{1,200}})`{_NOT_WRONG})",
)
_OTHER_WAY_ABOVE = keyed_pattern(
    "but while whereas however although though yet contrast hand",
    rf"{_BUT} {_USING}`(?P<other>[^`\n]{{3,200}})`(?: (?:correctly|rightly|I|we|you))?,? {_GIVES}:?$",
)
_MOST_ABOVE = 400
_COMMENT = re.compile(r"#[^\n]*")
# The representations of values look like calls, too, and so do formulas: `exp(-1)`.
_CALL = re.compile(
    r"(?!(?:array|tensor|set|frozenset|range|dict|list|tuple|slice|nan|inf|mpf|mpc|datetime|date|time|deque"
    r"|masked_array|np|numpy|torch|pd|mpq|device|dtype|bytearray)\b)"
    r"[a-z]\w{1,40}\((?:(?:[\[{\"']|\w{1,30}=)[^()\n]{0,80})?\)"
)
_CONSTANTS = {"True", "False", "None", "nan", "inf"}
# Words of several parts, as in `total_steps-2`, are no symbols of mathematics.
_CALCULATION = re.compile(r"(?=[^_\n]{0,60}[a-z]_)(?:(?:[a-z]\w{2,60}|\d{1,6})(?:[ ]?[-+*/][ ]?|$)){2,6}")
_LIST_OF_ONE = re.compile(r"\[[^,\[\]\n]{1,40}\]")


def right_values(checks: Sequence[Check], texts: Sequence[str], main: str) -> list[Check]:
    """The right value of the one bug, from other sentences."""
    bugs = [check for check in checks if check.role is Role.BUG and check.kind is CheckKind.OUTPUT]
    if len(bugs) == len(checks) == 1 and (
        of_expression := expected_of_expression(bugs[0].lines, texts, main)
    ):
        return [of_expression]
    right = right_message(checks, texts) or find_expected_elsewhere(checks, texts)
    if not right and len(bugs) == len(checks) == 1:
        values = {text[slice(*place)].strip() for text in texts for place in other_ways(text, main)}
        right = [output_check((value,), role=Role.EXPECTED) for value in values if len(values) == 1]
    if not right and len(bugs) == len(checks) == 1 and (value := value_of_good_release(texts, main)):
        right = [output_check((value,), role=Role.EXPECTED)] if (value,) != bugs[0].lines else []
    right = [check for check in right if not is_name_of(main, check)]
    claimed = [check for check in checks if check.role is not Role.DETAIL]
    if not right and len(claimed) == 1 and claimed[0].kind in PRINTED_KINDS:
        right = worded_values(claimed[0], texts)
    return right


def other_ways(text: str, main: str) -> list[tuple[int, int]]:
    """The places of values that other code gives by the words of a text, where these are the right ones."""
    return [
        match.span("value" if match["value"] is not None else "given")
        for match in _OTHER_WAY.finditer(text)
        if without_blanks(match["code"] or match["other"]) not in without_blanks(main)
    ]


def with_other_ways_as_right(outputs: Sequence[Part], main: str) -> list[Part]:
    """The outputs, of which those that other code gives below words such as `but` are marked as right."""
    return [replace(part, elsewhere=True) if _is_of_other_way(part, main) else part for part in outputs]


def _is_of_other_way(part: Part, main: str) -> bool:
    match = _OTHER_WAY_ABOVE.search(part.introduction.strip()[-_MOST_ABOVE:])
    return match is not None and without_blanks(match["other"]) not in without_blanks(main)


def without_names(checks: Sequence[Check], main: str) -> list[Check]:
    """The checks without those that are only names of the script; none if the bug is one."""
    rest = [check for check in checks if not is_name_of(main, check)]
    has_bug, had_bug = (any(check.role is Role.BUG for check in each) for each in (rest, checks))
    return rest if has_bug or not had_bug else []


def is_name_of(main: str, check: Check) -> bool:
    """Whether the expected output is only a name of the script, such as `result` in a sentence.

    `int8` in a script with `np.int8` is an attribute, and may be what it prints. A claimed output is a name
    only if the script calls it. `total_steps-2` calculates with one.
    """
    if check.role is Role.DETAIL or check.kind is not CheckKind.OUTPUT or len(check.lines) != 1:
        return False
    word = check.lines[0]
    if _CALCULATION.fullmatch(word):
        return True
    if check.role is Role.BUG and not _is_called(main, check):
        return False
    if (
        check.role is Role.EXPECTED
        and "(" in word
        and without_blanks(word) in without_blanks(_COMMENT.sub("", main))
    ):
        # A call of the script, as in ``f(3)` should be 4`.
        return True
    if check.role is Role.EXPECTED and _CALL.fullmatch(word):
        # A call of something else, as in `it should be empty, as for `g([])``.
        return True
    return (
        word.isidentifier()
        and word not in _CONSTANTS
        and f'"{word}"' not in main
        and f"'{word}'" not in main
        and re.search(rf"(?<![\w.'\"]){word}(?![\w'\"])", main) is not None
    )


@remembers()
def without_blanks(text: str) -> str:
    """A text without any space, such as a script that is searched for a piece of code."""
    return "".join(text.split())


def _is_called(main: str, check: Check) -> bool:
    name = check.lines[0] if len(check.lines) == 1 else ""
    return name.isidentifier() and re.search(rf"(?<![\w'\"]){name}\(", main) is not None


def values_right_elsewhere(prose: Sequence[str], titled: Sequence[str], main: str) -> frozenset[str]:
    """The values that the report says another version gives, another tool, or the code uncompiled."""
    checks = [*values_of_versions(prose), *values_of_releases(prose, main)]
    of_versions = [check for check in checks if check.role is Role.EXPECTED]
    return (
        values_before_change(prose)
        | values_of_other_tools(titled, main)
        | values_of_eager(titled)
        | {value for check in of_versions for value in values_of(check)}
    )


def values_called_both(checks: Sequence[Check]) -> frozenset[str]:
    """The values that the checks call a bug and right: the words of the report were not understood."""
    bugs = [check for check in checks if check.role is Role.BUG]
    expected = [check for check in checks if check.role is Role.EXPECTED]
    right = {value for check in expected for value in values_of(check)}
    wrong = {value for check in bugs for value in values_of(check)}
    # The 0 of `[0]` is the same value.
    elements = {value[1:-1] for value in right if _LIST_OF_ONE.fullmatch(value)}
    return frozenset((right | elements) & wrong) - _wrong_in_place(bugs, expected)


def _wrong_in_place(bugs: Sequence[Check], expected: Sequence[Check]) -> set[str]:
    """The claimed lines in whose place others are right: the last of `2` and `2`, if it should be 3."""
    if len(bugs) != 1 or len(expected) != 1 or len(bugs[0].lines) != len(expected[0].lines):
        return set()
    places = [pair for pair in zip(bugs[0].lines, expected[0].lines, strict=True) if pair[0] != pair[1]]
    wrong, right = ({strip_quotes(pair[side]) for pair in places} for side in (0, 1))
    return wrong - right


def is_called_right(checks: Sequence[Check], right: frozenset[str]) -> bool:
    """Whether all values that the checks call a bug are called right elsewhere."""
    bugs = [check for check in checks if check.role is Role.BUG]
    return bool(bugs) and all(
        check.kind in PRINTED_KINDS and values_of(check) and values_of(check) <= right for check in bugs
    )


def values_of(check: Check) -> frozenset[str]:
    """The lines and the number of a check, without quotes."""
    return frozenset(strip_quotes(value) for value in (*check.lines, check.number or "") if value)
