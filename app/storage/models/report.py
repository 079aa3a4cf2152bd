"""A bug report as submitted, with what was read from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.judging.attention import Attention
from app.judging.judgement import Verdict
from app.storage.models.base import Base, Id, choice

Form = Literal["script", "report"]


class ReportRow(Base):
    __tablename__ = "report"
    __table_args__ = (
        Index(None, "source_url"),
        Index(None, "main_script"),
        Index(None, "attention", "verified_at", "id"),
        Index(None, "verified_at", "id"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    title: Mapped[str]
    source_url: Mapped[str | None]
    form: Mapped[Form] = mapped_column(choice("form", Form))
    text: Mapped[str]
    claim_text: Mapped[str | None]
    # The Reading, without the scripts' text as run: that is kept once, by digest.
    reading: Mapped[dict[str, Any]]
    # By which reports of the same are found; none where there is no script, and on rows from before there was this.
    main_script: Mapped[str | None] = mapped_column(ForeignKey("script.digest"))
    # What stands of its runs, kept for lists (`app.runs.standing`): the verdict, the group it is in, and when that was last seen to hold.
    verdict: Mapped[Verdict | None] = mapped_column(choice("verdict", Verdict))
    attention: Mapped[Attention | None] = mapped_column(choice("attention", Attention))
    verified_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
