"""Starts a script in a fork of an interpreter that has torch imported, where that changes nothing of what it shows."""

from worker.warm.starts import WarmRun, WarmStarts, make_warm_starts

__all__ = ["WarmRun", "WarmStarts", "make_warm_starts"]
