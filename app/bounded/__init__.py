"""Runs a pure function on a stranger's text in a process of its own, within limits of time and memory."""
