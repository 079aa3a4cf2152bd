"""The optional parts of an installation, and the messages for what is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from app.errors import SetupError

# Every module outside of the base that the node imports when it starts.
NODE_MODULES = ("celery", "kombu", "psutil", "redis", "tomli_w")

# Modules without which no process of the service starts.
SERVICE_MODULES = ("alembic", "celery", "fastapi", "psycopg", "redis", "sqlalchemy", "uvicorn")


# The part of samehere and the extra that a module belongs to, if these are not those of the service.
_EXTRAS = {
    **dict.fromkeys(("psutil", "tomli_w"), ("node", "node")),
    **dict.fromkeys(("mcp", "mcp_types", "httpx2"), ("MCP server", "mcp")),
}


def require_node(*, otherwise: str = "") -> None:
    """Raise SetupError if the node is not installed. `otherwise`: what the user could do instead."""
    missing = [name for name in NODE_MODULES if not _is_installed(name)]
    if missing:
        raise SetupError(
            f"The node is not installed here ({', '.join(missing)}): pip install 'samehere[node]'{otherwise}."
        )


def require_service() -> None:
    """Raise SetupError if the service is not installed."""
    missing = [name for name in SERVICE_MODULES if not _is_installed(name)]
    if missing:
        raise SetupError(
            f"The service is not installed here ({', '.join(missing)}): "
            "pip install 'samehere[service,embedded]'."
        )


def _is_installed(name: str) -> bool:
    """Whether a module can be imported. An imported one is not looked up: `kombu` then has no spec."""
    return sys.modules.get(name) is not None or find_spec(name) is not None


def missing_extra(error: ModuleNotFoundError) -> SetupError | None:
    """The error for a command whose extra is not installed; None if the missing module is in no extra."""
    name = (error.name or "").partition(".")[0]
    if not name or name in sys.stdlib_module_names or name in {"app", "worker", "migrations"}:
        return None
    part, extras = _EXTRAS.get(name, ("service", "service,embedded"))
    return SetupError(f"The {part} is not installed here ({name}): pip install 'samehere[{extras}]'.")
