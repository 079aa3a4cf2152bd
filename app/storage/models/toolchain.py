"""A toolchain that a node has offered, and since when.

Reports verified before that time are rerun with it.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base


class ToolchainRow(Base):
    __tablename__ = "toolchain"

    name: Mapped[str] = mapped_column(primary_key=True)
    since: Mapped[datetime]
