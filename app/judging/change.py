"""The words of what changed between two cells of a report."""

from __future__ import annotations

from enum import StrEnum


class ChangeKind(StrEnum):
    """What a flip is. `confounded`: more than the one axis differs, so that it can't be said which."""

    REGRESSED = "regressed"
    FIXED = "fixed"
    OTHER = "other"
    CONFOUNDED = "confounded"
