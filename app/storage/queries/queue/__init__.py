"""Statements about queued attempts, nodes and quarantines."""
