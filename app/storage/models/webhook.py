"""An address to which a submitter wants news sent, with the keys that sign it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id, choice

# Why nothing more is sent: the receiver answered 410, or took nothing for days.
StopReason = Literal["gone", "silent"]


class WebhookRow(Base):
    __tablename__ = "webhook"
    # NULL is the owner of all webhooks that callers without a token made, so it is not left out.
    __table_args__ = (Index(None, "owner", "id"),)

    id: Mapped[Id] = mapped_column(primary_key=True)
    # The id of the token that made it. NULL without a token, which is possible on loopback only.
    owner: Mapped[Id | None]
    url: Mapped[str]
    events: Mapped[list[str]]
    # Serialised as the specification says, `whsec_…` or `whsk_…`: signing needs the key itself. Sealed, if
    # the operator has a key for that (`app.runs.webhooks.sealing`).
    key: Mapped[str]
    # The key before the last rotation, which signs as well until the moment beside it.
    earlier_key: Mapped[str | None]
    earlier_until: Mapped[datetime | None]
    stopped_at: Mapped[datetime | None]
    stop_reason: Mapped[StopReason | None] = mapped_column(choice("stop_reason", StopReason))
    # Until then one sender has it, so that its news keep their order. In the past: when it was last served.
    busy_until: Mapped[datetime | None]
    created_at: Mapped[datetime]
