"""`samehere serve`: starts the supervisor. Options of the command line override the settings."""

from __future__ import annotations

import sys

from app.command.service.configuration import load_settings
from app.errors import SetupError


def serve(*, host: str | None, port: int | None, no_node: bool, demo: bool = False) -> int:
    """Run the service until a signal stops it. Raises SetupError."""
    if sys.platform != "linux" and not no_node:
        raise SetupError("Nodes run on Linux only; here: samehere serve --no-node.")
    try:
        from app.serve.demo import demo_settings
        from app.serve.supervisor import serve as run
    except ImportError as error:
        raise SetupError(
            f"The service is not installed here ({error.name}): "
            "pip install 'samehere[service,embedded,node]'."
        ) from error
    settings = load_settings(host=host, port=port)
    return run(demo_settings(settings) if demo else settings, with_node=not no_node)
