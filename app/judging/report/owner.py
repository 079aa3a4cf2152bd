"""To whom the behaviour of a report belongs, and whether somebody has to mend it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Owner(StrEnum):
    """To whom the behaviour belongs."""

    DEFECT = "defect"  # a test shows a defect
    ANNOUNCED = "announced"  # an older version warned that it will change
    ROUNDING = "rounding"  # the difference is rounding, or what reduced precision allows
    SCRIPT = "script"  # the script itself brings it along, such as random numbers without a seed
    DOCUMENTED = "documented"  # torch documents that repeats may differ
    OPEN = "open"  # nothing here decides it
    NOBODY = "nobody"  # nothing was seen


# A test explains it, and it is no defect.
NO_DEFECT: Final = frozenset({Owner.ROUNDING, Owner.SCRIPT, Owner.DOCUMENTED})
# Nobody has to mend the library. A person still has to tell the reporter.
NOTHING_TO_MEND: Final = NO_DEFECT | {Owner.ANNOUNCED}
