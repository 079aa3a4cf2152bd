"""The base of all messages between a node and the service."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """Immutable, and tolerant of fields that a newer side added."""

    model_config = ConfigDict(frozen=True, extra="ignore")
