"""Options that several commands share."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

FILE_VARIABLE = "SAMEHERE_TOKEN_FILE"
# A group of commands: plain help texts, and no name of its own before its commands.
GROUP_SETTINGS: dict[str, Any] = {"no_args_is_help": True, "rich_markup_mode": None}


class FormName(StrEnum):
    """The contents of a file."""

    SCRIPT = "script"
    REPORT = "report"


class IsolationName(StrEnum):
    """Levels of isolation that are used only if they are named."""

    LANDLOCK = "landlock+seccomp"
    LIMITS_ONLY = "limits-only"


class NeedName(StrEnum):
    """The kinds of needs that a submitter may set aside."""

    PACKAGE = "package"
    GPU = "gpu"
    DEVICE = "device"
    FILE = "file"
    NETWORK = "network"
    MEMORY = "memory"
    ARGUMENTS = "arguments"
    INPUT = "input"
    OS = "os"


def token_or_file(token: str | None) -> str | None:
    """The token that the user gave, else the one in the file of SAMEHERE_TOKEN_FILE."""
    file = os.environ.get(FILE_VARIABLE)
    if token is not None or not file:
        return token
    from worker.contract.secret_file import read_secret

    try:
        return read_secret(Path(file))
    except ValueError as error:
        raise typer.BadParameter(f"{FILE_VARIABLE}: {error}") from None


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A .py or .md file, an issue as .json, or - for standard input.",
        show_default=False,
    ),
]
As = Annotated[
    FormName | None,
    typer.Option("--as", help="The contents of FILE; default: by its name, else by its content."),
]
Claim = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="The claim to check, instead of the report's own."),
]
IgnoreNeeds = Annotated[
    list[NeedName] | None,
    typer.Option(help="Run it anyway: a kind of need that was read wrongly; repeat it for more of them."),
]
EnvironmentFields = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A field of the reporter's environment that was read wrongly, such as package.numpy=2.4.0;"
        " without a value it is taken away; repeat it for more of them.",
    ),
]
ClaimFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="A claim as data, in JSON as `read --json` prints it; `-`: standard input."
    ),
]
Isolation = Annotated[
    IsolationName | None,
    typer.Option(
        help="A weaker isolation, or only limits: for a file of your own, if nothing better is available."
    ),
]
Wall = Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of an attempt.")]
Memory = Annotated[int | None, typer.Option(metavar="MIB", help="Memory limit of an attempt.")]
ServiceToken = Annotated[
    str | None,
    typer.Option(
        "--token",
        help="A token of that service; the variable is safer than the option, and a file named by "
        "SAMEHERE_TOKEN_FILE is safest.",
        envvar="SAMEHERE_TOKEN",
        show_envvar=True,
        callback=token_or_file,
    ),
]
Server = Annotated[
    str | None, typer.Option(metavar="URL", help="Run on this service instead of this machine.")
]
OtherServer = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="A service; default: the one of this machine.")
]
Sign = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="Sign the bundle with this private key (`node-key create --signing`)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def form_of(name: FormName | None) -> Literal["auto", "script", "report"]:
    """The form that `--as` names; `auto` without the option."""
    return "auto" if name is None else "script" if name is FormName.SCRIPT else "report"


def isolation_of(name: IsolationName | None) -> Literal["landlock+seccomp", "limits-only"] | None:
    """The level that `--isolation` names."""
    if name is None:
        return None
    return "landlock+seccomp" if name is IsolationName.LANDLOCK else "limits-only"
