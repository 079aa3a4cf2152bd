"""Limits on the JSON of a request, checked on its bytes: a small body can hold what takes long to parse."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from app.errors import InputError, MediaTypeError

# A text, a bracket, a comma, or the digits of a number. Linear: no part gives back what it took.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]|,|[0-9]++', re.DOTALL)

# The byte order marks of UTF-8 and UTF-16. That of UTF-32 begins as one of UTF-16, or has a NUL.
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """The most values of a document, levels of nesting, and digits of a number in one piece."""

    values: int
    depth: int
    digits: int


def check_json(body: bytes, limits: JsonLimits) -> None:
    """Refuse a document that is over a limit, before it is parsed. Raises InputError, MediaTypeError.

    The check ends at the first excess. It does not check that the document is JSON.
    """
    # The parser would guess the encoding, and could see other texts and brackets than the check below.
    if b"\0" in body or body.startswith(_MARKS) or not _is_utf8(body):
        raise MediaTypeError("Send the JSON in UTF-8, without a byte order mark.", code="json_encoding")
    values, depth = 1, 0
    for match in _TOKEN.finditer(body):
        sign = body[match.start()]
        if sign == 0x22:
            continue
        if sign == 0x2C:
            values += 1
        elif sign in b"[{":
            depth += 1
            values += 1
        elif sign in b"]}":
            depth -= 1
        elif match.end() - match.start() > limits.digits:
            raise InputError(
                f"A number in this JSON has more than {limits.digits} digits. Send it as a text.",
                code="json_number_too_long",
            )
        if values > limits.values:
            raise InputError(
                f"This JSON has more than {limits.values} fields and items. Send fewer.",
                code="json_too_many_values",
            )
        if depth > limits.depth:
            raise InputError(
                f"This JSON is nested more than {limits.depth} levels deep. Send it flatter.",
                code="json_too_deep",
            )


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
