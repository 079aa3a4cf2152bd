"""The exceptions of the sandbox."""

from __future__ import annotations


class SandboxUnavailableError(Exception):
    """This machine can't give the required isolation. The message says why, and how to get it."""


class SetupError(Exception):
    """A job could not be started. The message holds no text of the job."""
