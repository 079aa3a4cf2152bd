"""Turns one attempt into one result."""
