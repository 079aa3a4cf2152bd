"""The small marks in the rows of lists, as HTML: the badge of a word, a date, a time."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from functools import lru_cache

from markupsafe import Markup

from app.intake.claim.claims import Role
from app.judging.judgement import CheckResult, Verdict
from app.judging.report.attention import Attention
from app.web.text.labels import EXPECTED_CHECKS, NOT_EXPECTED, look

_BADGE = Markup('<span class="cell {tone}"{title}><span aria-hidden="true">{sign}</span> {name}</span>')
_TITLE = Markup(' title="{}"')


def badge(word: StrEnum | str | None, plain: object = False, tone: str = "") -> Markup:  # noqa: FBT002 - short in templates
    """The sign and the name of a word. Unless `plain`, its sentence is the title.

    `tone` is the CSS class, if not that of the word.
    """
    # Words of two kinds may be equal as texts.
    return _badge(type(word).__name__, word, bool(plain), tone)


# The rows of a list have few different badges.
@lru_cache(maxsize=1024)
def _badge(_kind: str, word: StrEnum | str | None, plain: bool, tone: str) -> Markup:  # noqa: FBT001
    seen = look(word)
    title = "" if plain else _TITLE.format(seen.sentence)
    return _BADGE.format(tone=tone or seen.tone, title=title, sign=seen.sign, name=seen.name)


def check_badge(result: CheckResult, role: str, *, bug_seen: bool = False) -> Markup:
    """The badge of a check. An expected result that is seen is good news.

    Where the bug was seen (`bug_seen`), the expected result can't be: that is no news of its own.
    """
    mark = EXPECTED_CHECKS.get(result) if role == Role.EXPECTED else None
    if role == Role.EXPECTED and bug_seen and result in {CheckResult.ABSENT, CheckResult.OTHER}:
        mark = NOT_EXPECTED
    if not mark:
        return badge(result)
    return _BADGE.format(tone=mark.tone, title=_TITLE.format(mark.sentence), sign=mark.sign, name=mark.name)


def listed_tone(attention: Attention | None, verdict: Verdict | None, *, is_closed: bool) -> str:
    """The tone of a verdict in a list; empty for that of the verdict.

    It is red only if somebody has to mend something: not if the report is closed, or is no bug.
    """
    if is_closed:
        return "cant"
    is_no_bug = attention in {Attention.NEEDS_HUMAN, Attention.EXPLAINED} and look(verdict).tone == "seen"
    return "part" if is_no_bug else ""


def day(when: datetime | None) -> Markup:
    """A date. Empty without one."""
    return _time(when, "%-d %b %Y")


def moment(when: datetime | None) -> Markup:
    """A date with its time. Empty without one."""
    return _time(when, "%-d %b %Y, %H:%M UTC")


def _time(when: datetime | None, form: str) -> Markup:
    # Digits and names of months need no escape.
    return Markup(f'<time datetime="{when.isoformat()}">{when.strftime(form)}</time>') if when else Markup()  # noqa: S704
