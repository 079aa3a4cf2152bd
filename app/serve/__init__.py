"""`samehere serve`: one process that starts, watches and ends all parts of the service."""

from app import lean_structlog as lean_structlog
