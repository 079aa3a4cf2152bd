"""Reads sentences and outputs into checks."""
