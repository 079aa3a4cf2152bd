"""Observations and a claim in, verdicts, comparisons and causes out. Pure and total."""
