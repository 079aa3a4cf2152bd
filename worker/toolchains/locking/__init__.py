"""Resolves requirements into a lock."""
