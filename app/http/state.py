"""The state of a web process, and the dependencies through which routes get it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from sqlalchemy import Engine
from sqlalchemy.orm import Session, sessionmaker

from app.http.announcements import Announcements
from app.http.meters import Meters
from app.http.quotas import Quotas
from app.settings import ServiceSettings
from app.storage.broker import Broker


@dataclass(frozen=True, slots=True)
class WebState:
    """Settings, database and broker of one web process."""

    settings: ServiceSettings
    engine: Engine
    sessions: sessionmaker[Session]
    broker: Broker
    meters: Meters
    announcements: Announcements
    quotas: Quotas
    # Reads of events that several listeners wait for.
    shared_reads: dict[tuple[str, str, int], asyncio.Future[Any]] = field(default_factory=dict)


def state_of(request: Request) -> WebState:
    """The state of the application that answers the request."""
    return cast("WebState", request.app.state.web)


def _session(request: Request) -> Iterator[Session]:
    with state_of(request).sessions.begin() as session:
        yield session


def _settings(request: Request) -> ServiceSettings:
    return state_of(request).settings


def _broker(request: Request) -> Broker:
    return state_of(request).broker


# With the scope "function", the commit comes before the response: a commit that fails is a 5xx, never a 202.
SessionDep = Annotated[Session, Depends(_session, scope="function")]
SettingsDep = Annotated[ServiceSettings, Depends(_settings)]
BrokerDep = Annotated[Broker, Depends(_broker)]
