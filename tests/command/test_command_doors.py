"""Doors to the outside on the command line: webhooks, signing keys and signed bundles."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.command_line import bare_environment, samehere
from running_command import run_here
from running_web import Web, web_of
from stage import Stage, result
from webhook_receiver import receiving

from app.runs.webhooks.deliver import deliver_due


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return bare_environment(home)


@pytest.fixture
def private_web(stage: Stage) -> Iterator[Web]:
    """A web that allows webhooks on loopback."""
    with web_of(stage, webhook_private=True) as web:
        yield web


def test_a_webhook_from_its_address_to_its_log(private_web: Web, environment: dict[str, str]) -> None:
    stage = private_web.stage
    settings = stage.settings.model_copy(update={"webhook_private": True})

    def webhook(*words: str) -> subprocess.CompletedProcess[str]:
        ended = samehere("webhook", *words, "--server", private_web.url, environment=environment)
        assert ended.returncode == 0, ended.stderr
        return ended

    with receiving() as receiver:
        secret = webhook("add", receiver.url, "--event", "run.finished").stdout.strip()
        (listed,) = json.loads(webhook("list", "--json").stdout)
        assert (listed["url"], listed["events"]) == (receiver.url, ["run.finished"])
        assert "waiting" in webhook("ping", listed["id"]).stdout
        assert deliver_due(stage.factory, settings=settings) == 1
        assert receiver.arrivals[0].verify(secret)["type"] == "webhook.ping"
    assert "delivered  tries: 1, the last: taken, status 204" in webhook("log", listed["id"]).stdout
    assert webhook("remove", listed["id"]).stdout == f"{listed['id']} is removed\n"


@pytest.mark.parametrize("words", [("log", "x"), ("resend", "x", "y"), ("add", "https://u:p@bot.example/")])
def test_bad_words_about_webhooks(web: Web, environment: dict[str, str], words: tuple[str, ...]) -> None:
    ended = samehere("webhook", *words, "--server", web.url, environment=environment)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1


def test_a_bundle_signed_with_a_key_of_node_key_create(
    web: Web, environment: dict[str, str], tmp_path: Path
) -> None:
    key, bundle = tmp_path / "lab.pem", tmp_path / "run.json"
    database = web.stage.settings.reveal_database_url() or ""
    made = samehere(
        "node-key",
        "create",
        "lab-h100",
        "--signing",
        str(key),
        environment={**environment, "SAMEHERE_DATABASE_URL": database},
    )
    assert made.returncode == 0, made.stderr
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    web.stage.node("n")
    run_id = web.stage.submit().document.id
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n"))
    words = ("export", run_id, "--sign", str(key), "--out", str(bundle), "--server", web.url)
    ended = samehere(*words, environment=environment)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(bundle.read_text())["payloadType"] == "application/vnd.in-toto+json"
    # Its own run is known; nobody has to vouch for it.
    ended = samehere("import", str(bundle), "--server", web.url, "--json", environment=environment)
    assert json.loads(ended.stdout)["id"] == run_id


@pytest.mark.parametrize(
    "content", ["", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_file_that_is_no_key(environment: dict[str, str], tmp_path: Path, content: str) -> None:
    key, script = tmp_path / "key.pem", tmp_path / "script.py"
    key.write_text(content)
    script.write_text("print(1)\n")
    words = ("reproduce", str(script), "--bundle", str(tmp_path / "out.json"), "--sign")
    ended = run_here(*words, str(key), environment=environment)
    assert (ended.returncode, "holds no private Ed25519 key" in ended.stderr) == (2, True)
    ended = run_here(*words, str(tmp_path / "missing.pem"), environment=environment)
    assert (ended.returncode, "can't be read" in ended.stderr) == (2, True)


def test_a_signature_needs_a_bundle(environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print(1)\n")
    ended = run_here("reproduce", str(script), "--sign", "key.pem", environment=environment)
    assert (ended.returncode, "--bundle FILE" in ended.stderr) == (2, True)
