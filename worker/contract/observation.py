"""The part of a result that describes the run: output, values, devices, times.

Bytes and seconds, as the names say.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from worker.contract.message import Message
from worker.contract.trace import Trace

Scalar = str | int | float | bool | None


class ExceptionFacts(Message):
    """An uncaught exception: its qualified type, such as `torch.OutOfMemoryError`, and its message."""

    type: str
    message: str = ""


class ValueStatistics(Message):
    """Statistics of the elements of a captured value.

    `least`, `greatest` and `mean` are of the finite elements, and None if there are none. The others are
    counts.
    """

    least: float | None = None
    greatest: float | None = None
    mean: float | None = None
    nan: int = 0
    positive_infinite: int = 0
    negative_infinite: int = 0
    zero: int = 0


class CapturedValue(Message):
    """A number, tensor or array of a script.

    The harness reports it, so it may withhold a verdict but never clear one.

    `name` is a top-level name at the end of the script, or `print[k]` for the k-th tensor that was formatted.
    `shape` has one length per dimension, and is empty for a number. `digest` is `sha256:` and the hash of the
    elements, little-endian, in row-major order. `data` is those bytes in base64; it is empty if there are too
    many.
    """

    name: str
    origin: Literal["final", "printed"] = "final"
    kind: Literal["tensor", "array", "number"] = "number"
    dtype: str
    shape: list[int] = Field(default_factory=list)
    device: str = "cpu"
    digest: str = ""
    data: str = ""
    statistics: ValueStatistics | None = None


class CardReading(Message):
    """The driver's values of one card at one time.

    `temperature` is in degrees Celsius. The ECC counts are since the driver was loaded. `xids` are the
    numbers of the driver's faults since the node started, oldest first. `throttled` names the reasons for a
    slower clock.
    """

    index: int
    temperature: int | None = None
    ecc_corrected: int = 0
    ecc_uncorrected: int = 0
    remapping_failed: bool = False
    throttled: list[str] = Field(default_factory=list)
    xids: list[int] = Field(default_factory=list)
    # When the card's last check passed, in seconds since 1970 by the node's clock. Results with the same
    # value rest on the same check.
    sound_at: float | None = None


class Observation(Message):
    """The observed behaviour of an attempt.

    Streams are decoded as UTF-8 with replacement and may be cut. `stdout_bytes` and the digests are of all
    bytes.
    """

    exit_status: int | None = None
    # The name of the signal that ended the script, such as `SIGSEGV`.
    signal: str | None = None
    exception: ExceptionFacts | None = None
    stdout: str = ""
    stderr: str = ""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    stdout_digest: str = ""
    stderr_digest: str = ""
    # True if a part of `stdout` or `stderr` is left out.
    truncated: bool = False
    # `cpu`, `cuda:0`, …, from the harness in the script's process: may withhold a verdict but never clear
    # one.
    devices_used: list[str] = Field(default_factory=list)
    # The device nodes that a process of the attempt held open, seen from outside the sandbox.
    devices_opened: list[str] = Field(default_factory=list)
    # The granted cards on which a process of the attempt computed, as the driver reports it: `cuda:0`, ….
    # None if the driver can't tell.
    devices_computed: list[str] | None = None
    # The granted cards after the attempt, in the order of the grant.
    cards: list[CardReading] = Field(default_factory=list)
    # The numeric flags at the end of the script, and those of them that the script changed.
    flags: dict[str, Scalar] = Field(default_factory=dict)
    flags_changed: dict[str, Scalar] = Field(default_factory=dict)
    # The final top-level values, then the tensors that were formatted.
    values: list[CapturedValue] = Field(default_factory=list)
    # The number of further values that had no room.
    values_omitted: int = 0
    # Only with the target's setting `trace`.
    trace: Trace | None = None
    # The value of PYTHONHASHSEED.
    hash_seed: str | None = None
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    # At the wall limit only: True if the processes were idle, and the stacks of their threads.
    idle: bool | None = None
    stacks: str = ""
