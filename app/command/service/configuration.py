"""The settings of a command: environment variables, and options that override them."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from app.errors import SetupError
from app.settings import ServiceSettings


def load_settings(**options: Any) -> ServiceSettings:
    """Read the settings; an option that is None does not count.

    Raises SetupError, which names the wrong option or variable.
    """
    try:
        return ServiceSettings(**{name: value for name, value in options.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if not first["loc"]:
            # The message of a rule over several settings names them.
            raise SetupError(f"{first['msg'].removeprefix('Value error, ')}.", code="bad_setting") from None
        name = str(first["loc"][0])
        source = f"--{name}" if options.get(name) is not None else f"SAMEHERE_{name.upper()}"
        raise SetupError(f"{source}: {first['msg']}.", code="bad_setting") from error


def own_address(settings: ServiceSettings) -> str:
    """The URL of the service of this machine."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"
