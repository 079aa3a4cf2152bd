"""Fails, but not as claimed."""
raise ValueError("something else altogether")
