"""Runs one untrusted program in isolation, and reports exactly how it ended."""

from worker.sandbox.backend import Detection, Sandbox, detect
from worker.sandbox.errors import SandboxUnavailableError
from worker.sandbox.job import Bind, Ending, SandboxJob, SandboxResult, Stream

__all__ = [
    "Bind",
    "Detection",
    "Ending",
    "Sandbox",
    "SandboxJob",
    "SandboxResult",
    "SandboxUnavailableError",
    "Stream",
    "detect",
]
