"""`probe.py`: one file that shows a script's behaviour in the reporter's own Python.

It is made of the programs that a node runs, so that both observe the same things.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

from worker.harness import reporter_sources

_HEAD = '''#!/usr/bin/env python3
"""probe.py of samehere {version}: shows what a script does on your machine, for a bug report.

    python probe.py script.py [arguments]

In a notebook (Jupyter, Colab): paste all of this into a cell, put your script between the quotes of
SCRIPT below, and run the cell.

It runs the script in a new process of this Python, and prints one block of text to paste into the report:
  - versions, CPU, GPU, and the settings that change numeric results,
  - how the script ended: exit status, signal, exception,
  - the last lines that it printed, and its last numbers and small tensors.
It sends nothing, and installs nothing. It removes names of users and of the machine, folders, mail addresses
and serial numbers.
Python 3.8 or newer, on any system. There is nothing to install.
"""

SCRIPT = r\'\'\'
\'\'\'

import sys

# As a program: the folder of this file may hold anything, and none of it is imported here.
if sys.argv and sys.argv[0] and str(globals().get("__file__", "")).endswith(sys.argv[0]):
    if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
        del sys.path[:1]

'''
_PARTS = """# The same programs that a node of samehere runs; `samehere probe` made this file of them.
SOURCES = {{
{sources}
}}

"""


@cache
def probe_program() -> str:
    """The text of the file."""
    sources = reporter_sources()
    program = sources.pop("program.py")
    parts = "\n".join(f"    {name!r}: r'''{_quotable(text)}'''," for name, text in sorted(sources.items()))
    return _HEAD.format(version=_version()) + _PARTS.format(sources=parts) + program


def _quotable(text: str) -> str:
    """The text, if it can stand between three single quotes unchanged. Raises ValueError."""
    if "'''" in text or not text.endswith("\n"):
        raise ValueError(
            "a program of the harness has three single quotes, or does not end with a line break"
        )
    return text


def _version() -> str:
    try:
        return version("samehere")
    except PackageNotFoundError:
        return "0"
