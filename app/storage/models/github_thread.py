"""An issue or a pull request of GitHub with its run, and what we have posted there."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.judging.judgement import Verdict
from app.storage.models.base import Base, Id, choice

# following: a run is open, or its end is not posted yet. settled: all is posted, until a verdict flips.
# stopped: nothing is posted any more.
ThreadState = Literal["following", "settled", "stopped"]
# Why there is no run.
ThreadRefusal = Literal["preset", "report", "no_head_build", "no_base_build"]


class GithubThreadRow(Base):
    __tablename__ = "github_thread"
    __table_args__ = (
        UniqueConstraint("repository", "number"),
        Index(None, "report_id"),
        Index("ix_github_thread_following", "next_at", postgresql_where=text("state = 'following'")),
    )

    id: Mapped[Id] = mapped_column(primary_key=True)
    repository: Mapped[str]
    number: Mapped[int]
    is_pull: Mapped[bool]
    installation_id: Mapped[int] = mapped_column(BigInteger)
    report_id: Mapped[Id | None] = mapped_column(ForeignKey("report.id"))
    run_id: Mapped[Id | None] = mapped_column(ForeignKey("run.id"))
    refusal: Mapped[ThreadRefusal | None] = mapped_column(choice("refusal", ThreadRefusal))
    # The commit that a check of a pull request is about. NULL: it gets a comment.
    head_sha: Mapped[str | None]
    # The comment, or the check run of a pull request.
    posted_id: Mapped[int | None] = mapped_column(BigInteger)
    # The digest of the posted text, so that nothing is posted twice.
    posted_digest: Mapped[str | None]
    # The verdict of the newest comment. A flip against it is news.
    posted_verdict: Mapped[Verdict | None] = mapped_column(choice("posted_verdict", Verdict))
    state: Mapped[ThreadState] = mapped_column(choice("state", ThreadState))
    tries: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime]
    created_at: Mapped[datetime]
