"""Bundles: runs that travel between machines as one file."""
