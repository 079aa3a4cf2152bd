"""The public half of a key that signs bundles. The private half stays with its holder."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base, Id


class SigningKeyRow(Base):
    __tablename__ = "signing_key"

    id: Mapped[Id] = mapped_column(primary_key=True)
    # The node or the person who holds it. A name may have several keys, such as an old and a new one.
    name: Mapped[str]
    # The SHA-256 of the public key, in hexadecimal: what an envelope names it by.
    key_id: Mapped[str] = mapped_column(unique=True)
    # The 32 bytes of an Ed25519 public key, in base64.
    public_key: Mapped[str]
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
