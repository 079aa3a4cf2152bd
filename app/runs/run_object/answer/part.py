"""The part of a run object that holds the verdict in four sentences."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from app.judging.report.owner import Owner


class KnownAnswer(BaseModel):
    """The answer of an earlier run of the report, if the newest one does not say it. The words are ours."""

    model_config = ConfigDict(frozen=True)

    run: str = Field(description="id of the earlier run")
    what: str = Field(description="what happened there, in a sentence")
    where: str = Field(description="cards and CPUs by name, with versions of packages")
    how_sure: str = Field(description="counts of attempts, and which rates they leave open (95 %)")
    whose: str = Field(description="`owner` in a sentence")
    owner: Owner = Field(description="to whom the behaviour belongs, by that run")
    finished_at: datetime | None = Field(default=None, description="when that run ended")

    @property
    def words(self) -> str:
        """The answer in one paragraph, which says that it is of an earlier run."""
        day = "" if self.finished_at is None else f" ({self.finished_at:%-d %b %Y})"
        return f"An earlier run{day} measured: {self.what} {self.where} {self.how_sure} {self.whose}"


class AnswerPart(BaseModel):
    """The verdict in four sentences, in this order.

    They have our own words, names of hardware, versions and counts, and no text of a report or a script.
    """

    model_config = ConfigDict(frozen=True)

    what: str = Field(default="", description="such as `Regressed in numpy 2.4.0, fine in 2.3.5.`")
    where: str = Field(default="", description="cards and CPUs by name, with versions of packages")
    how_sure: str = Field(
        default="",
        description="counts of attempts on both sides, with a test of the two or the rates that they leave"
        " open (95 %)",
    )
    whose: str = Field(default="", description="`owner` in a sentence")
    owner: Owner = Owner.NOBODY
    baseline: str | None = Field(
        default=None, description="an attempt on the older side of a regression or a fix, to compare"
    )
    candidate: str | None = Field(default=None, description="an attempt on the newer side of it")
    known: KnownAnswer | None = Field(
        default=None,
        description="the best answer of earlier runs, if the newest one saw something else or decides less;"
        " only the answer of a report has it",
    )

    @property
    def standing_owner(self) -> Owner:
        """The owner by the newest run, or by the known answer if the newest run did not see the claim."""
        return self.known.owner if self.owner is Owner.NOBODY and self.known is not None else self.owner
