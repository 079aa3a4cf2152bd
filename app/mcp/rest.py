"""Calls REST for the tools: over the network, or within the process of the service."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from anyio import to_thread

from app.http.request_log import WITHIN
from app.visible_text import visible

SECONDS = 60.0
MOST_MESSAGE = 600
ANSWER_BYTES = 64 * 1024 * 1024


class RestError(Exception):
    """REST refused or did not answer. The message says what the caller can do about it."""


class Rest:
    """The REST API of one service, with the caller's token. It follows no redirect."""

    def __init__(self, client: httpx2.AsyncClient, *, base: str) -> None:
        self._client = client
        self.base = base.rstrip("/")

    def page(self, path: str) -> str:
        """The address of a page of the service."""
        return f"{self.base}{path}"

    async def get(self, path: str, *, wait: int = 0, **query: Any) -> Any:
        """The answer to GET. The service may wait so many seconds for the end of a run. Raises RestError.

        One request that waits costs the service less than many that look, and counts among its streams.
        """
        headers = {"Prefer": f"wait={wait}"} if wait else {}
        return await self._send("GET", path, headers=headers, query=query)

    async def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None, **query: Any) -> Any:
        """The answer to POST. Raises RestError."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return await self._send("POST", path, body=body, headers=headers, query=query)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any],
    ) -> Any:
        params = {name: value for name, value in query.items() if value is not None}
        try:
            answer = await self._client.request(
                method,
                f"{self.base}/api/v1{path}",
                json=body,
                headers={"Accept": "application/json", **(headers or {})},
                params=params,
            )
        except httpx2.HTTPError as error:
            raise RestError(
                f"The service can't be reached: {type(error).__name__}. Try again later."
            ) from error
        if len(answer.content) > ANSWER_BYTES:
            raise RestError("The service's answer is too large.")
        data = await to_thread.run_sync(_parse, answer.content)
        if not 200 <= answer.status_code < 300:
            raise RestError(_message(answer.status_code, data, answer.headers.get("Retry-After", "")))
        if data is None:
            raise RestError("The service's answer is no JSON: is this the address of a samehere service?")
        return data


@asynccontextmanager
async def rest_over_network(url: str, *, token: str | None) -> AsyncIterator[Rest]:
    """REST of a service elsewhere."""
    headers = {"User-Agent": "samehere"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    async with httpx2.AsyncClient(headers=headers, timeout=SECONDS, trust_env=False) as client:
        yield Rest(client, base=url)


@asynccontextmanager
async def rest_within(
    application: Any, *, base: str, headers: Mapping[str, str], caller: tuple[str, int]
) -> AsyncIterator[Rest]:
    """REST of the application in this process. `caller` is the address that it sees.

    Its requests belong to the one that is answered, so they are neither logged nor counted as requests.
    """

    async def within(scope: Any, receive: Any, send: Any) -> None:
        await application({**scope, WITHIN: True}, receive, send)

    transport = httpx2.ASGITransport(app=within, client=caller, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, headers=dict(headers), timeout=SECONDS) as client:
        yield Rest(client, base=base)


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _message(status: int, problem: Any, retry_after: str) -> str:
    """The words of a problem document, on one line. They may repeat what the caller sent."""
    document = problem if isinstance(problem, dict) else {}
    words = str(document.get("detail") or document.get("title") or "The service refused.")
    code = f", {document['code']}" if isinstance(document.get("code"), str) else ""
    again = f" Try again in {retry_after} seconds." if retry_after.isdigit() else ""
    line = " ".join(visible(words).split())
    return f"Refused (HTTP {status}{code}): {line[:MOST_MESSAGE]}{again}"
