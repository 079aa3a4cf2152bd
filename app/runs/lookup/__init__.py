"""Queries for pages and REST."""
