"""Estimates: when a cell starts, and how long it takes."""
