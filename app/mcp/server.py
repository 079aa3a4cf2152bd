"""The MCP server of the official SDK with our tools. The SDK is imported on first use: it takes a second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from app.mcp.schemas import input_schema, output_schema, resources
from app.mcp.tools import INSTRUCTIONS, TOOLS, call

if TYPE_CHECKING:
    from mcp.server import Server, ServerRequestContext
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        ListResourcesResult,
        ListToolsResult,
        PaginatedRequestParams,
        ReadResourceRequestParams,
        ReadResourceResult,
    )

    from app.mcp.rest import Rest

_SCHEMA = "application/schema+json"


def make_server(
    rest_of: Callable[[Any], AbstractAsyncContextManager[Rest]], *, version: str, most_bytes: int
) -> Server[Any]:
    """The server. `rest_of` gives the way to REST for a request of the transport, None over stdio."""
    from mcp.server import Server
    from mcp_types import CallToolResult, ListToolsResult, TextContent, ToolAnnotations
    from mcp_types import Tool as ToolDescription

    described = [
        ToolDescription(
            name=tool.name,
            description=tool.description,
            input_schema=input_schema(tool.arguments),
            output_schema=output_schema(tool.result),
            annotations=ToolAnnotations(
                read_only_hint=tool.reads_only, destructive_hint=False, open_world_hint=False
            ),
        )
        for tool in TOOLS
    ]

    async def list_tools(
        _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=described)

    async def call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        async with rest_of(context.request) as rest:
            answer = await call(params.name, params.arguments or {}, rest, most_bytes=most_bytes)
        return CallToolResult(
            content=[TextContent(type="text", text=text) for text in answer.texts],
            structured_content=None
            if answer.result is None
            else answer.result.model_dump(mode="json", by_alias=True),
            is_error=answer.result is None,
        )

    list_resources, read_resource = _resources()
    return Server(
        "samehere",
        version=version,
        title="samehere",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _resources() -> tuple[
    Callable[[ServerRequestContext[Any], PaginatedRequestParams | None], Awaitable[ListResourcesResult]],
    Callable[[ServerRequestContext[Any], ReadResourceRequestParams], Awaitable[ReadResourceResult]],
]:
    """How resources are listed and read."""
    from mcp import MCPError
    from mcp_types import (
        INVALID_PARAMS,
        ListResourcesResult,
        ReadResourceResult,
        Resource,
        TextResourceContents,
    )

    known = resources()

    async def list_resources(
        _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return ListResourcesResult(
            resources=[
                Resource(name=uri.rpartition("/")[2], uri=uri, description=words, mime_type=_SCHEMA)
                for uri, (words, _) in known.items()
            ]
        )

    async def read_resource(
        _context: ServerRequestContext[Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        entry = known.get(str(params.uri))
        if entry is None:
            raise MCPError(INVALID_PARAMS, f"There is no such resource. There are {', '.join(known)}.")
        content = TextResourceContents(uri=params.uri, mime_type=_SCHEMA, text=entry[1])
        return ReadResourceResult(contents=[content])

    return list_resources, read_resource
