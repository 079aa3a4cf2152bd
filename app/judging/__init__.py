"""Verdicts, causes and comparisons from a claim and its observations. Pure functions without I/O."""
