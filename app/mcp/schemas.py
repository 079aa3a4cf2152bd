"""JSON schemas of the tools: small ones for the list of tools, which fills a model's context, and whole ones.

A client reads a whole one as a resource: the form of a claim, and the result of each tool.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from pydantic import BaseModel, TypeAdapter

from app.intake.typed.claim_form import ClaimForm
from app.mcp.arguments import CLAIM_RESOURCE
from app.mcp.tools import TOOLS

RESULT_RESOURCES = "samehere://results/"
# pydantic repeats the name of each field as its title.
_LEFT_OUT = frozenset({"title", "discriminator"})
# An argument that is too long is refused in words.
_LENGTHS = frozenset({"maxLength", "minLength", "maxItems", "minItems", "maxProperties", "propertyNames"})


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of arguments. An argument that may be null is one that may be left out."""
    schema = _slim(model.model_json_schema(), _LEFT_OUT | _LENGTHS)
    schema.pop("description", None)
    for field in schema["properties"].values():
        choices = [choice for choice in field.get("anyOf", ()) if choice != {"type": "null"}]
        if len(choices) == 1 and field.pop("default", None) is None:
            del field["anyOf"]
            field.update(choices[0])
    return schema


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The names and types of a result's fields. The parts of lists and objects stand in the resource."""
    schema = model.model_json_schema(mode="serialization")
    parts = schema.get("$defs", {})
    return {
        "type": "object",
        "properties": {name: _type_of(field, parts) for name, field in schema["properties"].items()},
    }


def resources() -> dict[str, tuple[str, str]]:
    """The resources by address: what each is, and its JSON."""
    claim = _slim(TypeAdapter(ClaimForm).json_schema())
    results = {
        f"{RESULT_RESOURCES}{tool.name}": (
            f"the JSON schema of the result of `{tool.name}`",
            json.dumps(_slim(tool.result.model_json_schema(mode="serialization"))),
        )
        for tool in TOOLS
    }
    return {CLAIM_RESOURCE: ("the JSON schema of a claim as data", json.dumps(claim)), **results}


def _type_of(field: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    types = list(dict.fromkeys(_types(field, parts)))
    return {"type": types[0] if len(types) == 1 else types}


def _types(field: Mapping[str, Any], parts: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in field:
        yield from _types(parts[field["$ref"].rpartition("/")[2]], parts)
    elif "type" in field:
        yield field["type"]
    for choice in field.get("anyOf", ()):
        yield from _types(choice, parts)


def _slim(schema: Mapping[str, Any], left_out: AbstractSet[str] = _LEFT_OUT) -> dict[str, Any]:
    """The schema without these keywords. Names of fields are no keywords."""
    slim: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in {"properties", "$defs"}:
            slim[keyword] = {name: _slim(each, left_out) for name, each in value.items()}
        elif keyword not in left_out:
            slim[keyword] = _slim_value(value, left_out)
    return slim


def _slim_value(value: Any, left_out: AbstractSet[str]) -> Any:
    if isinstance(value, dict):
        return _slim(value, left_out)
    return [_slim_value(each, left_out) for each in value] if isinstance(value, list) else value
