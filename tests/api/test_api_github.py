"""The address of GitHub's events over HTTP: off, signed, limited, and quick."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from api.web_client import Web, serving
from github_stand_in import APP, SECRET, Event, StandIn, signed

from app.settings import ServiceSettings

PATH = "/api/v1/github/events"


@pytest.fixture(scope="module")
def hub() -> StandIn:
    """GitHub without its API: only its events are used."""
    stand_in = StandIn()
    stand_in.open(1, body="text")
    return stand_in


@pytest.fixture
def with_app(database: str, broker_url: str, tmp_path: Path) -> Iterator[Web]:
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "list.toml").write_text('[repositories."octo/numbers"]\n')
    settings = ServiceSettings(
        database_url=database,
        broker_url=broker_url,
        github_app=APP,
        github_key_file=tmp_path / "key.pem",
        github_secret_file=tmp_path / "secret",
        github_repositories=tmp_path / "list.toml",
        github_bytes=64 * 1024,
    )
    with serving(settings) as web:
        yield web


def send(web: Web, event: Event, **headers: str) -> tuple[int, dict[str, object]]:
    body, own = event
    answer = web.client.post(PATH, content=body, headers={**own, **headers})
    return answer.status_code, answer.json()


def test_without_an_app_there_is_no_such_address(web: Web, hub: StandIn) -> None:
    status, problem = send(web, hub.labelled(1))
    assert status == 404
    assert "docs/github-app.md" in str(problem)


def test_events_are_verified_and_taken_once(with_app: Web, hub: StandIn) -> None:
    event = hub.labelled(1)
    assert send(with_app, event) == (202, {"taken": True, "reason": ""})
    assert send(with_app, event) == (202, {"taken": False, "reason": "this event came before"})
    status, problem = send(with_app, event, **{"x-hub-signature-256": "sha256=" + "0" * 64})
    assert status == 401
    assert SECRET not in str(problem)
    assert send(with_app, event, **{"x-github-delivery": ""})[0] == 422
    assert send(with_app, signed("ping", {"zen": "Design for failure."}))[0] == 202
    assert send(with_app, signed("issues", {"action": "labeled"}))[0] == 422
    assert send(with_app, signed("issues", {"text": "x" * 70_000}))[0] == 413
    assert send(with_app, event, **{"content-type": "application/x-www-form-urlencoded"})[0] == 415


def test_a_file_that_is_gone_is_our_own_failure(with_app: Web, hub: StandIn) -> None:
    path = with_app.stage.settings.github_secret_file
    assert path is not None
    path.unlink()
    status, problem = send(with_app, hub.labelled(1))
    assert status == 503
    assert str(path) not in str(problem)
