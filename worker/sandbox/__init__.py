"""Runs one untrusted program in isolation, and reports exactly how it ended."""

from worker.sandbox.backend import Detection, Sandbox, detect
from worker.sandbox.errors import SandboxUnavailableError
from worker.sandbox.job import Bind, Ending, SandboxJob, SandboxResult, Stream
from worker.sandbox.process.gate import Answer, Gate

__all__ = [
    "Answer",
    "Bind",
    "Detection",
    "Ending",
    "Gate",
    "Sandbox",
    "SandboxJob",
    "SandboxResult",
    "SandboxUnavailableError",
    "Stream",
    "detect",
]
