"""Reads messages that were stored before the contract had its present bounds."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

log = structlog.get_logger(__name__)
ModelT = TypeVar("ModelT", bound=BaseModel)
# One fault can hide another one behind it, so a message is read again after each removal.
MOST_ROUNDS = 8


def read_stored(model: type[ModelT], data: Mapping[str, Any]) -> ModelT:
    """The stored message, without the parts that the contract refuses today.

    A fault within an item of a list removes the item; any other fault removes its field, which then has its
    default. So one bad value never hides the rest. Raises ValidationError if a required field is bad.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fault = error
    remaining = copy.deepcopy(dict(data))
    for _ in range(MOST_ROUNDS):
        places = {
            place for each in fault.errors(include_url=False) if (place := _place(remaining, each["loc"]))
        }
        if not places:
            raise fault
        for place in sorted(places, key=_order, reverse=True):
            _remove(remaining, place)
        try:
            message = model.model_validate(remaining)
        except ValidationError as error:
            fault = error
            continue
        log.warning("stored_parts_left_out", kind=model.__name__, parts=len(places))
        return message
    raise fault


Place = tuple[str | int, ...]


def _order(place: Place) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Items of one list in their order, and what lies deeper behind what contains it."""
    return len(place), tuple((part, "") if isinstance(part, int) else (-1, part) for part in place)


def _place(data: object, location: Iterable[str | int]) -> Place:
    """The part to remove: the nearest list item around a fault, else the field itself.

    It is empty if there is none. A location may go on with names of types, which are no parts of the data.
    """
    place = list[str | int]()
    item = 0
    for part in location:
        if isinstance(part, str) and isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(part, int) and isinstance(data, list) and part < len(data):
            data = data[part]
            item = len(place) + 1
        else:
            break
        place.append(part)
    return tuple(place[:item] if item else place)


def _remove(data: Any, place: Place) -> None:
    for part in place[:-1]:
        data = data[part]
    del data[place[-1]]
