"""The environment of a reporter with the fields that they corrected."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import InputError
from worker.contract import Environment

MOST_CHARACTERS = 200


def corrected_environment(environment: Environment, corrections: Sequence[tuple[str, str]]) -> Environment:
    """The environment with other values for fields that were read. An empty value takes the field away.

    Raises InputError for a value that is too long or no number where one is needed.
    """
    corrected = dict(environment)
    for name, text in corrections:
        value = text.strip()
        if name not in environment or value == str(environment[name]):
            continue
        if len(value) > MOST_CHARACTERS or not value.isprintable():
            raise InputError(
                f"A value of the environment has at most {MOST_CHARACTERS} printable characters.",
                code="bad_environment",
                field="environment",
            )
        if not value:
            del corrected[name]
        elif isinstance(environment[name], int):
            corrected[name] = _number(name, value)
        else:
            corrected[name] = value
    return corrected


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()):
        raise InputError(
            f"{name} is a whole number, such as 8902.", code="bad_environment", field="environment"
        )
    return int(value)
