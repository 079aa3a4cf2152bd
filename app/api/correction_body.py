"""The body of a corrected claim."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.api.bodies import CLAIM, CLAIM_EXAMPLE, MOST_FIELDS, Body, ClaimText, Words
from app.errors import InputError


class CorrectionBody(Body):
    """The claim that takes the place of the present one, or what the exhibits of the report show instead."""

    claim: Annotated[ClaimText, Field(min_length=1)] | None = Field(
        default=None, description=CLAIM, examples=[CLAIM_EXAMPLE]
    )
    stances: Annotated[dict[Words, Words], Field(min_length=1, max_length=MOST_FIELDS)] | None = Field(
        default=None,
        description=(
            "in place of `claim`: the right stances of exhibits, by their ids in `report.exhibits`: `actual`,"
            " `expected`, `elsewhere` or `unclear`. The claim follows from them"
        ),
        examples=[{"e2": "expected"}],
    )
    reason: Words = Field(
        default="",
        max_length=2_000,
        description="the reason; it is stored and shown. Only a correction by `stances` may leave it out",
        examples=["The second value is the wrong one."],
    )

    def correction(self) -> str | dict[str, str]:
        """The claim or the stances. Raises InputError unless exactly one is given."""
        if (self.claim is None) == (self.stances is None):
            raise InputError("Send exactly one of claim and stances.", code="claim_or_stances", field="claim")
        return self.stances or self.claim or ""
