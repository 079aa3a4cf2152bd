"""The tools over both transports, with the SDK's own client: what a model reads, and what a program gets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio.to_thread
import httpx2
import pytest
from event_loop import run_in_thread
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult
from numpy_versions import finish, say_hello
from running_web import Web, web_of
from stage import Stage

from app.command.service.client import Client as RestClient
from app.ids import new_id
from app.mcp.arguments import CLAIM_RESOURCE, RunArguments
from app.mcp.rest import Rest, RestError
from app.mcp.running_tools import get_run
from app.mcp.schemas import resources
from app.mcp.strangers_text import NOTICE
from app.mcp.tools import TOOLS
from app.runs.maintenance.tokens import Scope, create

SCRIPT = "import numpy\nraise RuntimeError('boom')\n"
CLAIM = {"checks": [{"kind": "exception", "type": "RuntimeError", "message": "boom"}]}
BROKEN = {"1.26.4": True, "2.0.0": False}


@pytest.fixture(scope="module")
def shared_web(stage_of_module: Stage) -> Iterator[Web]:
    """One web for this file, with two versions of numpy."""
    say_hello(stage_of_module, *BROKEN)
    with web_of(stage_of_module) as web:
        yield web


def over_http(web: Web) -> Any:
    return f"{web.url}/mcp"


def over_stdio(web: Web) -> Any:
    return StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "app.cli", "mcp", "--server", web.url],
        env={"PATH": os.environ["PATH"], "SAMEHERE_HOME": "/nonexistent"},
    )


def run(server: Any, steps: Callable[[Client], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with Client(server, **options) as client:
            await steps(client)

    run_in_thread(main)


def words(result: CallToolResult) -> str:
    """The first text: our own words."""
    return str(result.content[0].text)  # type: ignore[union-attr]


async def read_resources(client: Client) -> None:
    """The whole schemas, and nothing else."""
    uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert uris == list(resources())
    [claim_form] = (await client.read_resource(CLAIM_RESOURCE)).contents
    assert "exit_status" in claim_form.text  # type: ignore[union-attr]
    with pytest.raises(MCPError, match="no such resource"):
        await client.read_resource("file:///etc/passwd")


async def use_all(client: Client, web: Web) -> None:
    """Read, submit, run, look, compare, search, ask: the way of an agent."""
    assert client.instructions is not None
    assert "not_reproduced" in client.instructions
    assert {tool.name for tool in (await client.list_tools()).tools} == {tool.name for tool in TOOLS}
    await read_resources(client)

    async def call(name: str, **arguments: Any) -> dict[str, Any]:
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result.content
        assert result.structured_content is not None
        texts = [part.text for part in result.content]  # type: ignore[union-attr]
        # A model sees the texts only: every caveat is there, in words and as data.
        assert json.loads(texts[1]) == result.structured_content
        assert all(caveat in texts[0] for caveat in result.structured_content["caveats"])
        assert NOTICE in texts[0]
        answer = result.structured_content.get("answer") or {}
        assert all(sentence in texts[0] for name, sentence in answer.items() if name != "owner")
        return dict(result.structured_content)

    read = await call("read_report", script=SCRIPT, claim=CLAIM)
    assert (read["verdict"], read["checks"]) == (None, 1)
    claim = json.loads(read["claim"]["untrusted_text"])
    targets = [{"device": "cpu", "toolchain": f"numpy-{version}"} for version in BROKEN]
    planned = await call("submit", script=SCRIPT, claim=claim, targets=targets, plan_only=True)
    assert (planned["cells_left_out"], len(planned["cells"])) == (0, 2)
    key = {"script": SCRIPT, "claim": claim, "targets": targets, "request_key": os.urandom(8).hex()}
    sent = await call("submit", **key)
    assert sent["withdraw_url"].startswith(f"{web.url}/withdraw/")
    assert "The run has not ended" in sent["caveats"][0]
    assert (await call("submit", **key))["run"] == sent["run"]
    await anyio.to_thread.run_sync(finish, web.stage, BROKEN)
    done = await call("get_run", run=sent["run"], wait_seconds=5)
    assert (done["verdict"], done["url"]) == ("reproduced", f"{web.url}/runs/{sent['run']}")
    assert "not that it is a bug" in done["caveats"][0]
    assert done["answer"]["what"].startswith("Fixed in numpy 2.0.0")
    seen, unseen = done["cells"]
    assert (seen["verdict"], unseen["verdict"]) == ("reproduced", "not_reproduced")
    assert seen["exception"]["untrusted_text"] == "RuntimeError: boom"
    compared = await call("compare", baseline=unseen["attempt"], candidate=seen["attempt"])
    assert (compared["result"], compared["targets"]) == ("different", ["cpu@numpy-2.0.0", "cpu@numpy-1.26.4"])
    [answer] = (await call("gate", issues=[done["report"]]))["items"]
    assert (answer["answer"], answer["may_close"]) == ("fixed", True)
    found = await call("search", query="verdict:reproduced boom")
    assert done["report"] in [item["report"] for item in found["items"]]
    begun = await call("bisect", report=done["report"], over="numpy")
    assert "has not ended" in begun["caveats"][0]
    assert (await call("bisect", bisection=begun["bisection"]))["axis"] == "numpy"
    await anyio.to_thread.run_sync(RestClient(web.url).cancel_bisection, begun["bisection"])
    explained = await call("explain", report=done["report"], start=True)
    assert explained["state"] == "running"
    await anyio.to_thread.run_sync(RestClient(web.url).cancel, explained["run"])
    refused = await client.call_tool("explain", {"report": done["report"]})
    assert refused.is_error
    assert "HTTP 404" in words(refused)


@pytest.mark.parametrize("transport", [over_http, over_stdio])
def test_an_agent_gets_from_a_script_to_a_verdict(shared_web: Web, transport: Callable[[Web], Any]) -> None:
    run(transport(shared_web), lambda client: use_all(client, shared_web))


def test_an_older_client_is_served(shared_web: Web) -> None:
    """One that shakes hands, as before the stateless protocol."""

    async def steps(client: Client) -> None:
        result = await client.call_tool("search", {"query": "nothing has these words"})
        assert "Nothing was found" in words(result)

    run(over_http(shared_web), steps, mode="legacy")


def test_bad_calls_are_told_and_not_done(shared_web: Web) -> None:
    async def steps(client: Client) -> None:
        for name, arguments, said in (
            ("submit", {}, "exactly one of script and report"),
            ("submit", {"script": "x", "shell": "rm"}, "shell: Extra inputs"),
            ("submit", {"script": "x", "claim": {"checks": [{"kind": "magic"}]}}, "claim"),
            ("get_run", {"run": "x"}, "run: "),
            ("get_run", {"run": "0" * 26}, "HTTP 404"),
            ("bisect", {}, "either `report`"),
            ("gate", {"issues": ["nothing"]}, "bad_issue"),
            ("delete_everything", {}, "There is no such tool"),
        ):
            result = await client.call_tool(name, arguments)
            assert result.is_error, name
            assert said in words(result), words(result)

    run(over_http(shared_web), steps)


def test_a_token_has_the_scopes_that_it_has_over_rest(shared_web: Web) -> None:
    async def steps(client: Client) -> None:
        assert not (await client.call_tool("search", {})).is_error
        result = await client.call_tool("submit", {"script": SCRIPT})
        assert result.is_error
        assert "HTTP 403, scope_missing" in words(result)

    with shared_web.stage.session() as session:
        secret = create(session, name="agent", scopes=[Scope.READ]).secret

    async def main() -> None:
        headers = {"Authorization": f"Bearer {secret}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(over_http(shared_web), http_client=http)) as client,
        ):
            await steps(client)

    run_in_thread(main)
    answer = httpx2.post(over_http(shared_web), json={}, headers={"Authorization": "Bearer wrong"})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorised")
    assert httpx2.get(over_http(shared_web)).status_code == 405


def test_the_guards_of_rest_stand_before_the_door(shared_web: Web) -> None:
    address = over_http(shared_web)
    foreign = httpx2.post(address, json={}, headers={"Origin": "https://evil.example"})
    assert (foreign.status_code, foreign.json()["code"]) == (403, "foreign_origin")
    assert httpx2.post(address, json={}, headers={"Host": "evil.example"}).status_code == 403
    deep = httpx2.post(address, content="[" * 200, headers={"Content-Type": "application/json"})
    assert (deep.status_code, deep.json()["code"]) == (422, "json_too_deep")


def test_a_wait_is_one_request_that_the_service_bounds() -> None:
    """Polls would be many requests for the one that is counted."""
    requests: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return httpx2.Response(404, json={"detail": "There is no such run."})

    async def main() -> None:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
            with pytest.raises(RestError):
                await get_run(Rest(client, base="http://x"), RunArguments(run=new_id(), wait_seconds=7))

    run_in_thread(main)
    assert [request.headers.get("prefer") for request in requests] == ["wait=7"]


def test_nothing_of_the_sdk_is_imported_before_the_first_request() -> None:
    """It takes 20 MiB and a second, and most services never need it."""
    code = "import sys, app.main, app.serve.supervisor; app.main._routes(); print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
