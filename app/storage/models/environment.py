"""The environment of attempts, stored once by a digest that the recorder computes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base


class EnvironmentRow(Base):
    __tablename__ = "environment"

    digest: Mapped[str] = mapped_column(primary_key=True)
    facts: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
