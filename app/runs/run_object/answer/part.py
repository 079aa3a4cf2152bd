"""The part of a run object that holds the verdict in four sentences."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class Owner(StrEnum):
    """To whom the behaviour belongs."""

    DEFECT = "defect"  # a test shows a defect
    ANNOUNCED = "announced"  # an older version warned that it will change
    ROUNDING = "rounding"  # the difference is rounding, or what reduced precision allows
    SCRIPT = "script"  # the script itself brings it along, such as random numbers without a seed
    DOCUMENTED = "documented"  # torch documents that repeats may differ
    OPEN = "open"  # nothing here decides it
    NOBODY = "nobody"  # nothing was seen


class AnswerPart(BaseModel):
    """The verdict in four sentences, in this order.

    They have our own words, names of hardware, versions and counts, and no text of a report or a script.
    """

    model_config = ConfigDict(frozen=True)

    what: str = Field(default="", description="such as `Regressed in numpy 2.4.0, fine in 2.3.5.`")
    where: str = Field(default="", description="cards and CPUs by name, with versions of packages")
    how_sure: str = Field(default="", description="counts of attempts on both sides, with 95 % intervals")
    whose: str = Field(default="", description="`owner` in a sentence")
    owner: Owner = Owner.NOBODY
    baseline: str | None = Field(
        default=None, description="an attempt on the older side of a regression or a fix, to compare"
    )
    candidate: str | None = Field(default=None, description="an attempt on the newer side of it")
