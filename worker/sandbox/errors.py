"""What the sandbox raises."""

from __future__ import annotations


class SandboxUnavailableError(Exception):
    """No acceptable isolation can be had here; the message says why and how to get it."""


class SetupError(Exception):
    """One job could not be started; the message holds no byte of the job."""
