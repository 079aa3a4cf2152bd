"""Pinned interpreters with packages: built or adopted once per node, shown read-only to what runs."""

from worker.toolchains.errors import CancelledError, ToolchainError
from worker.toolchains.store import Toolchain, ToolchainStore

__all__ = ["CancelledError", "Toolchain", "ToolchainError", "ToolchainStore"]
