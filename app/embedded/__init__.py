"""Postgres and Valkey started and supervised by samehere itself."""
