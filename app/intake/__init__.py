"""Reads a text into scripts, a claim, an environment and needs. No I/O."""
