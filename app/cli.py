"""The command line `samehere`: assembles the commands of `app.command.groups`."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from app.command.groups.machine import machine
from app.command.groups.reports import reports
from app.command.groups.runs import runs
from app.command.groups.service import service
from app.command.groups.webhooks import webhook_commands
from app.command.service.exit_status import status_of_error
from app.command.terminal.consoles import errors, print_line
from app.errors import SamehereError
from app.extras import missing_extra
from worker.contract.settings.names import unknown_settings, warning_of


def _show_version(value: bool) -> None:  # noqa: FBT001  # typer calls it so
    if value:
        print_line(f"samehere {version('samehere')}")
        raise typer.Exit


application = typer.Typer(
    name="samehere",
    help=(
        "Settles bug reports on real hardware: "
        "does it happen, where, how often, and is it a defect or rounding?"
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@application.callback()
def _options(
    *,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options that stand before a command, and name the variables that no command reads."""
    for name, nearest in unknown_settings(os.environ).items():
        errors().print(f"samehere: {warning_of(name, nearest)}", style="yellow", soft_wrap=True)
        # The processes that this one starts need not say it again.
        del os.environ[name]


for group in (reports, runs, webhook_commands, service, machine):
    application.add_typer(group)


def main() -> None:
    """Run the command line. A known error is printed as one line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A character that the terminal lacks must not end the answer.
            stream.reconfigure(errors="backslashreplace")
    try:
        application()
    except SamehereError as error:
        errors().print(f"samehere: {error.message}", style="red", soft_wrap=True)
        sys.exit(status_of_error(error))
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        errors().print(f"samehere: {missing.message}", style="red", soft_wrap=True)
        sys.exit(status_of_error(missing))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
