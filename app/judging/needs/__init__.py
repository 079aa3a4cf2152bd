"""Tells of each need of a script whether a run exercised it."""
