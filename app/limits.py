"""Size limits that several rooms share."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """The most bytes of a script and of a report that are read, in UTF-8. They hold for every way in."""

    script_bytes: int
    report_bytes: int

    @property
    def most_bytes(self) -> int:
        """The most bytes of a text that may be either."""
        return max(self.script_bytes, self.report_bytes)


# For texts that we stored ourselves.
NO_READ_LIMITS = ReadLimits(script_bytes=sys.maxsize, report_bytes=sys.maxsize)
