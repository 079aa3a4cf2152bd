"""The errors of toolchains; their messages are for the operator."""

from __future__ import annotations


class ToolchainError(Exception):
    """A toolchain can't be built, adopted, removed or used; the message says why."""


class CancelledError(Exception):
    """The build was cancelled, because nobody waits for it any more. It did not fail."""
