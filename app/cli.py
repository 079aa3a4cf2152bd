"""The command line `samehere`: assembles the commands of `app.command.groups`."""

from __future__ import annotations

import sys

import typer

from app.command.groups.machine import machine
from app.command.groups.reports import reports
from app.command.groups.runs import runs
from app.command.groups.service import service
from app.command.service.exit_status import status_of_error
from app.command.terminal.consoles import errors
from app.errors import SamehereError

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
for group in (reports, runs, service, machine):
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
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
