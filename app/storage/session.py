"""Engine and sessions: one transaction per request or task; messages wait in the outbox until it is committed."""

from __future__ import annotations

from sqlalchemy import Engine
from sqlalchemy.orm import Session, sessionmaker

from app.settings import ServiceSettings
from app.storage.broker import Broker


def make_engine(settings: ServiceSettings) -> Engine:
    """An engine on `settings.database_url`."""
    raise NotImplementedError


def session_factory(engine: Engine, broker: Broker | None) -> sessionmaker[Session]:
    """Sessions for `with factory.begin() as session:`. Messages leave through the broker after the commit."""
    raise NotImplementedError
