"""`samehere serve`: starts the supervisor. Options of the command line override the settings."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from app.command.service.configuration import load_settings
from app.errors import SetupError
from worker.contract.own_process import own_environment, python_command


def serve(*, host: str | None, port: int | None, no_node: bool, demo: bool = False) -> NoReturn:
    """Become the service, which runs until a signal stops it. Raises SetupError."""
    if sys.platform != "linux" and not no_node:
        raise SetupError("Nodes run on Linux only; here: samehere serve --no-node.")
    try:
        import app.serve.supervisor  # noqa: F401
        from app.serve.demo import demo_settings
    except ImportError as error:
        raise SetupError(
            f"The service is not installed here ({error.name}): "
            "pip install 'samehere[service,embedded,node]'."
        ) from error
    settings = load_settings(host=host, port=port)
    if demo:
        demo_settings(settings)
    options = {"--host": host, "--port": port}
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    flags = [name for name, value in (("--no-node", no_node), ("--demo", demo)) if value]
    # The supervisor takes the place of this process, without the memory of the command line.
    command = python_command("-m", "app.serve", *words, *flags)
    os.execve(command[0], command, own_environment())  # noqa: S606
