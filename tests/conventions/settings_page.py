"""Writes the tables of docs/settings.md from the settings themselves: `python
tests/conventions/settings_page.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from app.settings import ServiceSettings
from worker.machine.settings import NodeSettings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
TABLES: dict[str, type[BaseSettings]] = {"service": ServiceSettings, "node": NodeSettings}
COMPUTED = {
    "home": "`/var/lib/samehere` as root, else `samehere` in the user's data folder",
    "slots": "half the cores, at most 4",
    "preview_places": "1; 3 with shared GPUs",
    "warm_memory_bytes": "1 GiB; more with GPUs",
}
UNITS = ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


def shown_default(name: str, default: object) -> str:
    """As an operator would write it."""
    if default is PydanticUndefined:
        return COMPUTED[name]
    if default in (None, "", {}):
        return "not set"
    if name.endswith("_bytes") and isinstance(default, int):
        for size, unit in UNITS:
            if default % size == 0:
                return f"`{default}` ({default // size} {unit})"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def table(settings: type[BaseSettings]) -> str:
    """One row a setting."""
    rows = ["| variable | default | what it does |", "|---|---|---|"]
    for name, field in settings.model_fields.items():
        if not field.description:
            raise ValueError(f"the setting {name} says nothing of what it does")
        words = field.description.rstrip(".")
        rows.append(f"| `SAMEHERE_{name.upper()}` | {shown_default(name, field.default)} | {words} |")
    return "\n".join(rows)


def with_tables(page: str) -> str:
    """The page with its tables as they should be."""
    for name, settings in TABLES.items():
        start, end = f"<!-- table: {name} -->", f"<!-- end: {name} -->"
        body = f"{start}\n{table(settings)}\n{end}".replace("\\", "\\\\")
        page, count = re.subn(f"{re.escape(start)}.*?{re.escape(end)}", body, page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"docs/settings.md needs {start} … {end} once")
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
