"""A machine that executes attempts, as its last hello describes it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base


class NodeRow(Base):
    __tablename__ = "node"

    name: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str]
    draining: Mapped[bool] = mapped_column(default=False)
    hello: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    hello_at: Mapped[datetime]
    # The time of the last message or heartbeat.
    seen_at: Mapped[datetime]
