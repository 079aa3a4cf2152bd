"""The OpenAPI document says what everything means, and its examples can be sent as they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel

from app.api.bisections import BisectionBody
from app.api.bodies import Body, CellsBody, ReadBody, RerunBody, RunBody, RunRequestBody
from app.api.correction_body import CorrectionBody
from app.api.doors.webhooks import WebhookBody
from app.api.gate import GateBody
from app.api.maintain import (
    CloseBody,
    LabelBody,
    OverruleBody,
    QuarantineBody,
    WithdrawalBody,
)
from app.api.openapi.describe import describe_schema, first_sentence
from app.api.openapi.meanings import LIKE, WHOLE, tables
from app.main import create_app
from app.runs.rows.events import EVENT_KINDS
from app.settings import ServiceSettings

OTHER_TABLES = {"parameters", "kinds"}
BODIES: list[type[Body]] = [
    *(RunBody, RunRequestBody, ReadBody, RerunBody, CellsBody, BisectionBody, CorrectionBody),
    *(CloseBody, LabelBody, OverruleBody, QuarantineBody, WithdrawalBody, GateBody, WebhookBody),
]
# A meaning is a phrase in plain English, and says more than the name of the field.
WORDS = re.compile(r"[^\s]+ [^\s]+")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document of an application without servers."""
    nowhere = {"database_url": "postgresql://x@127.0.0.1:1/x", "broker_url": "redis://127.0.0.1:1/0"}
    return create_app(ServiceSettings.model_validate(nowhere)).openapi()


def fields(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, schema in document["components"]["schemas"].items():
        for field, form in schema.get("properties", {}).items():
            yield name, field, form


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


def undescribed(document: dict[str, Any]) -> list[str]:
    schemas = document["components"]["schemas"]
    return [
        *[f"{name}.{field}" for name, field, form in fields(document) if not form.get("description")],
        *[name for name, schema in schemas.items() if not schema.get("description") and not of_items(name)],
        *[
            f"{operation['operationId']}({parameter['name']})"
            for operation in operations(document)
            for parameter in operation.get("parameters", [])
            if not parameter.get("description")
        ],
    ]


def of_items(name: str) -> bool:
    """Pages of a list have a docstring of their generic class."""
    return name.endswith("Page")


def test_everything_is_described(document: dict[str, Any]) -> None:
    assert undescribed(document) == [], (
        "say what it means and its unit: by Field(description=…), or in app/api/openapi/meanings/*.toml"
    )
    for name, field, form in fields(document):
        assert WORDS.search(form["description"]), (name, field)


def test_the_check_can_fail() -> None:
    schemas = {"Thing": {"description": "A thing.", "properties": {"size": {"type": "integer"}}}}
    paths = {"/things": {"get": {"operationId": "get_thing", "parameters": [{"name": "id"}]}}}
    assert undescribed({"components": {"schemas": schemas}, "paths": paths}) == [
        "Thing.size",
        "get_thing(id)",
    ]


def test_no_meaning_is_left_over(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name, meanings in tables().items():
        if name in OTHER_TABLES:
            continue
        assert name in schemas, f"{name} is no model of the API any more"
        properties = schemas[name].get("properties", {})
        # Only what a table says itself: one that is like another may have fewer fields.
        assert set(meanings) - {WHOLE, LIKE} <= set(properties), name


def test_names_are_stable_and_summaries_are_words(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        assert re.fullmatch(r"[A-Z][A-Za-z0-9]+", name), name
        assert schema["title"] == name
    summaries = [operation["summary"] for operation in operations(document)]
    for summary in summaries:
        assert " " in summary
        assert not re.match(r"(Get|Post|Put) [A-Z]", summary), summary


def test_strangers_text_is_marked(document: dict[str, Any]) -> None:
    marked = {(name, field) for name, field, form in fields(document) if form.get("x-strangers-text")}
    assert {
        *[("AttemptPart", "stdout"), ("AttemptPart", "stderr"), ("ScriptPart", "script")],
        *[("ReportPart", "title"), ("ReportDetails", "text"), ("ExceptionFacts", "message")],
    } <= marked
    assert not {("RunDocument", "summary"), ("Ask", "text"), ("RunAnswer", "where")} & marked


def test_every_event_has_a_meaning_and_a_form(document: dict[str, Any]) -> None:
    event = document["components"]["schemas"]["RunEvent"]["properties"]["event"]
    assert set(tables()["kinds"]) == set(event["enum"]) == set(EVENT_KINDS)
    for kind in EVENT_KINDS:
        assert f"`{kind}`: " in event["description"]
    for path in ("/api/v1/runs/{run_id}/events", "/api/v1/events"):
        stream = document["paths"][path]["get"]["responses"]["200"]["content"]["text/event-stream"]
        assert stream["itemSchema"] == {"$ref": "#/components/schemas/RunEvent"}


def test_an_answer_leads_on(document: dict[str, Any]) -> None:
    links = document["paths"]["/api/v1/runs"]["post"]["responses"]["202"]["links"]
    names = {operation["operationId"] for operation in operations(document)}
    assert {"run", "events", "cancel"} <= set(links)
    assert {link["operationId"] for link in links.values()} <= names


def examples(schema: dict[str, Any]) -> Iterator[Any]:
    """The examples of a schema as a whole, and the object that the examples of its fields make together."""
    yield from schema.get("examples", [])
    together = {
        field: form["examples"][0]
        for field, form in schema.get("properties", {}).items()
        if form.get("examples")
    }
    if together and set(schema.get("required", [])) <= set(together):
        yield together


def test_examples_fit_their_schema(document: dict[str, Any]) -> None:
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": document["components"]}
    checked = 0
    for name, schema in document["components"]["schemas"].items():
        found = list(examples(schema))
        # Making a validator costs more than using it.
        validator = found and jsonschema_rs.validator_for({**whole, "$ref": f"#/components/schemas/{name}"})
        for example in found:
            errors = [error.message for error in validator.iter_errors(example)]
            assert errors == [], (name, example)
            checked += 1
        for field, form in schema.get("properties", {}).items():
            if form.get("examples"):
                part = jsonschema_rs.validator_for({**whole, **form})
                assert all(map(part.is_valid, form["examples"])), (name, field)
    assert checked >= 10


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_examples_of_a_request_are_valid_together(document: dict[str, Any], body: type[BaseModel]) -> None:
    schema = document["components"]["schemas"][body.__name__]
    found = list(examples(schema))
    assert found, "give the request an example"
    for example in found:
        request = body.model_validate_json(json.dumps(example))
        match request:
            case RunBody():
                request.submission(idempotency_key=None)
            case RunRequestBody():
                request.run_request()
            case BisectionBody():
                request.request()
            case CorrectionBody():
                request.correction()


def test_first_sentences() -> None:
    assert first_sentence("Cancel a run. Recorded results stay.") == "Cancel a run"
    assert first_sentence("Read a report: scripts, claim.") == "Read a report"
    assert first_sentence("A run of\ntorch 2.13 and more\n\nThe rest.") == "A run of torch 2.13 and more"


def test_a_meaning_does_not_replace_a_description() -> None:
    schema: dict[str, Any] = {"properties": {"code": {"description": "its own"}, "text": {}}}
    describe_schema("Ask", schema)
    assert schema["properties"]["code"]["description"] == "its own"
    assert schema["properties"]["text"]["description"] == "the question, in our own words"
