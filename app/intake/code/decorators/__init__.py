"""Decorators, by what they do with a function."""
