"""Checks the App's setup at the start of a process, as the user who will need it."""

from __future__ import annotations

from importlib.util import find_spec

from app.errors import SetupError
from app.runs.github.repositories import repositories
from app.runs.github.secrets import private_key, webhook_secret
from app.settings import ServiceSettings

NO_EXTRA = "The GitHub App needs an extra: pip install 'samehere[github]'."


def check_setup(settings: ServiceSettings) -> None:
    """Raise SetupError if the App is on and could not work. Nothing is asked of GitHub."""
    if not settings.github_is_on:
        return
    webhook_secret(settings)
    private_key(settings)
    repositories(settings)
    if find_spec("githubkit") is None:
        raise SetupError(NO_EXTRA, code="no_extra")
