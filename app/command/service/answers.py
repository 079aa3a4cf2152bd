"""The answers of a service as documents, and the ids in requests to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from app.errors import InputError, UnavailableError
from app.ids import is_id
from app.runs.run_object.bisection_document import BisectionDocument
from app.runs.run_object.document import RunDocument


def run_document(answer: Mapping[str, Any]) -> RunDocument:
    """A run object that a service sent. Raises UnavailableError if this version can't read it."""
    try:
        return RunDocument.model_validate(answer)
    except ValidationError as error:
        raise not_of_this_version("run") from error


def bisection_document(answer: Mapping[str, Any]) -> BisectionDocument:
    """A bisection that a service sent. Raises UnavailableError if this version can't read it."""
    try:
        return BisectionDocument.model_validate(answer)
    except ValidationError as error:
        raise not_of_this_version("bisection") from error


def not_of_this_version(thing: str) -> UnavailableError:
    """The error for an answer that this version can't read."""
    return UnavailableError(
        f"The server's answer is no {thing} of this version: is it a newer or an older samehere?"
    )


def check_run_id(run_id: str) -> None:
    """Raises InputError if this is no id."""
    if not is_id(run_id):
        raise InputError(
            "A run has an id of 26 characters, the last part of its address.", code="bad_id", field="run"
        )
