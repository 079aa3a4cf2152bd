"""The metrics of one web process: requests, refusals, and the process itself. A restart sets them to zero."""

from __future__ import annotations

import platform
from contextvars import ContextVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Meters:
    """The registry of a web process and its metrics. Labels have few values: templates, never paths."""

    def __init__(self, *, version: str) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "samehere_http_request_seconds",
            "Time from a request to the end of its answer, by template of the route.",
            ["method", "route", "status"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._refusals = Counter(
            "samehere_http_refusals",
            "Requests answered with a problem, by its stable code.",
            ["code"],
            registry=self.registry,
        )
        # The first of its kind must count for `increase`, which sees no series before its second sample.
        self._refusals.labels("fault")
        self._failed_parts = Counter(
            "samehere_page_parts_failed",
            "Parts of pages that could not be drawn: each page said so in their place.",
            registry=self.registry,
        )
        Gauge(
            "samehere_build_info",
            "Always 1; the labels are the versions of the web.",
            ["version", "python"],
            registry=self.registry,
        ).labels(version, platform.python_version()).set(1)
        ProcessCollector(registry=self.registry)

    def note_request(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        known = method if method in METHODS else "other"
        self._requests.labels(known, route, str(status)).observe(seconds)

    def note_refusal(self, code: str) -> None:
        """Count one answer with a problem."""
        self._refusals.labels(code).inc()

    def note_failed_part(self) -> None:
        """Count one part of a page that could not be drawn."""
        self._failed_parts.inc()


# The meters of the request that is answered, for what knows no request.
current_meters: ContextVar[Meters | None] = ContextVar("current_meters", default=None)
