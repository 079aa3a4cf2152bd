"""A browser that is signed in, stored by the digest of the secret in its cookie."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id


class SignInRow(Base):
    __tablename__ = "sign_in"
    __table_args__ = (Index(None, "token_id"),)

    digest: Mapped[str] = mapped_column(primary_key=True)
    token_id: Mapped[Id] = mapped_column(ForeignKey("token.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
