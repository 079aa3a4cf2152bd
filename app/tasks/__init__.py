"""Celery on the trusted side."""

from app import lean_structlog as lean_structlog
