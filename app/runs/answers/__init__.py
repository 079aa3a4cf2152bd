"""The answer of a report, over all its runs."""
