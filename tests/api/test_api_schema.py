"""The OpenAPI description is complete, and what we answer is what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from running_web import web_of
from stage import Stage

from app.main import create_app
from app.settings import ServiceSettings

SECONDS = 420
PARTS = 3
SCHEMAS = "#/components/schemas/"
# Schemathesis finds this file in its folder. Its own list of refusals lacks 413: what is too long by its form
# may be too large first.
CONFIGURATION = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
"""


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """It depends on no server."""
    settings = ServiceSettings(database_url="postgresql://nobody@nowhere/none", broker_url="redis://nowhere")
    return dict(json.loads(json.dumps(create_app(settings).openapi())))


def operations(described: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, one) for path, methods in described["paths"].items() for method, one in methods.items()
    ]


def test_every_operation_says_how_it_fails(described: dict[str, Any]) -> None:
    for method, path, operation in operations(described):
        responses = operation["responses"]
        wanted = {"403", "500", "503"}
        if path.startswith("/api/"):
            wanted |= {"401"}
            assert operation["security"] == [{"token": []}, {}], path
        if "{" in path:
            wanted |= {"404"}
        if "requestBody" in operation:
            wanted |= {"400", "413", "415", "422"}
        assert wanted <= set(responses), (method, path)
        for status, response in responses.items():
            if int(status) < 400:
                continue
            [(media, content)] = response["content"].items()
            assert media == "application/problem+json"
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
            assert content["example"]["status"] == int(status)
        assert "Retry-After" in responses["503"]["headers"]


def test_every_operation_has_a_name_a_summary_and_a_schema(described: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(described)]
    assert len(set(names)) == len(names) >= 18
    for _, path, operation in operations(described):
        assert operation["summary"] in " ".join(operation["description"].split())
        for parameter in operation.get("parameters", []):
            assert parameter["description"], (path, parameter["name"])
        assert operation["description"]
        assert operation["tags"]
        success = next(
            response
            for status, response in operation["responses"].items()
            if status.startswith("2") and "content" in response
        )
        assert all("schema" in content and content["schema"] for content in success["content"].values()), path
    schemas = described["components"]["schemas"]
    assert "Problem" in schemas
    assert schemas["RunBody"]["examples"]
    assert not [name for name in schemas if "ValidationError" in name]
    # Two models of one name would have the names of our modules.
    assert not [name for name in schemas if "__" in name]
    assert "python" not in schemas["PublicToolchain"]["properties"]
    assert "schema" in schemas["RunAnswer"]["properties"]


def test_every_reference_leads_somewhere(described: dict[str, Any]) -> None:
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                found.append(value["$ref"])
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(described)
    names = {reference.removeprefix("#/components/schemas/") for reference in found}
    assert names <= set(described["components"]["schemas"])


def without_repetition(described: dict[str, Any]) -> dict[str, Any]:
    """The same description, where each part of a claim as data is described in full once.

    Three operations take such a claim, a claim has checks in two places, and all kinds of checks share seven
    fields: the edge cases of one field would be sent sixty times. Here the first kind of check describes the
    shared fields, and the operation that corrects a claim describes the checks. Elsewhere the description
    is looser, never stricter, so whatever it forbids has to be refused.

    The header `Prefer` is described for one operation only.
    """
    changed = deepcopy(described)
    schemas = changed["components"]["schemas"]
    claim = schemas["ClaimForm"]
    kinds = [
        schemas[kind["$ref"].removeprefix(SCHEMAS)]
        for kind in claim["properties"]["checks"]["items"]["oneOf"]
    ]
    shared = set.intersection(*(set(kind["properties"]) for kind in kinds)) - {"kind"}
    for kind in kinds[1:]:
        kind["properties"] = {name: one for name, one in kind["properties"].items() if name not in shared}
        del kind["additionalProperties"]
    any_check = {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
    schemas["ReadingForm"]["properties"]["checks"]["items"] = any_check
    schemas["LooseClaim"] = deepcopy(claim)
    schemas["LooseClaim"]["properties"]["checks"]["items"] = any_check
    for path, methods in changed["paths"].items():
        for operation in methods.values():
            # One header that five operations share: it is tried where nothing is made.
            if path != "/api/v1/runs/{run_id}":
                operation["parameters"] = [
                    each for each in operation.get("parameters", []) if each["name"] != "Prefer"
                ]
    for body in ("RunBody", "ReadBody"):
        text = json.dumps(schemas[body]["properties"]["claim"])
        assert f'"{SCHEMAS}ClaimForm"' in text
        schemas[body]["properties"]["claim"] = json.loads(
            text.replace(f'"{SCHEMAS}ClaimForm"', f'"{SCHEMAS}LooseClaim"')
        )
    return changed


@pytest.mark.timeout(SECONDS + 60)
def test_what_we_answer_is_what_it_says(stage: Stage, tmp_path: Path) -> None:
    """Schemathesis: examples, edge cases and some random bodies.

    Streams and figures apart; what is valid by form may still be refused.
    """
    stage.node("n")
    description = tmp_path / "openapi.json"
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    with web_of(stage) as web:
        described = without_repetition(web.client.get("/api/v1/openapi.json").json())
        description.write_text(json.dumps(described))
        paths = [path for path in described["paths"] if path != "/metrics" and not path.endswith("/events")]
        # Most of the time is spent waiting for answers. Threads of one Schemathesis change its shared tables
        # while others read them, so each part is a process.
        parts = [paths[start::PARTS] for start in range(PARTS)]
        started = [_schemathesis(description, web.url, part) for part in parts]
        try:
            answers = [process.communicate(timeout=SECONDS)[0] for process in started]
        finally:
            for process in started:
                process.kill()
    for process, answer in zip(started, answers, strict=True):
        assert process.returncode == 0, answer[max(answer.find("= ERRORS ="), 0) :][-20_000:]
        assert "generated" in answer


def _schemathesis(description: Path, url: str, paths: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "schemathesis.cli", "run", str(description), "--url", url]
    for path in paths:
        command += ["--include-path", path]
    command += ["--phases", "examples,coverage,fuzzing", "--max-examples", "8", "--workers", "1"]
    command += ["--generation-deterministic", "--continue-on-failure"]
    command += ["--checks", "all", "--exclude-checks", "positive_data_acceptance"]
    command += ["--request-timeout", "30", "--no-color"]
    return subprocess.Popen(
        command, cwd=description.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
