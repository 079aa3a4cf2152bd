"""Commands of a node's operator: `node`, `toolchain` and `doctor`.

`python -m worker` has their options and help texts.
"""

from __future__ import annotations

from typing import Any

import typer

from app.command.groups.options import GROUP_SETTINGS

machine = typer.Typer(**GROUP_SETTINGS)

# Every word goes on to the worker, `--help` too.
_ALL_WORDS: dict[str, Any] = {
    "context_settings": {
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
    "add_help_option": False,
}


@machine.command(**_ALL_WORDS, short_help="Offer this machine to a service.")
def node(words: typer.Context) -> None:
    """Offer this machine to a service, as a node."""
    _become_worker("node", words)


@machine.command(**_ALL_WORDS, short_help="Build and list the interpreters for scripts.")
def toolchain(words: typer.Context) -> None:
    """Build, adopt, list and remove the interpreters that scripts run in."""
    _become_worker("toolchain", words)


@machine.command(**_ALL_WORDS, short_help="Say what this machine can do as a node.")
def doctor(words: typer.Context) -> None:
    """Say what this machine can do as a node, and what is missing."""
    _become_worker("doctor", words)


def _become_worker(command: str, context: typer.Context) -> None:
    from app.command.node import become_worker

    become_worker([command, *context.args])
