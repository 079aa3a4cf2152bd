"""The settings of a command: environment variables, and options that override them."""

from __future__ import annotations

from app.settings import ServiceSettings
from app.settings import read_settings as load_settings

__all__ = ["load_settings", "own_address"]


def own_address(settings: ServiceSettings) -> str:
    """The URL of the service of this machine."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"
