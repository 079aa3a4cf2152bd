"""Claims that something happens sometimes, or by chance. A "never" needs many attempts then."""

from __future__ import annotations

import re

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.reading import Script

# With so many attempts without a failure, its rate is below 5 %, with a certainty of 95 %.
LEAST_FOR_SOMETIMES = 59
_SOMETIMES = re.compile(
    r"\b(?:sometimes|occasionally|intermittent(?:ly)?|flaky|random(?:ly)?|rarely|now and then|once in a while"
    r"|manchmal|gelegentlich|parfois|a veces|иногда|(?:\d+|one|two|three|four"
    r"|five)\s+(?:times\s+)?(?:in|out of)\s+"
    r"(?:\d+|ten|five|every)|(?:\d+|one|two|three|four|five)\s+of\s+(?:\d+|ten|five|twenty)\s+(?:runs|times|tries"
    r"|attempts|draws)|\d+\s*%\s+of\s+(?:the\s+)?(?:time|runs))\b|有时|偶尔|たまに|時々",
    re.IGNORECASE,
)
_MOST_TITLE = 20_000
_RACE = re.compile(
    r"\b(?:data races?|race conditions?|racy|deadlocks?|thread[- ]?safe(?:ty)?)\b", re.IGNORECASE
)
_CONCURRENT = re.compile(
    r"\b(?:threading|multiprocessing|concurrent\.futures|ThreadPool\w*|ProcessPool\w*|joblib|os\.fork|mp\.spawn"
    r"|num_workers)\b"
)
_NOT_FINITE = re.compile(r"(?<![\w.])[-+]?(?:nan|inf)(?!\w)", re.IGNORECASE)
_BY_LUCK = {CheckKind.CRASH, CheckKind.HANG}


def is_about_frequency(claim: Claim) -> bool:
    """Whether the report says that it happens sometimes, or shows runs with different outputs.

    A claim that every run differs is none: a few runs show it.
    """
    return (
        any(check.over_repeats and check.lines for check in claim.having(Role.BUG))
        or _SOMETIMES.search(claim.text[:_MOST_TITLE]) is not None
    )


def is_by_chance(claim: Claim, script: Script) -> bool:
    """Whether chance decides in each attempt: threads or processes that race, or draws without a seed."""
    bugs = claim.having(Role.BUG)
    by_luck = any(check.kind in _BY_LUCK for check in bugs) or (
        bool(bugs) and _RACE.search(claim.text[:_MOST_TITLE]) is not None
    )
    if by_luck and (script.unseeded or _CONCURRENT.search(script.script) is not None):
        return True
    return script.unseeded and any(_is_not_finite(check) for check in bugs)


def needs_many(claim: Claim, script: Script) -> bool:
    """Whether a "never" needs `LEAST_FOR_SOMETIMES` attempts."""
    return is_about_frequency(claim) or is_by_chance(claim, script)


def _is_not_finite(check: Check) -> bool:
    """Whether the claimed value is one that only some draws reach, such as nan."""
    return not check.over_repeats and any(
        _NOT_FINITE.search(line) for line in (*check.lines, check.number or "")
    )
