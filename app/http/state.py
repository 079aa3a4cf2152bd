"""The state of a web process, and the dependencies through which routes get it."""

from __future__ import annotations

from asyncio import Semaphore
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
    # One for each request that may hold a connection of the database, from its first statement to its commit.
    session_places: Semaphore


def session_places(settings: ServiceSettings) -> Semaphore:
    """The places of requests that may hold a connection from step to step.

    The other connections are for work that holds a thread as long as a connection, so that it always comes to
    its end and frees the thread.
    """
    return Semaphore(settings.most_database_connections - max(1, settings.database_pool_size // 4))


def state_of(request: Request) -> WebState:
    """The state of the application that answers the request."""
    return cast("WebState", request.app.state.web)


# The place of the context manager of a request's transaction, in its session.
_TRANSACTION = "transaction"


# These are coroutines, although they wait for nothing: FastAPI runs each plain function in a thread, and the
# way there and back costs more than the function.
async def _session(request: Request) -> AsyncIterator[Session]:
    state = state_of(request)
    # Between its steps a request holds its connection, but no thread. If such requests had all connections,
    # the threads would wait for connections, and these requests for a thread.
    async with state.session_places:
        transaction = state.sessions.begin()
        # This opens no connection: the first statement does.
        session = transaction.__enter__()
        session.info[_TRANSACTION] = transaction
        try:
            yield session
        except BaseException:
            if not await _end(session, *exc_info()):
                raise
        else:
            await _end(session, None, None, None)


async def _end(session: Session, *failure: Any) -> bool:
    """Commit, or roll back after a failure.

    It needs no free thread: all of them may wait for the connection that this gives back. The client may have
    left by now.
    """
    transaction = session.info.pop(_TRANSACTION, None)
    if transaction is None:
        # The route has committed by itself.
        return False
    is_handled = False
    with CancelScope(shield=True):
        is_handled = await to_thread.run_sync(transaction.__exit__, *failure, limiter=CapacityLimiter(1))
    return bool(is_handled)


def commit_here(session: Session) -> None:
    """Commit in this thread, as the last step of a route that then makes no more statements.

    The way to another thread and back takes long on a busy machine.
    """
    session.info.pop(_TRANSACTION).__exit__(None, None, None)


async def _settings(request: Request) -> ServiceSettings:
    return state_of(request).settings


async def _broker(request: Request) -> Broker:
    return state_of(request).broker


# With the scope "function", the commit comes before the response: a commit that fails is a 5xx, never a 202.
SessionDep = Annotated[Session, Depends(_session, scope="function")]
SettingsDep = Annotated[ServiceSettings, Depends(_settings)]
BrokerDep = Annotated[Broker, Depends(_broker)]
