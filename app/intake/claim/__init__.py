"""Sentences read into checks."""
