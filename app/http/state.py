"""The state of a web process, and the dependencies through which routes get it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from sys import exc_info
from typing import Annotated, Any, cast

from anyio import CancelScope, CapacityLimiter, to_thread
from fastapi import Depends, Request
from sqlalchemy import Engine
from sqlalchemy.orm import Session, sessionmaker

from app.http.meters import Meters
from app.http.quotas import Quotas
from app.http.streams.announcements import Announcements
from app.http.streams.feed import Feeds
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
    feeds: Feeds


def state_of(request: Request) -> WebState:
    """The state of the application that answers the request."""
    return cast("WebState", request.app.state.web)


# These are coroutines, although they wait for nothing: FastAPI runs each plain function in a thread, and the
# way there and back costs more than the function.
async def _session(request: Request) -> AsyncIterator[Session]:
    transaction = state_of(request).sessions.begin()
    # This opens no connection: the first statement does.
    session = transaction.__enter__()
    try:
        yield session
    except BaseException:
        if not await _end(transaction, *exc_info()):
            raise
    else:
        await _end(transaction, None, None, None)


async def _end(transaction: Any, *failure: Any) -> bool:
    """Commit, or roll back after a failure.

    It needs no free thread: all of them may wait for the connection that this gives back. The client may have
    left by now.
    """
    is_handled = False
    with CancelScope(shield=True):
        is_handled = await to_thread.run_sync(transaction.__exit__, *failure, limiter=CapacityLimiter(1))
    return bool(is_handled)


async def _settings(request: Request) -> ServiceSettings:
    return state_of(request).settings


async def _broker(request: Request) -> Broker:
    return state_of(request).broker


# With the scope "function", the commit comes before the response: a commit that fails is a 5xx, never a 202.
SessionDep = Annotated[Session, Depends(_session, scope="function")]
SettingsDep = Annotated[ServiceSettings, Depends(_settings)]
BrokerDep = Annotated[Broker, Depends(_broker)]
