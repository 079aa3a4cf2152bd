"""A bug report as submitted, with what was read from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ForeignKey, Index, func
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.judging.report.owner import Owner
from app.states import Disposition
from app.storage.models.base import Base, Id, choice

Form = Literal["script", "report"]


class ReportRow(Base):
    __tablename__ = "report"
    __table_args__ = (
        Index(None, "source_url"),
        Index(None, "main_script"),
        Index(None, "attention", "verified_at", "id"),
        Index(None, "verified_at", "id"),
        Index(None, "considered_at"),
        Index(None, "withdraw_digest", unique=True),
        Index("ix_report_labels", "labels", postgresql_using="gin", postgresql_with={"fastupdate": "off"}),
        Index("ix_report_scripts", sql("(reading -> 'scripts')"), postgresql_using="gin"),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    title: Mapped[str]
    source_url: Mapped[str | None]
    form: Mapped[Form] = mapped_column(choice("form", Form))
    text: Mapped[str]
    claim_text: Mapped[str | None]
    # The Reading without the texts of its scripts, which have rows of their own.
    reading: Mapped[dict[str, Any]]
    # Finds duplicate reports. NULL without a script and on rows older than this column.
    main_script: Mapped[str | None] = mapped_column(ForeignKey("script.digest"))
    # The current verdict, its group and when it was last verified, for lists
    # (`app.runs.lifecycle.report_verdict`).
    verdict: Mapped[Verdict | None] = mapped_column(choice("verdict", Verdict))
    attention: Mapped[Attention | None] = mapped_column(choice("attention", Attention))
    # To whom the behaviour belongs by the report's page, so that lists agree with it. NULL without a run.
    owner: Mapped[Owner | None] = mapped_column(choice("owner", Owner))
    verified_at: Mapped[datetime | None]
    # When it was last considered for a rerun. Older rows have the time of the migration.
    considered_at: Mapped[datetime] = mapped_column(server_default=func.now())
    labels: Mapped[list[str]] = mapped_column(default=list, server_default=sql("'{}'::text[]"))
    closed_at: Mapped[datetime | None]
    duplicate_of: Mapped[Id | None] = mapped_column(ForeignKey("report.id"))
    # Why it is closed. NULL if it is open, or closed with a reason alone.
    disposition: Mapped[Disposition | None] = mapped_column(choice("disposition", Disposition))
    # When a maintainer confirmed that it is a bug. It stays open then.
    confirmed_at: Mapped[datetime | None]
    # The claims before each correction, oldest first, with author and reason; and the last correction.
    earlier_claims: Mapped[list[dict[str, Any]]] = mapped_column(
        JSONB, default=list, server_default=sql("'[]'::jsonb")
    )
    corrected_at: Mapped[datetime | None]
    # The verdict of a maintainer. The measured verdict stays in `verdict`.
    overruled: Mapped[Verdict | None] = mapped_column(choice("overruled", Verdict))
    # Whether the service submitted it to test itself. Then no list, search or group shows it.
    is_canary: Mapped[bool] = mapped_column(default=False, server_default=sql("false"))
    # Set when it was withdrawn. Text, claim, title and reading are then erased, except for the digests of
    # scripts.
    withdrawn_at: Mapped[datetime | None]
    # The digest of the secret in the submitter's link.
    withdraw_digest: Mapped[str | None]
    created_at: Mapped[datetime]
