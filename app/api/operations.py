"""Health, readiness and metrics, for operators and their tools."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from sqlalchemy.orm import Session

from app.api.bodies import HealthBody
from app.errors import UnavailableError
from app.http.problems import problem_responses
from app.http.state import BrokerDep, SessionDep, SettingsDep
from app.runs.lookup.metrics import Snapshot, snapshot
from app.runs.rows.nodes import fleet
from app.runs.submission.canary import require_canary
from app.settings import ServiceSettings

router = APIRouter(tags=["operations"])


@router.get("/healthz", operation_id="health", responses=problem_responses())
def get_health() -> HealthBody:
    """The process is alive."""
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
def get_metrics(session: SessionDep) -> Response:
    """Metrics for Prometheus, read from the database."""
    return Response(_exposition(snapshot(session)), media_type=CONTENT_TYPE_LATEST)


def _exposition(figures: Snapshot) -> bytes:
    registry = CollectorRegistry()
    plain = {
        "queue_length": ("attempts that wait for a node", figures.queue_length),
        "oldest_queued_seconds": (
            "seconds that the oldest of them has waited",
            figures.oldest_queued_seconds,
        ),
        "nodes_ready": ("nodes with a recent sign of life", figures.nodes_ready),
        "nodes_known": ("nodes ever seen", figures.nodes_known),
        "attempts_enqueued": ("attempts queued since the beginning", figures.enqueued),
        "attempts_claimed": ("leases given since the beginning", figures.claimed),
        "attempts_finished": ("attempts recorded", figures.finished),
        "attempts_lost": ("attempts that were lost", figures.lost),
    }
    for name, (words, value) in plain.items():
        Gauge(f"samehere_{name}", words, registry=registry).set(value)
    for name, label, counts in (
        ("attempts", "state", figures.attempts_by_state),
        ("attempts_recorded", "outcome", figures.attempts_by_outcome),
        ("runs", "state", figures.runs_by_state),
    ):
        gauge = Gauge(f"samehere_{name}", f"{name} by {label}", [label], registry=registry)
        for key, count in counts.items():
            gauge.labels(key).set(count)
    return generate_latest(registry)
