"""Questions to the reporter, in fixed words. They hold no byte of a report or a script."""

from __future__ import annotations

from collections.abc import Sequence

from app.intake.code.definitions_only import only_defines
from app.intake.code.syntax import tree_of
from app.intake.reading import Ask, NeedKind, Script, ScriptRole

_TEXTS = {
    "no_script": "Send the script that shows it, as text in a code block.",
    "no_script_but_link": (
        "Send the script that shows it, as text in a code block."
        " Links are never opened, and pictures can't be read."
    ),
    "no_python": "Send a Python script: the code in this report is in another language or can't be parsed.",
    "undefined_name": "The script uses a name that it never defines. Send a script that runs by itself.",
    "file": "The script reads a file that is not in the report. Send a script that makes its data itself.",
    "arguments": (
        "The script needs command-line arguments or a launcher."
        " Send a script that runs by itself, without any."
    ),
    "nothing_calls_it": (
        "The script only defines functions or classes, and nothing calls them."
        " Send the lines that call them too."
    ),
    "input": "The script reads input from the keyboard. Send a script that runs by itself.",
}
# These questions share a code, so that a program has one case for "there is no code".
_CODES = {"no_script_but_link": "no_script"}
QUESTIONS_ABOUT_NEEDS = {NeedKind.FILE: "file", NeedKind.ARGUMENTS: "arguments", NeedKind.INPUT: "input"}


def ask(name: str) -> Ask:
    """The question with this name."""
    return Ask(code=_CODES.get(name, name), text=_TEXTS[name])


def asks_of(scripts: Sequence[Script]) -> tuple[Ask, ...]:
    """Questions about needs of the main script that only the reporter can meet."""
    codes = {
        QUESTIONS_ABOUT_NEEDS[need.kind]
        for script in scripts
        if script.role is ScriptRole.MAIN
        for need in script.needs
        if need.kind in QUESTIONS_ABOUT_NEEDS
    }
    if any(script.role is ScriptRole.MAIN and _only_defines(script) for script in scripts):
        codes.add("nothing_calls_it")
    return tuple(ask(code) for code in sorted(codes))


def _only_defines(script: Script) -> bool:
    tree = tree_of(script.script)
    return tree is not None and only_defines(tree)
