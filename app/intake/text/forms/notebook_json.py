"""Reads the JSON of a notebook in a fence as the code of its cells."""

from __future__ import annotations

import json
from collections.abc import Sequence

_TAGS = frozenset({"```", "```json", "```ipynb", "```python"})
_MOST_CELLS = 200


def with_cells_of_notebooks(text: str) -> str:
    """The text with the code of its first notebook in the place of its JSON."""
    if '"cells"' not in text or "cell_type" not in text:
        return text
    lines = text.split("\n")
    start = next((at for at, line in enumerate(lines[:-1]) if _opens(line, lines[at + 1])), None)
    if start is None:
        return text
    end = next((at for at in range(start + 1, len(lines)) if lines[at].rstrip() == "```"), None)
    code = _code_of(lines[start + 1 : end]) if end is not None else ""
    return "\n".join([*lines[:start], "```python", code, *lines[end:]]) if code else text


def _opens(line: str, below: str) -> bool:
    return line.replace(" ", "").lower() in _TAGS and below.lstrip()[:1] == "{"


def _code_of(lines: Sequence[str]) -> str:
    """The code of the cells; empty if the lines are no notebook."""
    try:
        notebook = json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return ""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    sources = [
        source
        for cell in (cells[:_MOST_CELLS] if isinstance(cells, list) else [])
        if isinstance(cell, dict) and cell.get("cell_type") == "code" and (source := _source(cell)).strip()
    ]
    code = "\n\n".join(sources)
    return "" if "```" in code else code


def _source(cell: dict[str, object]) -> str:
    source = cell.get("source")
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else ""
