"""Pinned interpreters with packages: built or adopted once per node, shown read-only to what runs."""

from worker.toolchains.errors import ToolchainError
from worker.toolchains.store import Toolchain, ToolchainStore

__all__ = ["Toolchain", "ToolchainError", "ToolchainStore"]
