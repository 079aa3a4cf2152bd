"""`samehere presets`: the named sets of targets, of this machine or of a service."""

from __future__ import annotations

from typing import Any

from app.command.service.client import Client
from app.command.service.configuration import load_settings
from app.command.terminal.consoles import print_json, print_line
from app.command.terminal.plain_text import visible
from app.runs.rows.presets import known_presets

NAME_COLUMNS = 14


def show_presets(*, server: str | None, token: str | None, as_json: bool) -> int:
    """Print the presets. Raises SamehereError."""
    if server is None:
        items: list[dict[str, Any]] = [
            {"name": preset.name, "summary": preset.summary, "repeats": preset.repeats, "own": preset.own}
            for preset in known_presets(load_settings()).values()
        ]
    else:
        items = Client(server, token=token).presets()
    if as_json:
        print_json(items)
        return 0
    for item in items:
        name, summary = visible(str(item.get("name", ""))), visible(str(item.get("summary", "")))
        print_line(f"{name:<{NAME_COLUMNS}}{summary}")
    return 0
