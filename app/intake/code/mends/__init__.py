"""Mends of code that today's Python can't parse."""
