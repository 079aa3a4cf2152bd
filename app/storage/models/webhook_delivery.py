"""One event on its way to one webhook, with every try to deliver it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id, choice

DeliveryState = Literal["waiting", "delivered", "given_up"]


class WebhookDeliveryRow(Base):
    __tablename__ = "webhook_delivery"
    __table_args__ = (
        Index(None, "webhook_id", "id"),
        Index(
            "ix_webhook_delivery_waiting",
            "webhook_id",
            "next_at",
            postgresql_where=text("state = 'waiting'"),
        ),
        Index("ix_webhook_delivery_ended", "ended_at", postgresql_where=text("state <> 'waiting'")),
        UniqueConstraint("webhook_id", "subject"),
    )

    # Sent as `webhook-id`: it is the same in every try.
    id: Mapped[Id] = mapped_column(primary_key=True)
    webhook_id: Mapped[Id] = mapped_column(ForeignKey("webhook.id"))
    kind: Mapped[str]
    # An event with a subject is sent to a webhook once, such as "this toolchain fixes this report".
    subject: Mapped[str | None]
    # The JSON that is sent and signed, byte by byte.
    body: Mapped[str]
    state: Mapped[DeliveryState] = mapped_column(choice("state", DeliveryState))
    next_at: Mapped[datetime]
    # Each try: `at`, `status`, `problem`, `seconds`. Nothing of an answer but its status.
    tries: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list)
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
