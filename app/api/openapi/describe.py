"""Completes the OpenAPI document: meanings, summaries, links between operations, and the events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from app.api.openapi import events
from app.api.openapi.meanings import WHOLE, table

# A field whose meaning says this holds text that somebody else wrote. Programs find it by a mark.
STRANGERS = re.compile(r"stranger's text|untrusted", re.IGNORECASE)
MARK = "x-strangers-text"
PAGE = "A page of a list, newest first."
REFERENCE = "#/components/schemas/"
# An answer with a run leads to these operations.
RUN_LINKS = {
    "run": ("get_run", "The run as it is now."),
    "events": ("follow_run", "The events of the run as a stream."),
    "cancel": ("cancel_run", "Cancel the run."),
    "rerun": ("rerun_run", "Run cells again."),
    "bundle": ("export_run", "The run with all its evidence as one file."),
}
RUN_MODELS = frozenset({"RunAnswer", "SubmittedRun"})
_SENTENCE = re.compile(r"(.+?)(?:\.(?=\s|$)|: |\n\n|$)", re.DOTALL)


def describe(application: FastAPI) -> None:
    """Complete the OpenAPI document of the application when it is first made."""
    make_document = application.openapi
    complete: list[dict[str, Any]] = []

    def openapi() -> dict[str, Any]:
        document = make_document()
        if not complete:
            _complete(document)
            complete.append(document)
        return document

    application.openapi = openapi  # type: ignore[method-assign]


def _complete(document: dict[str, Any]) -> None:
    _rename_pages(document)
    schemas = document["components"]["schemas"]
    schemas |= events.schemas()
    for name, schema in schemas.items():
        describe_schema(name, schema)
    parameters = table("parameters")
    for operation in operations_of(document):
        operation["summary"] = first_sentence(operation["description"])
        for parameter in operation.get("parameters", []):
            if not parameter.get("description") and parameter["name"] in parameters:
                parameter["description"] = parameters[parameter["name"]]
        for status, response in operation["responses"].items():
            if response.get("description") == "Successful Response":
                response["description"] = f"{operation['summary']}."
            if status.startswith("2") and _model_of(response) in RUN_MODELS:
                response["links"] = _links()


def _rename_pages(document: dict[str, Any]) -> None:
    """Give pages of a list plain names: `ActPage`, which is their title, for `PageBody_Act_`."""
    text = json.dumps(document)
    for name, schema in document["components"]["schemas"].items():
        if name.startswith("PageBody_"):
            text = text.replace(f'"{REFERENCE}{name}"', f'"{REFERENCE}{schema["title"]}"')
            text = text.replace(f'"{name}": {{', f'"{schema["title"]}": {{', 1)
    document.clear()
    document.update(json.loads(text))
    for name, schema in document["components"]["schemas"].items():
        if name.endswith("Page"):
            schema.setdefault("description", PAGE)


def operations_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All operations of an OpenAPI document."""
    for methods in document["paths"].values():
        yield from methods.values()


def describe_schema(name: str, schema: dict[str, Any]) -> None:
    """Describe a model and its fields, where they do not describe themselves. Marks strangers' text."""
    meanings = table(name)
    if not schema.get("description") and WHOLE in meanings:
        schema["description"] = meanings[WHOLE]
    for field, form in schema.get("properties", {}).items():
        if not form.get("description") and field in meanings:
            form["description"] = meanings[field]
        if isinstance(form.get("const"), int) and field not in schema.get("required", []):
            # The version of a form is always there. Generated clients are wrong if it may be absent.
            schema.setdefault("required", []).append(field)
        if STRANGERS.search(form.get("description", "")):
            form[MARK] = True


def first_sentence(text: str) -> str:
    """The first sentence of a description, on one line and without its full stop."""
    match = _SENTENCE.match(text.strip())
    return " ".join((match[1] if match else text).split())


def _model_of(response: dict[str, Any]) -> str:
    """The model that a response answers. Empty if it answers none, or one of several."""
    schema = response.get("content", {}).get("application/json", {}).get("schema", {})
    return str(schema.get("$ref", "")).removeprefix(REFERENCE)


def _links() -> dict[str, Any]:
    return {
        name: {"operationId": operation, "description": about, "parameters": {"run_id": "$response.body#/id"}}
        for name, (operation, about) in RUN_LINKS.items()
    }
