"""JSON schemas of the tools, without what only fills a model's context."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

# pydantic repeats the name of each field as its title, and a claim has an example for each of its fields.
_LEFT_OUT = frozenset({"title", "examples", "discriminator"})
# A field that so many parts describe with the same words is described once.
_REPEATED = 3
_WORTH_CHARACTERS = 80


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of arguments."""
    return _shared(_slim(model.model_json_schema()))


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a result."""
    return _shared(_slim(model.model_json_schema(mode="serialization")))


def _slim(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without these keywords. Names of fields are no keywords."""
    slim: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in {"properties", "$defs"}:
            slim[keyword] = {name: _slim(each) for name, each in value.items()}
        elif keyword not in _LEFT_OUT:
            slim[keyword] = _slim_value(value)
    return slim


def _slim_value(value: Any) -> Any:
    if isinstance(value, dict):
        return _slim(value)
    return [_slim_value(each) for each in value] if isinstance(value, list) else value


def _shared(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with fields that several parts repeat word by word as definitions of their own."""
    parts = schema.get("$defs", {})
    counts = Counter(key for _, key in _fields(parts))
    names = {
        key: f"{name}_{number}"
        for number, (key, name) in enumerate({key: name for name, key in _fields(parts)}.items())
        if counts[key] >= _REPEATED and len(key) >= _WORTH_CHARACTERS
    }
    if not names:
        return schema
    slim = {
        part: {
            **fields,
            "properties": {
                name: {"$ref": f"#/$defs/{names[key]}"} if (key := _key(field)) in names else field
                for name, field in fields["properties"].items()
            },
        }
        if "properties" in fields
        else fields
        for part, fields in parts.items()
    }
    return {**schema, "$defs": {**slim, **{name: json.loads(key) for key, name in names.items()}}}


def _fields(parts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The name and the JSON of each field of each part."""
    for part in parts.values():
        for name, field in part.get("properties", {}).items():
            yield name, _key(field)


def _key(field: Any) -> str:
    return json.dumps(field, sort_keys=True)
