"""`samehere mcp`: the tools of a service for models, over standard input and output."""

from __future__ import annotations

from app.command.service.client import Client
from app.command.service.configuration import load_settings, own_address
from app.mcp.stdio import serve_stdio


def serve_mcp(*, server: str | None, token: str | None) -> int:
    """Serve until standard input ends. Raises SamehereError."""
    settings = load_settings()
    # The client checks the address and the token.
    client = Client(server or own_address(settings), token=token)
    serve_stdio(client.url, token=token, most_bytes=settings.mcp_result_bytes)
    return 0
