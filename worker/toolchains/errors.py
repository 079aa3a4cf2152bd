"""What goes wrong with toolchains, in words for the operator."""

from __future__ import annotations


class ToolchainError(Exception):
    """A toolchain can't be built, adopted, removed or used; the message says why."""


class CancelledError(Exception):
    """Nobody waits for the build any more; it did not fail."""
