"""A Python client of a samehere service: typed, for programs with and without an event loop.

It needs `httpx2` and `pydantic`, and nothing else of samehere.
"""

from samehere_client.errors import (
    ApiError,
    CertificateError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    MovedError,
    NotFoundError,
    Problem,
    QuotaError,
    TooLargeError,
    UnauthorisedError,
    UnavailableError,
    UnreachableError,
)
from samehere_client.in_loop import AsyncClient
from samehere_client.models import Answer, Brief, Event, GateAnswer, NextStep, Reading, Run
from samehere_client.plain import Client

__all__ = [
    "Answer",
    "ApiError",
    "AsyncClient",
    "Brief",
    "CertificateError",
    "Client",
    "ConflictError",
    "Event",
    "ForbiddenError",
    "GateAnswer",
    "InvalidError",
    "MovedError",
    "NextStep",
    "NotFoundError",
    "Problem",
    "QuotaError",
    "Reading",
    "Run",
    "TooLargeError",
    "UnauthorisedError",
    "UnavailableError",
    "UnreachableError",
]
