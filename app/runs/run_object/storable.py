"""Converts values to what rows can hold, and back.

Rows hold no NUL and no NaN; script texts and environments are apart.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from app.intake.reading import Reading
from worker.contract import Environment, Result
from worker.contract.stored_message import read_stored
from worker.contract.text import storable_text


def to_storable(value: Any) -> Any:
    """JSON data that Postgres accepts. NaN and infinities become strings."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {storable_text(str(key)): to_storable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_storable(item) for item in value]
    return value


def json_digest(value: Any) -> str:
    """The SHA-256 digest of JSON data, `sha256:…`. Equal data has equal digests."""
    canonical = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def split_result(result: Result) -> tuple[dict[str, Any], Environment]:
    """A result for its row, and its environment, which has a row of its own."""
    data = to_storable(result.model_dump(mode="json", exclude={"environment"}))
    return data, to_storable(result.environment)


def join_result(data: Mapping[str, Any], environment: Environment | None) -> Result:
    """The reverse of `split_result`."""
    return read_stored(Result, {**data, "environment": environment or {}})


def split_reading(reading: Reading) -> tuple[dict[str, Any], dict[str, str]]:
    """A reading for its row, and the texts of its scripts by digest.

    `as_given` is None in the row where the script was not changed.
    """
    data = to_storable(reading.model_dump(mode="json"))
    texts: dict[str, str] = {}
    for script in data["scripts"]:
        texts[script["digest"]] = script["script"]
        if script["as_given"] == script["script"]:
            script["as_given"] = None
        script["script"] = None
    return data, texts


def digests_in(data: Mapping[str, Any]) -> list[str]:
    """The digests of the scripts of a stored reading."""
    return [script["digest"] for script in data["scripts"]]


def join_reading(data: Mapping[str, Any], texts: Mapping[str, str]) -> Reading:
    """The reverse of `split_reading`. Raises KeyError if the text of a script is missing."""
    scripts = []
    for script in data["scripts"]:
        text = texts[script["digest"]]
        as_given = text if script["as_given"] is None else script["as_given"]
        scripts.append({**script, "script": text, "as_given": as_given})
    return Reading.model_validate({**data, "scripts": scripts})
