"""A cell that waits for a node that is paused, or whose slots another node of its machine uses, says so."""

from __future__ import annotations

from typing import Any

import pytest
from api.web_client import Web
from stage import TOOLCHAIN

from worker.contract import Hello, Level, ToolchainFacts
from worker.contract.names import NODE_PAUSED

WAITS_FOR = "its slots are in use by another node of this machine: node other, process 12"


def hello(web: Web, name: str, *, waits_for: str) -> None:
    facts = ToolchainFacts(name=TOOLCHAIN, state="ready", packages={"torch": "2.13.0"}, torch="2.13.0")
    message = Hello(
        node=name,
        instance="one",
        slots=1,
        level=Level.NAMESPACES_CGROUP,
        toolchains=[facts],
        waits_for=waits_for,
    )
    web.stage.say(message)
    web.stage.beat(name)


def waiting(web: Web, run_id: str) -> dict[str, Any]:
    return dict(web.client.get(f"/api/v1/runs/{run_id}").json()["jobs"][0]["waiting"])


@pytest.mark.parametrize("words", [WAITS_FOR, NODE_PAUSED])
def test_it_is_on_the_nodes_and_in_the_queue_position(web: Web, words: str) -> None:
    hello(web, "n", waits_for=words)
    run = web.post()
    assert waiting(web, run["id"])["reason"] == f"n: {words}"
    assert words in web.client.get(f"/runs/{run['id']}").text
    assert words in web.client.get("/nodes").text
    (node,) = web.client.get("/api/v1/nodes").json()["items"]
    assert (node["state"], node["waits_for"]) == ("ready", words)
    # Another node can serve it, or the slots are free again.
    hello(web, "m", waits_for="")
    assert waiting(web, run["id"])["reason"] is None
    hello(web, "n", waits_for="")
    assert words not in web.client.get("/nodes").text


def test_no_more_slots_are_in_use_than_there_are(web: Web) -> None:
    """A node also has an attempt that waits for its slot. It is no use of one."""
    web.stage.node("n", slots=1)
    web.post(repeats=3)
    begun, _waiting = web.stage.dispatch()
    web.stage.start(begun, node="n")
    (node,) = web.client.get("/api/v1/nodes").json()["items"]
    assert (node["slots"], node["busy"], node["waiting"]) == (1, 1, 1)
    assert "1 of 1 slot in use" in web.client.get("/nodes").text
