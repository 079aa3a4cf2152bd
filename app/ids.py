"""Ids that sort by time: a UUIDv7 in 26 characters of lower-case base32 (Crockford's alphabet)."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

import uuid_utils

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PATTERN = re.compile(rf"[0-7][{ALPHABET}]{{25}}")


def new_id(at: datetime | None = None) -> str:
    """A new id for the present moment, or for a moment in the past. Later ids sort after earlier ones."""
    number = uuid_utils.uuid7().int if at is None else _uuid7(at)
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))


def is_id(text: str) -> bool:
    """Whether the text has the form of an id."""
    return PATTERN.fullmatch(text) is not None


def id_at(moment: datetime) -> str:
    """The smallest possible id of a moment. A query for "since" or "before" compares ids with it."""
    number = max(0, int(moment.timestamp() * 1000)) << 80
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))


def moment_of(identifier: str) -> datetime:
    """The moment at which an id was made, to the millisecond."""
    number = sum(
        ALPHABET.index(letter) << shift for letter, shift in zip(identifier, range(125, -5, -5), strict=True)
    )
    return datetime.fromtimestamp((number >> 80) / 1000, tz=UTC)


def _uuid7(at: datetime) -> int:
    """A UUIDv7 of a moment. Its microseconds come before the random bits."""
    milliseconds, microseconds = int(at.timestamp()) * 1000 + at.microsecond // 1000, at.microsecond % 1000
    return milliseconds << 80 | 7 << 76 | microseconds << 64 | 2 << 62 | secrets.randbits(62)
