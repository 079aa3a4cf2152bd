"""`probe.py`: one file for a reporter's own Python, made of the programs that a node runs, so that both see the same things."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

from worker.harness import reporter_sources

_HEAD = '''#!/usr/bin/env python3
"""probe.py of samehere {version}: shows what a script does on your machine, for a bug report.

    python probe.py script.py [arguments]

In a notebook (Jupyter, Colab): paste all of this into a cell, put your script between the quotes of SCRIPT below, and run the cell.

It runs the script in a new process of this same Python, and prints one block of text that you paste into the report:
  - versions, CPU and GPU, and settings that change what numbers come out,
  - how the script ended: exit status, signal, exception,
  - the last lines that it printed, and its last numbers and small tensors.
It sends nothing, and installs nothing. It takes out names of users and of the machine, folders, mail addresses and serial numbers.
Python 3.8 or newer, on any system. There is nothing to install.
"""

SCRIPT = r\'\'\'
\'\'\'

'''
_PARTS = """# What a node of samehere runs as well, word for word; `samehere probe` made this file from it.
SOURCES = {{
{sources}
}}

"""


@cache
def probe_program() -> str:
    """The text of the file."""
    sources = reporter_sources()
    program = sources.pop("reporter.py")
    parts = "\n".join(f"    {name!r}: r'''{_quotable(text)}'''," for name, text in sorted(sources.items()))
    return _HEAD.format(version=_version()) + _PARTS.format(sources=parts) + program


def _quotable(text: str) -> str:
    """A text that may stand between three single quotes as it is."""
    if "'''" in text or not text.endswith("\n"):
        raise ValueError(
            "a program of the harness can't stand in probe.py: it has three single quotes, or no last line end"
        )
    return text


def _version() -> str:
    try:
        return version("samehere")
    except PackageNotFoundError:
        return "0"
