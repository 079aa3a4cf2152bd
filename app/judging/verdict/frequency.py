"""Claims that something happens sometimes. A "never" needs many attempts then."""

from __future__ import annotations

import re

from app.intake.claim.claims import Claim, Role

# With so many attempts without a failure, its rate is below 5 %, with a certainty of 95 %.
LEAST_FOR_SOMETIMES = 59
_SOMETIMES = re.compile(
    r"\b(?:sometimes|occasionally|intermittent(?:ly)?|flaky|random(?:ly)?|rarely|now and then|once in a while"
    r"|manchmal|gelegentlich|parfois|a veces|иногда|(?:\d+|one|two|three|four"
    r"|five)\s+(?:times\s+)?(?:in|out of)\s+"
    r"(?:\d+|ten|five|every)|\d+\s*%\s+of\s+(?:the\s+)?(?:time|runs))\b|有时|偶尔|たまに|時々",
    re.IGNORECASE,
)
_MOST_TITLE = 20_000


def is_about_frequency(claim: Claim) -> bool:
    """Whether the report says that it happens sometimes, or shows runs with different outputs.

    A claim that every run differs is none: a few runs show it.
    """
    return (
        any(check.over_repeats and check.lines for check in claim.having(Role.BUG))
        or _SOMETIMES.search(claim.text[:_MOST_TITLE]) is not None
    )
