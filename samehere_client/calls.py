"""The requests of the API, and how their answers are read. Both clients share them."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from samehere_client.errors import UnreachableError
from samehere_client.exchange import PREFIX, WAIT_SECONDS, Request, Response
from samehere_client.models import OPEN_STATES, Event, GateAnswer, Part

_ID = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}")
Model = TypeVar("Model", bound=Part)


def submit(body: Mapping[str, Any], *, key: str | None, wait: float) -> Request:
    """Submit a run. The key makes a repeated request harmless; without one, a random key is taken."""
    headers = {"Idempotency-Key": key or str(uuid.uuid4()), **_wait(wait)}
    return Request("POST", "/runs", body=fields_of(body), headers=headers)


def plan(body: Mapping[str, Any]) -> Request:
    """Plan a run; nothing is stored."""
    return Request("POST", "/runs", body=fields_of(body), query={"dry_run": 1}, is_repeatable=True)


def read(body: Mapping[str, Any]) -> Request:
    """Read a report; nothing is run."""
    return Request("POST", "/reports:read", body=fields_of(body), is_repeatable=True)


def run(run_id: str, *, wait: float = 0) -> Request:
    """A run."""
    return Request("GET", f"/runs/{checked_id(run_id)}", headers=_wait(wait))


def brief(run_id: str, *, wait: float = 0) -> Request:
    """A run in brief."""
    return Request("GET", f"/runs/{checked_id(run_id)}", query={"view": "brief"}, headers=_wait(wait))


def cancel(run_id: str) -> Request:
    """Cancel a run. A second time is harmless."""
    return Request("POST", f"/runs/{checked_id(run_id)}/cancel", body={}, is_repeatable=True)


def gate(issues: Sequence[str]) -> Request:
    """Ask whether issues may be closed."""
    return Request("POST", "/gate", body={"issues": list(issues)}, is_repeatable=True)


def events_path(run_id: str | None) -> str:
    """The path of the events of a run, or of all runs."""
    return PREFIX + ("/events" if run_id is None else f"/runs/{checked_id(run_id)}/events")


def checked_id(run_id: str) -> str:
    """The id. Raises ValueError for anything else, which must not get into a path."""
    if not _ID.fullmatch(run_id):
        raise ValueError("An id has 26 characters, such as the last part of a run's address.")
    return run_id


def fields_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are there."""
    return {name: value for name, value in body.items() if value is not None}


def model_of(kind: type[Model], answer: Response) -> Model:
    """The answer as a model. Raises UnreachableError if it is none of ours."""
    try:
        return kind.model_validate(answer.json())
    except ValidationError as error:
        raise UnreachableError(
            f"The server's answer is no {kind.__name__.lower()}: is this the address of a samehere service?"
        ) from error


def gate_answers_of(answer: Response) -> list[GateAnswer]:
    """The answers of the gate, in the order of the issues."""
    data = answer.json()
    items = data.get("items") if isinstance(data, dict) else None
    try:
        return [GateAnswer.model_validate(item) for item in items or []]
    except (TypeError, ValidationError) as error:
        raise UnreachableError("The server's answer is none of a gate.") from error


def event_of(place: str, kind: str, data: str) -> Event | None:
    """An event; None if its data can't be read."""
    try:
        fields = json.loads(data or "{}")
    except ValueError:
        return None
    return Event(place=place, kind=kind, data=fields) if isinstance(fields, dict) else None


def is_open(state: str) -> bool:
    """Whether a run in this state goes on."""
    return state in OPEN_STATES


def hold_back(seconds: float | None) -> float:
    """How long one request waits of the time that is left; None is without an end."""
    return WAIT_SECONDS if seconds is None else max(0.0, min(WAIT_SECONDS, seconds))


def _wait(seconds: float) -> dict[str, str]:
    return {"Prefer": f"wait={int(seconds)}"} if seconds >= 1 else {}
