"""Health, readiness and metrics, for operators and their tools."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.api.answers.run_answer import base_address
from app.api.bodies import HealthBody
from app.api.exposition import service_metrics
from app.api.openapi.meanings import llms_text
from app.errors import UnavailableError
from app.http.checked_route import CheckedRoute
from app.http.problems import problem_responses
from app.http.state import BrokerDep, SessionDep, SettingsDep, state_of
from app.runs.lookup.metrics import Snapshot, snapshot
from app.runs.rows.nodes import fleet
from app.runs.submission.canary import canary_passed, require_canary
from app.settings import ServiceSettings
from app.storage.session import is_unavailable

router = APIRouter(tags=["operations"], route_class=CheckedRoute)


@router.get("/healthz", operation_id="health", responses=problem_responses())
async def get_health() -> HealthBody:
    """The process is alive. It needs no thread, so it is answered while all of them are busy."""
    return HealthBody(status="alive")


@router.get("/readyz", operation_id="readiness", responses=problem_responses())
def get_ready(request: Request, session: SessionDep, broker: BrokerDep, settings: SettingsDep) -> HealthBody:
    """Whether the service can work.

    Database and broker answer, the schema is current, the service's own node has connected, and the last
    canary ended in time with its known verdict.
    """
    # The first use of a session also checks the schema.
    session.connection()
    broker.ping()
    _require_own_node(request, session, settings)
    require_canary(session, settings=settings)
    return HealthBody(status="ready")


@router.get("/llms.txt", include_in_schema=False)
def get_llms(request: Request) -> Response:
    """The API in brief, for language models (llmstxt.org)."""
    return Response(llms_text().format(base=base_address(request)), media_type="text/markdown")


def _require_own_node(request: Request, session: Session, settings: ServiceSettings) -> None:
    """Raise UnavailableError until the service's own node has connected once.

    Before that, no submission can be planned. If the node goes away later, its runs wait for it.
    """
    state = request.app.state
    if settings.awaited_node is None or getattr(state, "awaited_node_came", False):
        return
    if all(hello.node != settings.awaited_node for hello in fleet(session, settings=settings)):
        raise UnavailableError("The service's own node has not connected yet.", code="no_node")
    state.awaited_node_came = True


@router.get(
    "/metrics",
    operation_id="metrics",
    response_class=Response,
    responses={
        200: {"description": "Metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **problem_responses(),
    },
)
def get_metrics(request: Request) -> Response:
    """Metrics for Prometheus: of the whole service, and of this web process.

    They are answered without the database, too: `samehere_database_up` is then 0.
    """
    state = state_of(request)
    figures: Snapshot | None = None
    passed = False
    try:
        with state.sessions() as session:
            figures = snapshot(session, state.broker)
            passed = canary_passed(session, settings=state.settings)
    except SQLAlchemyError as error:
        if not is_unavailable(error):
            raise
    content = service_metrics(figures, canary_passed=passed) + generate_latest(state.meters.registry)
    return Response(content, media_type=CONTENT_TYPE_LATEST)
