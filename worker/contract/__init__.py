"""The versioned messages between the trusted side and a node: one attempt in, one result out, and what surrounds them.

Carried as JSON: one object per line on the stream of `python -m worker`, or as the only argument of a Celery task.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from worker.contract.message import Message
from worker.contract.trace import Trace

CONTRACT_VERSION = 1

KIB, MIB, GIB = 1024, 1024**2, 1024**3

Scalar = str | int | float | bool | None
# What was found, flat and dotted (`torch.version`, `cpu.model`, `blas.path`), so that two environments compare field by field.
Environment = dict[str, Scalar | list[str]]


class Device(StrEnum):
    """The device a target grants."""

    CPU = "cpu"
    CUDA = "cuda"


def cards_needed(device: Device, gpus: int) -> int:
    """How many cards a target takes: at least one on CUDA, none on the CPU whatever `gpus` says."""
    return max(1, gpus) if device is Device.CUDA else 0


class AttemptKind(StrEnum):
    """A preview is shown and never counted; a repeat is counted."""

    PREVIEW = "preview"
    REPEAT = "repeat"


class Start(StrEnum):
    """How the interpreter starts: by itself, or from one that is paused after its imports."""

    COLD = "cold"
    WARM = "warm"


class Level(StrEnum):
    """The isolation that was in force, strongest first."""

    NAMESPACES_CGROUP = "ns+seccomp+cgroup"
    NAMESPACES = "ns+seccomp"
    LANDLOCK = "landlock+seccomp"
    LIMITS_ONLY = "limits-only"

    @property
    def rank(self) -> int:
        """0 is the strongest."""
        return list(Level).index(self)

    def satisfies(self, required: Level) -> bool:
        """Whether this level is at least as strong as the required one."""
        return self.rank <= required.rank


class Outcome(StrEnum):
    """What mechanically happened to an attempt; the first that applies, in this order."""

    LOST = "lost"
    CANCELLED = "cancelled"
    SETUP_FAILED = "setup_failed"
    TIMED_OUT = "timed_out"
    OUTPUT_EXCEEDED = "output_exceeded"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    RAISED = "raised"
    EXITED = "exited"
    COMPLETED = "completed"

    @property
    def is_evidence(self) -> bool:
        """False where the script did not run or was stopped: the attempt then says nothing about it."""
        return self not in {Outcome.LOST, Outcome.CANCELLED, Outcome.SETUP_FAILED}


class WhoCanAct(StrEnum):
    """Who could change the outcome or the missing verdict."""

    REPORTER = "reporter"
    MAINTAINER = "maintainer"
    OPERATOR = "operator"
    SERVICE = "service"
    NOBODY = "nobody"


class Reason(Message):
    """Why, by a stable code, with a detail for people and who can do something about it."""

    code: str
    detail: str = ""
    who_can_act: WhoCanAct = WhoCanAct.NOBODY


class Limits(Message):
    """What an attempt may use. Bytes and seconds."""

    wall_seconds: float = Field(default=60.0, gt=0, le=600)
    memory_bytes: int = Field(default=4 * GIB, ge=64 * MIB)
    stream_bytes: int = Field(default=256 * KIB, ge=KIB)
    stream_kill_bytes: int = Field(default=64 * MIB, ge=KIB)
    result_bytes: int = Field(default=4 * MIB, ge=16 * KIB)
    scratch_bytes: int = Field(default=1 * GIB, ge=MIB)
    processes_per_core: int = Field(default=128, ge=1)


class Attempt(Message):
    """One execution of one script on one target: everything a node has to know."""

    type: Literal["attempt"] = "attempt"
    contract: int = CONTRACT_VERSION
    attempt_id: str
    lease_no: int = 1
    kind: AttemptKind = AttemptKind.REPEAT
    start: Start = Start.COLD
    script: str
    toolchain: str
    device: Device = Device.CPU
    gpus: int = Field(default=0, ge=0)
    settings: dict[str, str] = Field(default_factory=dict)
    limits: Limits = Field(default_factory=Limits)
    # Strangers' code is refused below this level.
    required_level: Level = Level.NAMESPACES

    @property
    def cards_needed(self) -> int:
        """How many cards the attempt takes."""
        return cards_needed(self.device, self.gpus)


class Cancel(Message):
    """Asks a node to stop an attempt."""

    type: Literal["cancel"] = "cancel"
    attempt_id: str


class Drain(Message):
    """Asks a node to finish what runs and to take nothing more."""

    type: Literal["drain"] = "drain"


class CardState(StrEnum):
    """Whether a card may be given to attempts: only the first two may."""

    SOUND = "sound"
    UNCHECKED = "unchecked"
    FAULTY = "faulty"
    IN_USE = "in_use"


class Gpu(Message):
    """One card of a node; no serial number, no UUID. `sound_at` is when a check last passed, in seconds since 1970."""

    index: int
    model: str
    memory_bytes: int
    capability: str
    driver: str
    state: CardState = CardState.UNCHECKED
    detail: str = ""
    sound_at: float | None = None


class CardReading(Message):
    """What the driver tells of a card at one time: degrees Celsius, counts since it was loaded, faults (Xid) since the node's start."""

    index: int
    temperature: int | None = None
    ecc_corrected: int = 0
    ecc_uncorrected: int = 0
    remapping_failed: bool = False
    throttled: list[str] = Field(default_factory=list)
    xids: list[int] = Field(default_factory=list)
    # Of the node's clock: what was seen after the same passed check rests on it together.
    sound_at: float | None = None


