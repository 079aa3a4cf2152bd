"""The part of a result that describes the run: output, values, devices, times.

Bytes and seconds, as the names say.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from worker.contract.bounds import (
    Count,
    CutName,
    Explanation,
    Facts,
    MachineCount,
    Moment,
    Name,
    Names,
    Number,
    Seconds,
    Shape,
    SmallCount,
    Stream,
    Whole,
)
from worker.contract.message import Message
from worker.contract.passage import PassedPoints
from worker.contract.trace import Trace

# The harness has the same limits.
MOST_WARNINGS = 40
MOST_WARNING_TEXT = 1_000


class ExceptionFacts(Message):
    """An uncaught exception: its qualified type, such as `torch.OutOfMemoryError`, and its message."""

    type: CutName
    message: Explanation = ""


class ValueStatistics(Message):
    """Statistics of the elements of a captured value.

    `least`, `greatest` and `mean` are of the finite elements, and None if there are none. The others are
    counts.
    """

    least: Number | None = None
    greatest: Number | None = None
    mean: Number | None = None
    nan: Count = 0
    positive_infinite: Count = 0
    negative_infinite: Count = 0
    zero: Count = 0


class CapturedWarning(Message):
    """A warning that was shown while the script ran, as the harness reports it.

    `category` is the qualified type, `base` the first of its bases that Python itself has. `file` and `line`
    are the place that the warning names; `script_line` is the line of the script that led to it, 0 without
    one. `count` is how often it was shown.
    """

    category: CutName
    base: CutName = ""
    text: Annotated[Explanation, Field(max_length=MOST_WARNING_TEXT)] = ""
    file: CutName = ""
    line: SmallCount = 0
    script_line: SmallCount = 0
    count: Count = 1


class CapturedValue(Message):
    """A number, tensor or array of a script.

    The harness reports it, so it may withhold a verdict but never clear one.

    `name` is a top-level name at the end of the script, or `print[k]` for the k-th tensor that was formatted.
    `shape` has one length per dimension, and is empty for a number. `digest` is `sha256:` and the hash of the
    elements, little-endian, in row-major order. `data` is those bytes in base64; it is empty if there are too
    many.
    """

    name: Name
    origin: Literal["final", "printed"] = "final"
    kind: Literal["tensor", "array", "number"] = "number"
    dtype: Name
    shape: Shape = Field(default_factory=list)
    device: Name = "cpu"
    digest: Name = ""
    data: Stream = ""
    statistics: ValueStatistics | None = None


class CardReading(Message):
    """The driver's values of one card at one time.

    `temperature` is in degrees Celsius. The ECC counts are since the driver was loaded. `xids` are the
    numbers of the driver's faults since the node started, oldest first. `throttled` names the reasons for a
    slower clock.
    """

    index: MachineCount
    temperature: Whole | None = None
    # The memory that is in use, by whomever. None if the driver does not say.
    memory_used_bytes: Count | None = None
    ecc_corrected: Count = 0
    ecc_uncorrected: Count = 0
    remapping_failed: bool = False
    throttled: Names = Field(default_factory=list)
    xids: Annotated[list[Count], Field(max_length=1_000)] = Field(default_factory=list)
    # When the card's last check passed, in seconds since 1970 by the node's clock. Results with the same
    # value rest on the same check.
    sound_at: Moment | None = None


class Observation(Message):
    """The observed behaviour of an attempt.

    Streams are decoded as UTF-8 with replacement and may be cut. `stdout_bytes` and the digests are of all
    bytes.
    """

    exit_status: Whole | None = None
    # The name of the signal that ended the script, such as `SIGSEGV`.
    signal: Name | None = None
    exception: ExceptionFacts | None = None
    stdout: Stream = ""
    stderr: Stream = ""
    stdout_bytes: Count = 0
    stderr_bytes: Count = 0
    stdout_digest: Name = ""
    stderr_digest: Name = ""
    # True if a part of `stdout` or `stderr` is left out.
    truncated: bool = False
    # `cpu`, `cuda:0`, …, from the harness in the script's process: may withhold a verdict but never clear
    # one.
    devices_used: Names = Field(default_factory=list)
    # The device nodes that a process of the attempt held open, seen from outside the sandbox.
    devices_opened: Names = Field(default_factory=list)
    # The granted cards on which a process of the attempt computed, as the driver reports it: `cuda:0`, ….
    # None if the driver can't tell.
    devices_computed: Names | None = None
    # The granted cards after the attempt, in the order of the grant.
    cards: Annotated[list[CardReading], Field(max_length=1_000)] = Field(default_factory=list)
    # How long the attempt waited for its cards after it had started. The time counts against no limit and is
    # no part of `wall_seconds`. None: it had its cards from the start, or none.
    card_waited_seconds: Seconds | None = None
    # How long the attempt had its cards, from its touch or its start until its sandbox was gone, for all of
    # them together. 0: it never touched them. None: it had none, or an older node ran it.
    card_seconds: Seconds | None = None
    # Whether other attempts may have computed on its card at the same time. Then it counts only if an attempt
    # that had its card alone shows the same.
    card_shared: bool = False
    # The numeric flags at the end of the script, and those of them that the script changed.
    flags: Facts = Field(default_factory=dict)
    flags_changed: Facts = Field(default_factory=dict)
    # The final top-level values, then the tensors that were formatted.
    values: Annotated[list[CapturedValue], Field(max_length=10_000)] = Field(default_factory=list)
    # The number of further values that had no room.
    values_omitted: Count = 0
    # The warnings that were shown, in order. None if they were not noted: the script never imported
    # `warnings`, it ended by a signal, or an older node ran it.
    warnings: Annotated[list[CapturedWarning], Field(max_length=10_000)] | None = None
    # How often further warnings were shown that had no room.
    warnings_omitted: Count = 0
    # Only with the target's setting `trace`.
    trace: Trace | None = None
    # Only if the attempt asked for it, in the order of its points. From the script's own process: it may
    # withhold a "no", and its word for one counts no more than the end of the script does.
    passage: PassedPoints | None = None
    # With `passage`: the frames that torch's compiler compiled. None without torch.
    compiled_frames: SmallCount | None = None
    # The value of PYTHONHASHSEED.
    hash_seed: Name | None = None
    wall_seconds: Seconds = 0.0
    cpu_seconds: Seconds = 0.0
    peak_memory_bytes: Count = 0
    # At the wall limit only: True if the processes were idle, and the stacks of their threads.
    idle: bool | None = None
    stacks: Stream = ""
