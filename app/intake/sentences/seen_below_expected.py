"""Reads what happens below a heading for what is expected: ``True` for the first, `False` is printed`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import statements
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.words.vocabulary import FLAGS

_KINDS = {CheckKind.OUTPUT, CheckKind.VALUE}
_WHO_SEES = (
    r"(?:(?:i|we|you) (?:\w{1,12} )?(?:get|got|see|saw)"
    r"|(?:it|this|that|(?:the|my) \w{1,20}|pandas|numpy|torch) (?:\w{1,12} )?"
    r"(?:prints?|printed|gives?|gave|returns?|returned|shows?|showed|says?)"
    r"|prints?|returns?|actual\w*)"
)
# Right before the value that is seen: `True, but `, `True; we see `, `True (prints `, `True instead of `.
_SEEN_BEFORE = re.compile(
    rf"(?:[,;.(–—-]|\b(?:but|while|whereas|yet|however)\b)[^,;.()]{{0,30}}?\b{_WHO_SEES}:? [\"'`]?$"
    r"|\b(?:instead of|rather than|but not|, but) [\"'`]?$",
    FLAGS,
)
# Behind it: `True, False is printed`.
_SEEN_BEHIND = re.compile(
    r"[\"'`]? (?:(?:is|was|gets) (?:\w{1,12} )?"
    r"(?:printed|returned|shown|displayed|given|what (?:i|we) (?:get|see|have))"
    r"|comes? (?:out|back)|came (?:out|back))\b",
    FLAGS,
)
_BREAK = re.compile(r"[,;.]|\b(?:but|while|whereas|yet|however)\b", FLAGS)
# Such words list several right values, or set a condition.
_LISTS = re.compile(
    r"\b(?:then|second|third|next|otherwise|else|if|when|whenever|unless|only|either|or|both|respectively|with"
    r"|each|followed|also|likewise|as well|too|because|since|as|and)\b"
    r"|\b(?:by|in|on|under|before) (?:[\w-]{1,20} ){0,2}v?\d",
    FLAGS,
)
_MOST_LINES = 20
_MOST_LINE = 300


def seen_below_expected(lines: Sequence[str]) -> list[Check]:
    """The seen value as the bug and the expected one, from the first line that names both in this order.

    `lines` stand below such a heading, where a value alone is right.
    """
    for words in lines[:_MOST_LINES]:
        line = f"Expected: {words.strip()}"
        checks = statements([line], _KINDS) if words.strip() and len(line) <= _MOST_LINE else []
        values = {check.role: check.number or "".join(check.lines) for check in checks}
        if len(checks) == len(values) == 2 and _contrasts(
            line, values.get(Role.EXPECTED, ""), values.get(Role.BUG, "")
        ):
            return checks
    return []


def _contrasts(line: str, right: str, wrong: str) -> bool:
    """Whether a line says that the second value is what comes in place of the first one."""
    places = [re.search(rf"(?<![\w.]){re.escape(value)}(?!\w)", line) for value in (right, wrong)]
    if not right or not wrong or right == wrong or places[0] is None or places[1] is None:
        return False
    before, between, behind = (
        line[: places[0].start()],
        line[places[0].end() : places[1].start()],
        line[places[1].end() :],
    )
    if places[0].end() > places[1].start() or any(map(_LISTS.search, (before, between, behind))):
        return False
    is_behind = _SEEN_BEHIND.match(behind) is not None and not _SEEN_BEHIND.match(between)
    return _SEEN_BEFORE.search(between) is not None or (is_behind and _BREAK.search(between) is not None)
