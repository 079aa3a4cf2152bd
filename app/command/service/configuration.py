"""The settings as a command sees them: what the environment says, and what an option says over it."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from app.errors import SetupError
from app.settings import ServiceSettings


def load_settings(**over: Any) -> ServiceSettings:
    """Read them; options that are None were not given. Raises SetupError, by the name of what is wrong."""
    try:
        return ServiceSettings(**{name: value for name, value in over.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        shown = f"--{name}" if over.get(name) is not None else f"SAMEHERE_{name.upper()}"
        raise SetupError(f"{shown}: {first['msg']}.", code="bad_setting") from error
