"""The form of an event of a stream, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from app.api.openapi.meanings import table
from app.runs.rows.events import EventKind


class EventIds(BaseModel):
    """The ids that an event is about. No text of a report or a script."""

    run: str
    job: str | None = None
    attempt: str | None = None
    change: str | None = None
    token: str | None = None


class RunEvent(BaseModel):
    """One server-sent event: the lines `id`, `event` and `data`."""

    id: str
    event: EventKind
    data: EventIds = Field(json_schema_extra={"contentMediaType": "application/json"})


REFERENCE = {"$ref": "#/components/schemas/RunEvent"}
# `schema` is the whole body, `itemSchema` (OpenAPI 3.2) one event of it.
STREAM: dict[str, Any] = {
    "text/event-stream": {"schema": {"type": "string"}, "itemSchema": REFERENCE},
}


def schemas() -> dict[str, Any]:
    """The schemas of an event and of its data, for `components`."""
    schema = RunEvent.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    parts = {**schema.pop("$defs", {}), "RunEvent": schema}
    kinds = "; ".join(f"`{kind}`: {meaning}" for kind, meaning in table("kinds").items())
    parts["RunEvent"]["properties"]["event"]["description"] = f"kind of the event. {kinds}"
    return parts
