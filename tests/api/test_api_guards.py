"""Hosts, origins and headers: a page elsewhere, or a name that is made to point here, gets nothing done."""

from __future__ import annotations

import pytest
from api.web_client import Web, serving

from app.settings import ServiceSettings

FORM = {"text": "print(1)"}


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[", "evil.example:8000"),
        *(
            "evil.example@127.0.0.1",
            "127.0.0.1/evil",
            "127.0.0.1#evil",
            "127.0.0.1?evil",
            "127.0.0.1:",
            "[::1",
        ),
        *("127.0.0.1:evil", "localhost\\evil", "localhost:80:80"),
    ],
)
def test_another_host_name_is_refused(web: Web, host: str) -> None:
    # The addresses of probes answer under any name.
    for path in ("/", "/api/v1/runs", "/static/app.css", "/nothing"):
        answer = web.client.get(path, headers={"Host": host})
        assert answer.status_code == 403
        assert "unknown_host" in answer.text


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_a_name_of_this_machine_is_ours(web: Web, host: str) -> None:
    assert web.client.get("/healthz", headers={"Host": host}).status_code == 200


def test_names_that_the_operator_adds(settings: ServiceSettings) -> None:
    with serving(settings.model_copy(update={"hosts": ("samehere.example",)})) as web:
        assert web.client.get("/api/v1/runs", headers={"Host": "samehere.example"}).status_code == 200
        assert web.client.get("/api/v1/runs", headers={"Host": "evil.example"}).status_code == 403
    with serving(settings.model_copy(update={"hosts": ("*",)})) as web:
        assert web.client.get("/api/v1/runs", headers={"Host": "any.example"}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://localhost:81",
        "foo://localhost",
        "ftp://localhost",
        "http://[",
        "localhost",
        "",
    ],
)
def test_a_request_from_another_page_is_refused(web: Web, origin: str) -> None:
    headers = {"Origin": origin}
    run = web.post()["id"]
    for answer in (
        web.client.post("/", data=FORM, headers=headers),
        web.client.post("/api/v1/runs", json={"script": "print(1)"}, headers=headers),
        web.client.post(f"/runs/{run}/cancel", headers=headers),
        web.client.post(f"/api/v1/runs/{run}/cancel", headers=headers),
    ):
        assert answer.status_code == 403
        assert "foreign_origin" in answer.text
    assert len(web.client.get("/api/v1/runs").json()["items"]) == 1
    assert web.client.get(f"/api/v1/runs/{run}").json()["state"] != "cancelled"


def test_a_browser_without_an_origin_says_where_it_comes_from(web: Web) -> None:
    for site in ("cross-site", "same-site"):
        assert web.client.post("/", data=FORM, headers={"Sec-Fetch-Site": site}).status_code == 403
    for referer in ("http://evil.example/page", "http://localhost.evil.example/", "http://["):
        assert web.client.post("/", data=FORM, headers={"Referer": referer}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}],
)
def test_our_own_form_is_taken(web: Web, headers: dict[str, str]) -> None:
    answer = web.client.post("/", data=FORM, headers=headers, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/runs/")


def test_every_answer_forbids_what_no_page_needs(web: Web) -> None:
    run = web.post()["id"]
    for path in (
        "/",
        f"/runs/{run}",
        "/reports",
        "/nodes",
        "/nothing",
        "/static/app.css",
        "/api/v1/runs",
        "/api/v1/nothing",
        "/healthz",
    ):
        headers = web.client.get(path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert (
            policy["script-src"]
            == policy["style-src"]
            == policy["form-action"]
            == policy["connect-src"]
            == "'self'"
        )
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_no_page_of_ours_is_read_by_a_page_elsewhere(web: Web) -> None:
    answer = web.client.options(
        "/api/v1/runs", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    )
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]
