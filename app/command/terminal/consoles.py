"""The two consoles: answers go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from rich.console import Console

# The width without a terminal: wide enough for a table, narrow enough for a log.
PLAIN_WIDTH = 120
NARROWEST = 20


def output() -> Console:
    """The console for answers."""
    return _console(sys.stdout)


def errors() -> Console:
    """The console for progress, warnings and errors."""
    return _console(sys.stderr)


def print_json(data: Any) -> None:
    """Print data as JSON in ASCII to standard output. Raises ValueError for NaN and infinities."""
    print_line(json.dumps(data, indent=1, ensure_ascii=True, allow_nan=False))


def print_line(text: str) -> None:
    """Print text to standard output, as it is, and a line end."""
    sys.stdout.write(text + "\n")


def _console(stream: TextIO) -> Console:
    is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdigit() and int(columns) >= NARROWEST else PLAIN_WIDTH
    return Console(
        file=stream,
        width=None if is_terminal else width,
        force_terminal=is_terminal,
        no_color=None if is_terminal else True,
        markup=False,
        highlight=False,
        emoji=False,
    )
