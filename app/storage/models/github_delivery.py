"""One event from GitHub that asks for something: who asked, where, and what became of it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from sqlalchemy import BigInteger, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, choice

DeliveryKind = Literal["label", "comment"]
GithubDeliveryState = Literal["waiting", "done"]
# Why an event ended. Only the first one leads to a comment or a check.
GithubOutcome = Literal[
    "started", "not_allowed", "banned", "unlabelled", "not_listed", "too_old", "closed", "refused", "given_up"
]


class GithubDeliveryRow(Base):
    __tablename__ = "github_delivery"
    __table_args__ = (
        # GitHub signs the body alone: the same body under another delivery id is a replay.
        UniqueConstraint("digest"),
        Index("ix_github_delivery_waiting", "next_at", postgresql_where=text("state = 'waiting'")),
        Index("ix_github_delivery_ended", "ended_at", postgresql_where=text("state <> 'waiting'")),
    )

    # `X-GitHub-Delivery`, the same in every redelivery.
    id: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str]
    kind: Mapped[DeliveryKind] = mapped_column(choice("kind", DeliveryKind))
    installation_id: Mapped[int] = mapped_column(BigInteger)
    repository: Mapped[str]
    number: Mapped[int]
    is_pull: Mapped[bool]
    sender: Mapped[str]
    # NULL for the first preset of the repository.
    preset: Mapped[str | None]
    state: Mapped[GithubDeliveryState] = mapped_column(choice("state", GithubDeliveryState))
    outcome: Mapped[GithubOutcome | None] = mapped_column(choice("outcome", GithubOutcome))
    tries: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime]
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
