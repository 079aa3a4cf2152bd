"""`samehere presets`, `cancel`, `rerun` and `add-cell`: what there is to run on, and what to do with the cells of a run on a service."""

from __future__ import annotations

import json as formats
import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from app.states import OPEN_STATES

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Server = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="A service; default: the one of this machine.")
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        help="A token of that service; better by the variable.",
        envvar="SAMEHERE_TOKEN",
        show_envvar=True,
    ),
]
Run = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.", show_default=False)]

application = typer.Typer(rich_markup_mode=None)


class WhichName(StrEnum):
    """Which cells."""

    FAILED = "failed"
    UNDECIDED = "undecided"
    ALL = "all"


@application.command(epilog="Example: samehere presets --json", short_help="List the named sets of targets.")
def presets(
    *,
    server: Annotated[str | None, typer.Option(metavar="URL", help="Those of this service.")] = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List the named sets of targets: ours, and your own from the file that SAMEHERE_PRESETS names."""
    from app.command.service.client import Client
    from app.command.service.configuration import load_settings
    from app.command.terminal.plain_text import visible
    from app.runs.rows.presets import known_presets

    if server is None:
        known = known_presets(load_settings())
        items: list[dict[str, Any]] = [
            {"name": one.name, "summary": one.summary, "repeats": one.repeats, "own": one.own}
            for one in known.values()
        ]
    else:
        items = Client(server, token=token).presets()
    if json:
        sys.stdout.write(formats.dumps(items, indent=1) + "\n")
        return
    for item in items:
        sys.stdout.write(f"{visible(str(item.get('name', ''))):<14}{visible(str(item.get('summary', '')))}\n")


@application.command(
    epilog="Example: samehere cancel 01k1v3q4x5y6z7a8b9c0d1e2f3 --cell 01k1v3q4x5y6z7a8b9c0d1e2f4"
)
def cancel(
    run: Run,
    *,
    cell: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this cell, by the id of its job; the others go on.")
    ] = None,
    server: Server = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Stop a run, or one cell of it. What was recorded stays."""
    from app.ids import is_id

    if cell is not None and not is_id(cell):
        from app.errors import InputError

        raise InputError(
            "A cell has the id of its job, 26 characters; `--json` of the run has it.",
            code="bad_id",
            field="cell",
        )
    _act(
        run,
        "cancel" if cell is None else f"cells/{cell}/cancel",
        {},
        server=server,
        token=token,
        as_json=json,
    )


@application.command(epilog="Example: samehere rerun 01k1v3q4x5y6z7a8b9c0d1e2f3 --which failed")
def rerun(
    run: Run,
    *,
    which: Annotated[
        WhichName,
        typer.Option(
            help="failed: stopped, not recorded or not served; undecided: those, and what can't show the claim; all: a new run."
        ),
    ] = WhichName.FAILED,
    server: Server = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Run cells of a run again. What was recorded stays, and counts no more in these cells."""
    _act(run, "rerun", {"which": which.value}, server=server, token=token, as_json=json)


@application.command(
    "add-cell", epilog="Example: samehere add-cell 01k1v3q4x5y6z7a8b9c0d1e2f3 cpu@torch-2.13-cu130"
)
def add_cell(
    run: Run,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="As for reproduce --target.", show_default=False)
    ],
    *,
    server: Server = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Add a target to a run: the cell that is missing. The run is open again until it is judged."""
    from app.targets.parse import parse_target

    asked = parse_target(target).model_dump(mode="json", exclude_none=True)
    _act(run, "cells", {"target": asked}, server=server, token=token, as_json=json)


def _act(
    run: str, what: str, body: Mapping[str, Any], *, server: str | None, token: str | None, as_json: bool
) -> None:
    """Do it on the service, and say what the run is then."""
    from app.command.exchange import own_address
    from app.command.service.client import Client
    from app.command.service.configuration import load_settings
    from app.errors import InputError
    from app.ids import is_id

    if not is_id(run):
        raise InputError(
            "A run has an id of 26 characters, the last part of its address.", code="bad_id", field="run"
        )
    client = Client(server or own_address(load_settings()), token=token)
    found = client.act(run, what, body)
    if as_json:
        sys.stdout.write(formats.dumps(found, indent=1, ensure_ascii=True, allow_nan=False) + "\n")
        return
    jobs = [job for job in found.get("jobs", []) if isinstance(job, dict)]
    waiting = sum(job.get("state") in OPEN_STATES for job in jobs)
    sys.stdout.write(
        f"{found.get('state')}: {waiting} of {len(jobs)} cells wait or run.\n{client.url}/runs/{found.get('id')}\n"
    )