class ToolchainFacts(Message):
    """What a toolchain on a node holds, as its trusted probe found it. One that is `locked` is built when it is needed."""

    name: str
    state: Literal["ready", "locked", "building", "failed"]
    python: str = ""
    packages: dict[str, str] = Field(default_factory=dict)
    torch: str | None = None
    cuda_build: str | None = None
    # What torch's kernels were compiled for, such as `sm_90` or `compute_90`; empty where that is not known.
    kernels: list[str] = Field(default_factory=list)
    # The toolchain that this one adds packages to.
    base: str = ""
    mkl: bool = False
    # The values of `cpu-isa` that change anything with this toolchain on this node's CPU.
    cpu_isa: list[str] = Field(default_factory=list)
    detail: str = ""


class Hello(Message):
    """A node's first word, and again whenever what it offers changes."""

    type: Literal["hello"] = "hello"
    contracts: list[int] = Field(default_factory=lambda: [CONTRACT_VERSION])
    node: str
    instance: str
    slots: int
    level: Level
    level_detail: str = ""
    gpus: list[Gpu] = Field(default_factory=list)
    toolchains: list[ToolchainFacts] = Field(default_factory=list)
    # How many previews it takes at a time, beside its slots: it runs them warm or sends them back, and never runs them cold.
    previews: int = 0
    # Whether it builds a toolchain that is locked when an attempt asks for it, and what it adds to one that is there (`add_layers`).
    builds: bool = False
    packages_allowed: list[str] = Field(default_factory=list)
    cpu_model: str = ""
    cpu_vendor: str = ""
    cpu_flags: list[str] = Field(default_factory=list)
    cores: int = 1


class Started(Message):
    """An attempt left the node's queue and runs."""

    type: Literal["started"] = "started"
    node: str
    instance: str
    attempt_id: str
    lease_no: int


class ExceptionFacts(Message):
    """An uncaught exception, by its qualified type and its message."""

    type: str
    message: str = ""


class ValueStatistics(Message):
    """Of a captured value's elements. Moments are of the finite ones; None where there are none."""

    least: float | None = None
    greatest: float | None = None
    mean: float | None = None
    nan: int = 0
    positive_infinite: int = 0
    negative_infinite: int = 0
    zero: int = 0


class CapturedValue(Message):
    """A number, tensor or array as a script held it: by the harness, so it may withhold a verdict, never clear one.

    `name` is a top-level name at the end of the script, or `print[k]` for the k-th tensor that was formatted.
    `digest` is `sha256:` of the elements, little-endian, row by row; `data` is those bytes in base64, empty when there are many.
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


class Observation(Message):
    """What an attempt showed. Text is decoded with replacement; the digests are of the bytes, whole."""

    exit_status: int | None = None
    signal: str | None = None
    exception: ExceptionFacts | None = None
    stdout: str = ""
    stderr: str = ""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    stdout_digest: str = ""
    stderr_digest: str = ""
    truncated: bool = False
    # By the harness, in the script's process: may withhold a verdict, never clear one.
    devices_used: list[str] = Field(default_factory=list)
    # From outside: device nodes that a process of the attempt held open.
    devices_opened: list[str] = Field(default_factory=list)
    # From outside, by the driver: the granted cards on which a process of the attempt computed; None where it does not tell.
    devices_computed: list[str] | None = None
    # The granted cards after the attempt.
    cards: list[CardReading] = Field(default_factory=list)
    # Numeric flags at the end of the script, and those that the script changed from how it found them.
    flags: dict[str, Scalar] = Field(default_factory=dict)
    flags_changed: dict[str, Scalar] = Field(default_factory=dict)
    # Final top-level values and tensors that were formatted, in that order of origin; how many more there were.
    values: list[CapturedValue] = Field(default_factory=list)
    values_omitted: int = 0
    # With the target's setting `trace` only.
    trace: Trace | None = None
    hash_seed: str | None = None
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    # At the wall limit only: whether the processes idled, and where they stood.
    idle: bool | None = None
    stacks: str = ""


class Result(Message):
    """One attempt's outcome; the node delivers it at least once, the recorder keeps the first."""

    type: Literal["result"] = "result"
    contract: int = CONTRACT_VERSION
    node: str
    instance: str
    attempt_id: str
    lease_no: int
    kind: AttemptKind = AttemptKind.REPEAT
    start: Start = Start.COLD
    # Why an attempt that asked for a warm start had a cold one.
    start_reason: Reason | None = None
    level: Level | None = None
    outcome: Outcome
    reason: Reason | None = None
    observation: Observation = Field(default_factory=Observation)
    environment: Environment = Field(default_factory=dict)


class Draining(Message):
    """A node takes nothing more; what it was given and has not started goes to others."""

    type: Literal["draining"] = "draining"
    node: str
    instance: str


class Refused(Message):
    """A line on the stream that is no message; nothing was done."""

    type: Literal["refused"] = "refused"
    detail: str


class Heartbeat(Message):
    """The value of a node's broker key, which expires by itself."""

    node: str
    instance: str
    running: list[str] = Field(default_factory=list)
    free_slots: int = 0
    draining: bool = False


ToNode = Annotated[Attempt | Cancel | Drain, Field(discriminator="type")]
FromNode = Annotated[Hello | Started | Result | Draining | Refused, Field(discriminator="type")]

to_node: TypeAdapter[ToNode] = TypeAdapter(ToNode)
from_node: TypeAdapter[FromNode] = TypeAdapter(FromNode)
