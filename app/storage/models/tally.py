"""A part of a counter of `/metrics`. Parts are only added, and summed from time to time."""

from __future__ import annotations

from sqlalchemy import BigInteger, Identity
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.models.base import Base


class TallyRow(Base):
    __tablename__ = "tally"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    name: Mapped[str]
    # The value of the counter's only label; for a time, the upper bound of its bucket.
    label: Mapped[str]
    number: Mapped[int] = mapped_column(BigInteger)
    # The sum of the observed times.
    seconds: Mapped[float]
