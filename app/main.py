"""The web application: REST, pages, and the guards that every request passes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version

from anyio import to_thread
from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import iter_route_contexts
from fastapi.staticfiles import StaticFiles
from sqlalchemy import Engine
from starlette.routing import BaseRoute

from app.api import (
    bisections,
    bundles,
    changes,
    comparisons,
    explain,
    fleet,
    gate,
    maintain,
    operations,
    reports,
    runs,
)
from app.api.doors import github, webhooks
from app.api.openapi.describe import describe
from app.bounded.calls import set_limits, warm_up
from app.bounded.waiting import WaitForPlace
from app.http import problems
from app.http.answers import ApiAnswers
from app.http.guards import Guards
from app.http.meters import Meters
from app.http.one_at_a_time import OneAtATime
from app.http.query import refuse_unknown_query, refuse_unknown_query_of_forms
from app.http.quotas import Quotas
from app.http.request_log import RequestLog, Template, Templates
from app.http.state import WebState, session_places
from app.http.streams.announcements import Announcements
from app.http.streams.feed import Feeds
from app.mcp.door import PATH as MCP_PATH
from app.mcp.door import McpDoor
from app.settings import ServiceSettings
from app.storage.broker import Broker
from app.storage.session import make_engine, session_factory
from app.web.pages import STATIC, DemoMiddleware, problem_page
from app.web.routes import PAGE_ROUTERS

DESCRIPTION = """Reproduces bug reports on real hardware and says what it saw.
Errors are problem documents (RFC 9457). Lists are newest first; `next` is the cursor of the next page.
Ids sort by time. Everything submitted becomes public here."""
# JSON may write one character of a report as six: `\\u00e9`.
BODY_FACTOR = 6
# The paths that take a script or a report.
WITH_REPORT = ("/", "/plan", "/api/v1/runs", "/api/v1/reports:read", MCP_PATH)
# The other fields of a submission, and the JSON around them.
BODY_REST = 64 * 1024


def _version() -> str:
    try:
        return version("samehere")
    except PackageNotFoundError:
        return "0"


@cache
def _routes() -> tuple[BaseRoute, ...]:
    """The routes of every application.

    None depends on settings, and building them takes a quarter of a second: all applications share them.
    """
    everything = APIRouter()
    areas = (
        *(runs, bisections, bundles, comparisons, reports, explain, changes, gate, fleet, maintain),
        *(webhooks, github),
    )
    for area in areas:
        everything.include_router(area.router, prefix="/api/v1", dependencies=[Depends(refuse_unknown_query)])
    everything.include_router(operations.router)
    for router in PAGE_ROUTERS:
        everything.include_router(router, dependencies=[Depends(refuse_unknown_query_of_forms)])
    return tuple(everything.routes)


@cache
def _templates_of_routes() -> tuple[Template, ...]:
    """The templates of the routes that all applications share: finding them takes 10 ms."""
    return _templates_in(_routes())


def _templates_in(routes: Sequence[BaseRoute]) -> tuple[Template, ...]:
    return tuple(
        (route.path_regex, str(route.path), frozenset(route.methods or ()))
        for route in iter_route_contexts(routes)
        if getattr(route, "path_regex", None) is not None
    )


def _templates(application: FastAPI) -> Templates:
    # The shared routes come first.
    own = application.routes[len(_routes()) :]
    return Templates([*_templates_of_routes(), *_templates_in(own)])


def _lifespan(
    settings: ServiceSettings,
    engine: Engine,
    broker: Broker,
    announcements: Announcements,
    quotas: Quotas,
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """The start and the end of the application."""

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        # One thread for each connection, so a thread never waits for a connection.
        to_thread.current_default_thread_limiter().total_tokens = settings.most_database_connections
        set_limits(
            settings.reading_limits,
            at_once=settings.reading_processes,
            strangers=settings.reading_processes_of_strangers,
        )
        warm_up()
        door: McpDoor = application.state.mcp_door
        async with door.serving():
            yield
        await announcements.close()
        await quotas.close()
        engine.dispose()
        broker.close()

    return lifespan


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """The application. Without `settings` they come from the environment variables."""
    chosen = settings or ServiceSettings()
    broker = Broker(chosen)
    engine = make_engine(chosen)
    meters = Meters(version=_version())
    most_bytes = BODY_FACTOR * chosen.read_limits.most_bytes + BODY_REST
    announcements = Announcements(
        chosen.reveal_broker_url() or "", most=chosen.streams, most_of_caller=chosen.caller_streams
    )
    quotas = Quotas(chosen)

    application = FastAPI(
        title="samehere",
        version=_version(),
        description=DESCRIPTION,
        lifespan=_lifespan(chosen, engine, broker, announcements, quotas),
        routes=list(_routes()),
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    application.state.web = WebState(
        settings=chosen,
        engine=engine,
        sessions=session_factory(engine, broker),
        broker=broker,
        meters=meters,
        announcements=announcements,
        quotas=quotas,
        feeds=Feeds(announcements),
        session_places=session_places(chosen),
    )
    door = McpDoor(application, chosen, version=_version(), most_bytes=most_bytes)
    application.state.mcp_door = door
    application.router.routes.append(door.route())
    problems.install(application, page=problem_page)
    application.mount("/static", StaticFiles(directory=STATIC), name="static")
    problems.describe(application)
    describe(application)
    application.add_middleware(WaitForPlace)
    application.add_middleware(ApiAnswers)
    application.add_middleware(OneAtATime)
    application.add_middleware(
        Guards,
        hosts=(*chosen.hosts, chosen.host),
        most_bytes=chosen.body_bytes,
        larger={
            **dict.fromkeys(WITH_REPORT, most_bytes),
            "/api/v1/bundles": chosen.bundle_bytes,
            f"/api/v1{github.PATH}": chosen.github_bytes,
        },
        body_seconds=chosen.body_seconds,
        refuse=partial(problems.respond, page=problem_page),
    )
    if chosen.demo:
        application.add_middleware(DemoMiddleware)
    application.add_middleware(RequestLog, templates=_templates(application), meters=meters)
    return application
