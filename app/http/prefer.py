"""The header `Prefer` (RFC 7240), of which we know `wait=SECONDS`."""

from __future__ import annotations

import re
from collections.abc import Sequence

HEADER = "Prefer"
APPLIED = "Preference-Applied"
_WAIT = re.compile(r'\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(?:;.*)?', re.IGNORECASE | re.DOTALL)


def preferred_wait(values: Sequence[str], *, most: float) -> float | None:
    """The seconds that the caller would wait, at most `most`. None without a preference, or for a bad one.

    The standard says that a preference that can't be read is ignored, and that the first of two equal ones
    counts.
    """
    for part in ",".join(values).split(","):
        match = _WAIT.fullmatch(part)
        if match is not None:
            return min(float(match[1]), most)
    return None
