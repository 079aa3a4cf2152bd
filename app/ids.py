"""Ids that sort by time: a UUIDv7 in 26 characters of lower-case base32 (Crockford's alphabet)."""

from __future__ import annotations

import re
from datetime import datetime

import uuid_utils

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PATTERN = re.compile(rf"[0-7][{ALPHABET}]{{25}}")


def new_id() -> str:
    """A new id; later ids sort after earlier ones."""
    number = uuid_utils.uuid7().int
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))


def is_id(text: str) -> bool:
    """Whether the text has the form of an id."""
    return PATTERN.fullmatch(text) is not None


def id_at(moment: datetime) -> str:
    """The smallest id that can have been made at a moment: for "since then" and "before then"."""
    number = max(0, int(moment.timestamp() * 1000)) << 80
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))
