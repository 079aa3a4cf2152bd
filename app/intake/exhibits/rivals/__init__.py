"""Readings of one report beside each other: which of them name another bug."""
