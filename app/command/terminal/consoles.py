"""The two consoles: answers go to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from rich.console import Console

# Where nobody looks at a terminal: wide enough for a table, narrow enough for a log.
PLAIN_WIDTH = 120
NARROWEST = 20


def output() -> Console:
    """For answers."""
    return _console(sys.stdout)


def errors() -> Console:
    """For progress, warnings and errors."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    asked_for = os.environ.get("COLUMNS", "")
    width = int(asked_for) if asked_for.isdigit() and int(asked_for) >= NARROWEST else PLAIN_WIDTH
    return Console(
        file=stream,
        width=None if terminal else width,
        force_terminal=terminal,
        no_color=None if terminal else True,
        markup=False,
        highlight=False,
        emoji=False,
    )
