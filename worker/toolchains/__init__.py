"""Toolchains: interpreters with pinned packages, which a node builds or adopts once."""

from worker.toolchains.errors import CancelledError, ToolchainError
from worker.toolchains.store import Toolchain, ToolchainStore

__all__ = ["CancelledError", "Toolchain", "ToolchainError", "ToolchainStore"]
