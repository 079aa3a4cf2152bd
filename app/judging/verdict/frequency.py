"""Claims that something happens sometimes, or by chance. A "never" needs many attempts then."""

from __future__ import annotations

import re

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.code.own_loops import repeats_by_itself
from app.intake.reading import Script
from app.intake.words.frequency_words import says_sometimes

# With so many attempts without a failure, its rate is below 5 %, with a certainty of 95 %.
LEAST_FOR_SOMETIMES = 59
_MOST_TITLE = 20_000
_RACE = re.compile(
    r"\b(?:data races?|race conditions?|racy|deadlocks?|thread[- ]?safe(?:ty)?)\b", re.IGNORECASE
)
_CONCURRENT = re.compile(
    r"\b(?:threading|multiprocessing|concurrent\.futures|ThreadPool\w*|ProcessPool\w*|joblib|os\.fork|mp\.spawn"
    r"|num_workers)\b"
)
_NOT_FINITE = re.compile(r"(?<![\w.])[-+]?(?:nan|inf)(?!\w)", re.IGNORECASE)
_NOT_DETERMINISTIC = re.compile(r"(?:\bnot |\bnon-?|n['’]t )deterministic(?:ally)?\b", re.IGNORECASE)
_ASSERTION = "AssertionError"
_BY_LUCK = {CheckKind.CRASH, CheckKind.HANG}


def is_about_frequency(claim: Claim) -> bool:
    """Whether the report says that it happens sometimes, or shows runs with different outputs.

    A claim that every run differs is none: a few runs show it.
    """
    bugs = claim.having(Role.BUG)
    text = claim.text[:_MOST_TITLE]
    if any(check.over_repeats for check in bugs):
        # `It is not deterministic` only says again that the runs differ.
        text = _NOT_DETERMINISTIC.sub(" ", text)
    return any(check.over_repeats and check.lines for check in bugs) or says_sometimes(text)


def is_by_chance(claim: Claim, script: Script) -> bool:
    """Whether chance decides in each attempt: threads or processes that race, or draws without a seed.

    An assertion may hold for some draws and fail for others.
    """
    bugs = claim.having(Role.BUG)
    by_luck = any(check.kind in _BY_LUCK for check in bugs) or (
        bool(bugs) and _RACE.search(claim.text[:_MOST_TITLE]) is not None
    )
    if by_luck and (script.unseeded or _CONCURRENT.search(script.script) is not None):
        return True
    return script.unseeded and any(
        _is_not_finite(check) or (check.exception_type == _ASSERTION and check.kind is CheckKind.EXCEPTION)
        for check in bugs
    )


def has_own_repeats(claim: Claim, script: Script) -> bool:
    """Whether each attempt is many: the script itself repeats the statement of every claimed failure."""
    bugs = claim.having(Role.BUG)
    return bool(bugs) and all(
        check.kind is CheckKind.EXCEPTION
        and not check.over_repeats
        and check.at is not None
        and repeats_by_itself(script.script, check.at, LEAST_FOR_SOMETIMES, unseeded=script.unseeded)
        for check in bugs
    )


def needs_many(claim: Claim, script: Script) -> bool:
    """Whether a "never" needs `LEAST_FOR_SOMETIMES` attempts."""
    return (is_about_frequency(claim) or is_by_chance(claim, script)) and not has_own_repeats(claim, script)


def _is_not_finite(check: Check) -> bool:
    """Whether the claimed value is one that only some draws reach, such as nan."""
    return not check.over_repeats and any(
        _NOT_FINITE.search(line) for line in (*check.lines, check.number or "")
    )
