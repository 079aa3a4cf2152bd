"""Cells that the service adds to a run by itself."""
