"""What rows can hold, and back: results and environments apart, readings without the text of scripts, no NUL, no NaN."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from app.intake.reading import Reading
from worker.contract import Environment, Result
from worker.contract.text import storable_text


def storable(value: Any) -> Any:
    """JSON data as Postgres takes it: NaN and infinities become words."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {storable_text(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(item) for item in value]
    return value


def digest_of(value: Any) -> str:
    """A digest of JSON data, the same for equal data."""
    canonical = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def split_result(result: Result) -> tuple[dict[str, Any], Environment]:
    """A result as kept, and its environment apart."""
    kept = storable(result.model_dump(mode="json", exclude={"environment"}))
    return kept, storable(result.environment)


def join_result(kept: Mapping[str, Any], environment: Environment | None) -> Result:
    """The result again."""
    return Result.model_validate({**kept, "environment": environment or {}})


def split_reading(reading: Reading) -> tuple[dict[str, Any], dict[str, str]]:
    """A reading as kept, and its scripts' texts by digest."""
    kept = storable(reading.model_dump(mode="json"))
    texts: dict[str, str] = {}
    for script in kept["scripts"]:
        texts[script["digest"]] = script["script"]
        if script["as_given"] == script["script"]:
            script["as_given"] = None
        script["script"] = None
    return kept, texts


def digests_in(kept: Mapping[str, Any]) -> list[str]:
    """The digests of the scripts of a reading as kept."""
    return [script["digest"] for script in kept["scripts"]]


def join_reading(kept: Mapping[str, Any], texts: Mapping[str, str]) -> Reading:
    """The reading again."""
    scripts = []
    for script in kept["scripts"]:
        text = texts[script["digest"]]
        scripts.append(
            {**script, "script": text, "as_given": text if script["as_given"] is None else script["as_given"]}
        )
    return Reading.model_validate({**kept, "scripts": scripts})
