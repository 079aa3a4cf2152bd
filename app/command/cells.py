"""`samehere cancel`, `rerun` and `add-cell`: the cells of a run on a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.command.service.answers import check_run_id
from app.command.service.client import Client
from app.command.service.configuration import load_settings, own_address
from app.command.terminal.consoles import print_json, print_line
from app.errors import InputError
from app.ids import is_id
from app.states import OPEN_STATES
from app.targets.parse import parse_target


def cancel(run: str, *, cell: str | None, server: str | None, token: str | None, as_json: bool) -> int:
    """Stop a run, or one cell of it, named by the id of its job. Raises SamehereError."""
    if cell is not None and not is_id(cell):
        raise InputError(
            "A cell has the id of its job, 26 characters; `--json` of the run shows it.",
            code="bad_id",
            field="cell",
        )
    action = "cancel" if cell is None else f"cells/{cell}/cancel"
    return _act(run, action, {}, server=server, token=token, as_json=as_json)


def rerun(run: str, *, which: str, server: str | None, token: str | None, as_json: bool) -> int:
    """Run the failed, the undecided or all cells of a run again. Raises SamehereError."""
    return _act(run, "rerun", {"which": which}, server=server, token=token, as_json=as_json)


def add_cell(run: str, target: str, *, server: str | None, token: str | None, as_json: bool) -> int:
    """Add a target to a run. Raises SamehereError."""
    body = {"target": parse_target(target).model_dump(mode="json", exclude_none=True)}
    return _act(run, "cells", body, server=server, token=token, as_json=as_json)


def _act(
    run_id: str,
    action: str,
    body: Mapping[str, Any],
    *,
    server: str | None,
    token: str | None,
    as_json: bool,
) -> int:
    """Change a run on the service, and print its new state. `action` is the last part of the address."""
    check_run_id(run_id)
    client = Client(server or own_address(load_settings()), token=token)
    run = client.act(run_id, action, body)
    if as_json:
        print_json(run)
        return 0
    jobs = [job for job in run.get("jobs", []) if isinstance(job, dict)]
    waiting = sum(job.get("state") in OPEN_STATES for job in jobs)
    print_line(f"{run.get('state')}: {waiting} of {len(jobs)} cells wait or run.")
    print_line(f"{client.url}/runs/{run.get('id')}")
    return 0
