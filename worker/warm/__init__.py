"""Starts a script in a fork of an interpreter that has imported torch, if that can't change its results."""

from worker.warm.starts import WarmRun, WarmStarts, make_warm_starts

__all__ = ["WarmRun", "WarmStarts", "make_warm_starts"]
