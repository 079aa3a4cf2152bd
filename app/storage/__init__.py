"""Postgres and the broker."""
