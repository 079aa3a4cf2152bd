"""The MCP server over standard input and output: its tools call a service over the network."""

from __future__ import annotations

from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import anyio

from app.mcp.rest import Rest, rest_over_network
from app.mcp.server import make_server

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager


def serve_stdio(url: str, *, token: str | None, most_bytes: int) -> None:
    """Serve until standard input ends. `url` is the service that the tools call."""
    anyio.run(_serve, url, token, most_bytes)


async def _serve(url: str, token: str | None, most_bytes: int) -> None:
    from mcp.server.stdio import stdio_server

    async with rest_over_network(url, token=token) as rest:

        def rest_of(_request: Any) -> AbstractAsyncContextManager[Rest]:
            return nullcontext(rest)

        server = make_server(rest_of, version=_version(), most_bytes=most_bytes)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


def _version() -> str:
    try:
        return version("samehere")
    except PackageNotFoundError:
        return "0"
