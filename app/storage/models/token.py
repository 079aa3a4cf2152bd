"""An access token, stored by the digest of its secret."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id


class TokenRow(Base):
    __tablename__ = "token"

    id: Mapped[Id] = mapped_column(primary_key=True)
    name: Mapped[str]
    digest: Mapped[str] = mapped_column(unique=True)
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
