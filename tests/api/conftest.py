"""The application in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api.web_client import Web, serving

from app.settings import ServiceSettings


@pytest.fixture
def settings(database: str, broker_url: str) -> ServiceSettings:
    """A database and a broker of one's own."""
    return ServiceSettings(database_url=database, broker_url=broker_url, lease_seconds=2.0)


@pytest.fixture
def web(settings: ServiceSettings) -> Iterator[Web]:
    """The application, with the node `n`."""
    with serving(settings) as web:
        web.stage.node("n")
        yield web
