"""The body of a corrected claim."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from app.api.bodies import CLAIM, CLAIM_EXAMPLE, MOST_FIELDS, Body, ClaimText, Words
from app.errors import InputError


class CorrectionBody(Body):
    """The claim that takes the place of the present one, or what the exhibits of the report show instead."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"claim": CLAIM_EXAMPLE, "reason": "The second value is the wrong one."},
                {"stances": {"e2": "expected"}},
            ]
        },
    )

    claim: Annotated[ClaimText, Field(min_length=1)] | None = Field(default=None, description=CLAIM)
    stances: Annotated[dict[Words, Words], Field(min_length=1, max_length=MOST_FIELDS)] | None = Field(
        default=None,
        description=(
            "in place of `claim`: the right stances of exhibits, by their ids in `report.exhibits`: `actual`,"
            " `expected`, `elsewhere` or `unclear`. The claim follows from them"
        ),
    )
    reason: Words = Field(
        default="",
        max_length=2_000,
        description="the reason; it is stored and shown. Only a correction by `stances` may leave it out",
    )

    def correction(self) -> str | dict[str, str]:
        """The claim or the stances. Raises InputError unless exactly one is given."""
        if (self.claim is None) == (self.stances is None):
            raise InputError("Send exactly one of claim and stances.", code="claim_or_stances", field="claim")
        return self.stances or self.claim or ""
