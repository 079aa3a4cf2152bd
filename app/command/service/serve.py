"""`samehere serve`: starts the supervisor. Options of the command line override the settings."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from app.command.service.configuration import load_settings
from app.errors import SetupError
from app.extras import require_node, require_service
from worker.contract.own_process import own_environment, python_command


def serve(*, host: str | None, port: int | None, no_node: bool, demo: bool = False) -> NoReturn:
    """Become the service, which runs until a signal stops it. Raises SetupError."""
    if sys.platform != "linux" and not no_node:
        raise SetupError("Nodes run on Linux only; here: samehere serve --no-node.")
    # Before the supervisor takes this process's place, so that nothing starts over and over without a part.
    require_service()
    if not no_node:
        require_node(otherwise=", or --no-node")
    settings = load_settings(host=host, port=port)
    if demo:
        # Needs the service, which may be missing until here.
        from app.serve.demo import demo_settings

        demo_settings(settings)
    options = {"--host": host, "--port": port}
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    flags = [name for name, value in (("--no-node", no_node), ("--demo", demo)) if value]
    # The supervisor takes the place of this process, without the memory of the command line.
    command = python_command("-m", "app.serve", *words, *flags)
    os.execve(command[0], command, own_environment())  # noqa: S606
