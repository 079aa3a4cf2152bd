"""Alembic's folder; a package, so that a wheel carries it."""
