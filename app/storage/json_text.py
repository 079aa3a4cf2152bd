"""JSON that Postgres accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from worker.contract.text import REPLACEMENT

# Postgres text can hold no NUL, but a script may print one.
ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def to_json(value: Any, *, default: Callable[[Any], Any] | None = None) -> str:
    """JSON without NUL. `default` turns what JSON has no form for into what it has.

    Raises ValueError for NaN and infinities.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default)
    return ESCAPED_NUL.sub(rf"\g<1>{REPLACEMENT}", text) if "\\u0000" in text else text
