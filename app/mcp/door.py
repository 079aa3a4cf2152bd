"""`/mcp` of the service: stateless streamable HTTP, with the tokens and the guards of REST.

Each tool calls REST within this process, as the same caller: scopes, limits and errors are those of REST.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus
from fastapi import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import NotFoundError
from app.http.access import token_of
from app.http.checked_route import check_token
from app.http.json_limits import JsonLimits, check_json
from app.http.quotas import REQUESTS
from app.http.request_log import ID, REQUEST_ID
from app.http.state import state_of
from app.runs.maintenance.tokens import Scope as TokenScope
from app.settings import ServiceSettings

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from app.mcp.rest import Rest

PATH = "/mcp"


class McpDoor:
    """An ASGI application. The SDK is imported with the first request; `serving` has to be entered before."""

    def __init__(
        self, application: ASGIApp, settings: ServiceSettings, *, version: str, most_bytes: int
    ) -> None:
        self._application = application
        self._settings = settings
        self._version = version
        self._most_bytes = most_bytes
        self._group: TaskGroup | None = None
        self._starting = anyio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None

    def route(self) -> Route:
        """The route of this door. Older clients would also open a stream by GET, on which nothing comes."""
        return Route(PATH, endpoint=self, methods=["POST"], name="mcp", include_in_schema=False)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """The time in which requests are answered."""
        async with anyio.create_task_group() as group:
            self._group, self._manager = group, None
            try:
                yield
            finally:
                self._group = None
                group.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: first the token, then the size and form of its JSON, then the SDK."""
        request = Request(scope, receive)
        token = await check_token(request, TokenScope.READ)
        await state_of(request).quotas.spend(request, [REQUESTS], token=token_of(token))
        body = await request.body()
        await to_thread.run_sync(check_json, body, self._limits())
        manager = await self._running_manager()
        await manager.handle_request(scope, _replayed_body(body, receive), send)

    def _limits(self) -> JsonLimits:
        settings = self._settings
        return JsonLimits(values=settings.json_values, depth=settings.json_depth, digits=settings.json_digits)

    async def _running_manager(self) -> StreamableHTTPSessionManager:
        async with self._starting:
            if self._manager is None:
                if self._group is None:
                    raise RuntimeError("the door is not in service")
                manager = await to_thread.run_sync(self._make_manager)
                await self._group.start(_run, manager)
                self._manager = manager
            return self._manager

    def _make_manager(self) -> StreamableHTTPSessionManager:
        try:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        except ModuleNotFoundError as error:
            raise NotFoundError(
                "The MCP server is not installed on this service: pip install 'samehere[mcp]'.", code="no_mcp"
            ) from error
        from app.mcp.server import make_server

        server = make_server(self._rest, version=self._version, most_bytes=self._settings.mcp_result_bytes)
        # The guards have checked the host and the origin.
        return StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=self._most_bytes
        )

    def _rest(self, request: Any) -> AbstractAsyncContextManager[Rest]:
        """The way to REST as the caller of a request."""
        from app.mcp.rest import rest_within

        authorization = request.headers.get("authorization")
        headers = {REQUEST_ID: str(request.scope.get(ID, ""))}
        if authorization is not None:
            headers["Authorization"] = authorization
        caller = (request.client.host, request.client.port) if request.client else ("", 0)
        return rest_within(self._application, base=str(request.base_url), headers=headers, caller=caller)


async def _run(
    manager: StreamableHTTPSessionManager, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    async with manager.run():
        task_status.started()
        await anyio.sleep_forever()


def _replayed_body(body: bytes, receive: Receive) -> Receive:
    """The body once more, and then whatever comes."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return parts.pop() if parts else await receive()

    return receive_again
