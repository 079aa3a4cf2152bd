"""Calls and arguments that the words of a report tell."""
