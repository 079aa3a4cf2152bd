"""Runs one untrusted program in isolation, and reports exactly how it ended."""

from worker.sandbox.backend import Detected, Sandbox, detect
from worker.sandbox.errors import SandboxUnavailableError
from worker.sandbox.job import Bind, Ending, SandboxJob, SandboxResult, Stream

__all__ = [
    "Bind",
    "Detected",
    "Ending",
    "Sandbox",
    "SandboxJob",
    "SandboxResult",
    "SandboxUnavailableError",
    "Stream",
    "detect",
]
