"""Gives a script the command-line arguments with which the report calls it."""

from __future__ import annotations

import re

_COMMAND = re.compile(r"\bpython[\d.]{0,4} +(?:-[uOB] +)?[\w./-]{1,80}\.py (?P<arguments>[^\n`]{1,200})")
_ARGUMENT = re.compile(r"-{0,2}[\w.,:=+-]{1,80}")
# An argument that names a file is one that the reporter has.
_FILE = re.compile(r"[\w-]{1,60}\.[a-z]\w{1,5}$", re.IGNORECASE)
_MOST_TEXT = 60_000
_MOST_ARGUMENTS = 20


def told_arguments(words: str, script: str) -> list[str]:
    """The arguments of the first command that starts a script with some; empty if one is not plain.

    The script has to name each option: otherwise the command is that of another script.
    """
    if ".py " not in words:
        return []
    match = _COMMAND.search(words[:_MOST_TEXT])
    arguments = match["arguments"].split() if match else []
    # Words of a sentence may stand behind the command.
    if not arguments or not (arguments[0].startswith("-") or arguments[0][0].isdigit()):
        return []
    plain: list[str] = []
    for at, argument in enumerate(arguments[:_MOST_ARGUMENTS]):
        above = arguments[at - 1] if at else ""
        if not argument.startswith("-") and not argument[0].isdigit() and not above.startswith("-"):
            break
        option = argument.partition("=")[0] if re.match(r"--?[A-Za-z]", argument) else ""
        if (
            not _ARGUMENT.fullmatch(argument)
            or _FILE.search(argument)
            or (option and f"'{option}'" not in script and f'"{option}"' not in script)
        ):
            return []
        plain.append(argument)
    return plain


def line_of(arguments: list[str]) -> str:
    """The statement that sets them."""
    return f"import sys; sys.argv[1:] = {arguments!r}"
