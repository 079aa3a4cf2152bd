"""Alembic's folder of samehere; a package, so that a wheel carries it."""
