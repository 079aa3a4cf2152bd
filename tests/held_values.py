"""Values as the harness captures them, for tests that play a node."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Any

from worker.contract import CapturedValue, Observation, ValueStatistics

CODES = {"torch.float32": "f", "torch.float64": "d", "torch.int64": "q", "float": "d"}


def tensor(name: str, *numbers: float, dtype: str = "torch.float32", **more: Any) -> CapturedValue:
    """A tensor of one dimension, or a single number."""
    data = struct.pack(f"<{len(numbers)}{CODES[dtype]}", *numbers)
    return CapturedValue(
        name=name,
        kind="number" if dtype == "float" else "tensor",
        dtype=dtype,
        shape=[] if len(numbers) == 1 else [len(numbers)],
        digest="sha256:" + hashlib.sha256(data).hexdigest(),
        data=base64.b64encode(data).decode(),
        statistics=ValueStatistics(least=min(numbers), greatest=max(numbers)),
        **more,
    )


def showing(stdout: str, *values: CapturedValue, stderr: str = "", **more: Any) -> Observation:
    """The observation of a script that ended well."""
    return Observation(
        exit_status=0,
        stdout=stdout,
        stdout_bytes=len(stdout.encode()),
        stderr=stderr,
        stderr_bytes=len(stderr.encode()),
        values=list(values),
        **more,
    )
