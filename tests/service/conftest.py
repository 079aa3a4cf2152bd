"""A service without processes: a database, a broker, and nodes that the tests play."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from stage import Stage

from app.settings import ServiceSettings


@pytest.fixture
def stage(database: str, broker_url: str) -> Iterator[Stage]:
    """A database and a broker of one's own."""
    stage = Stage(ServiceSettings(database_url=database, broker_url=broker_url, lease_seconds=2.0))
    yield stage
    stage.close()
