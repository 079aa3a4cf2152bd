"""The limits of a script and a report that an operator sets hold for REST, the form and bundles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from api.test_api_bundles import REPORT, exported, from_elsewhere
from api.web_client import Web, serving

from app.settings import ServiceSettings

DEFAULT = 256 * 1024


@pytest.fixture(params=[500, DEFAULT + 1000], ids=["lowered", "raised"])
def limited(request: pytest.FixtureRequest, settings: ServiceSettings) -> Iterator[tuple[Web, int]]:
    """An application with another limit for scripts, and the limit."""
    limit: int = request.param
    with serving(settings.model_copy(update={"script_bytes": limit})) as web:
        web.stage.node("n")
        yield web, limit


def script_of(size: int) -> str:
    return "x = 1\n" + "#" * (size - 7) + "\n"


def report_with(script: str) -> str:
    return f"# Title\n\n```python\n{script}```\n\nIt prints 1, expected 2.\n"


def test_a_script_over_rest(limited: tuple[Web, int]) -> None:
    web, limit = limited
    for body, more in (
        ({"script": script_of(limit)}, {"script": script_of(limit + 1)}),
        ({"report": report_with(script_of(limit))}, {"report": report_with(script_of(limit + 1))}),
    ):
        for url, status in (("/api/v1/reports:read", 200), ("/api/v1/runs", 202)):
            assert web.client.post(url, json=body).status_code == status
            refused = web.client.post(url, json=more)
            assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
            assert f"larger than {limit} bytes" in refused.json()["detail"]


def test_a_script_in_the_form(limited: tuple[Web, int]) -> None:
    web, limit = limited

    def post(text: str, form: str) -> int:
        return web.client.post("/", data={"text": text, "form": form}, follow_redirects=False).status_code

    assert post(script_of(limit), "script") == 303
    assert post(script_of(limit + 1), "script") == 413
    assert post(report_with(script_of(limit)), "report") == 303
    assert post(report_with(script_of(limit + 1)), "report") == 413


def test_a_report(settings: ServiceSettings) -> None:
    with serving(settings.model_copy(update={"report_bytes": 500})) as web:
        text = "# Title\n\nIt is wrong. ".ljust(500, "x")
        for url, status in (("/api/v1/reports:read", 200), ("/api/v1/runs", 202)):
            assert web.client.post(url, json={"report": text}).status_code == status
            refused = web.client.post(url, json={"report": text + "x"})
            assert (refused.status_code, refused.json()["code"]) == (413, "too_large")


def test_a_script_larger_than_any_report(settings: ServiceSettings) -> None:
    limit = 2 * 1024 * 1024
    with serving(settings.model_copy(update={"script_bytes": limit, "report_bytes": 1024})) as web:
        script = script_of(limit)
        assert web.client.post("/api/v1/reports:read", json={"script": script}).status_code == 200
        refused = web.client.post("/api/v1/reports:read", json={"script": f"#{script}"})
        assert refused.status_code == 413


@pytest.mark.parametrize("more", [0, 1])
def test_a_script_in_a_bundle(web: Web, settings: ServiceSettings, more: int) -> None:
    script = "raise RuntimeError('boom')\n"
    bundle: dict[str, Any] = from_elsewhere(exported(web, script=None, report=REPORT), source_url=None)
    limit = len(script) - more
    with serving(settings.model_copy(update={"script_bytes": limit})) as other:
        answer = other.client.post("/api/v1/bundles", json=bundle)
    assert answer.status_code == (413 if more else 201), answer.text
