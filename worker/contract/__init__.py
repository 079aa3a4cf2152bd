"""The versioned messages between the service and a node. Bytes and seconds, as the names say.

A message is JSON: one object per line on the stream of `python -m worker`, or the only argument of a Celery
task.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from worker.contract.bounds import (
    BaseName,
    Capability,
    CardName,
    Count,
    CutName,
    MachineCount,
    Moment,
    Name,
    Names,
    NodeName,
    Packages,
    SettingValues,
    SmallCount,
    Stream,
    Text,
    ToolchainName,
)
from worker.contract.bounds import Environment as Environment
from worker.contract.bounds import Explanation as Explanation
from worker.contract.bounds import Scalar as Scalar
from worker.contract.message import Message
from worker.contract.observation import CapturedValue as CapturedValue
from worker.contract.observation import CapturedWarning as CapturedWarning
from worker.contract.observation import CardReading as CardReading
from worker.contract.observation import ExceptionFacts as ExceptionFacts
from worker.contract.observation import Observation as Observation
from worker.contract.observation import ValueStatistics as ValueStatistics
from worker.contract.passage import MOST_WALL_SECONDS, SLOWDOWN, Points
from worker.contract.passage import PassagePoint as PassagePoint
from worker.contract.passage import PassedPoint as PassedPoint
from worker.contract.trace import Trace as Trace

CONTRACT_VERSION = 1

KIB, MIB, GIB = 1024, 1024**2, 1024**3
# The uid of slot 0 on a node of root, unless its settings name another. Slot N has this uid plus N.
FIRST_UID = 47001


class Device(StrEnum):
    """The device that a target grants."""

    CPU = "cpu"
    CUDA = "cuda"


def cards_needed(device: Device, gpus: int) -> int:
    """How many cards a target takes: at least one on CUDA, none on the CPU whatever `gpus` says."""
    return max(1, gpus) if device is Device.CUDA else 0


class AttemptKind(StrEnum):
    """A preview is shown early and never counted. A repeat is counted. A passage check observes a point.

    A node gets a passage check as a repeat with points.
    """

    PREVIEW = "preview"
    REPEAT = "repeat"
    PASSAGE = "passage"


class CardUse(StrEnum):
    """When an attempt gets its cards: before it starts, or when it first opens one of their device nodes."""

    FROM_START = "from_start"
    AT_TOUCH = "at_touch"


class Start(StrEnum):
    """How the interpreter starts: as a new process, or as a fork of one that is paused after its imports."""

    COLD = "cold"
    WARM = "warm"


class Level(StrEnum):
    """The isolation levels, strongest first."""

    NAMESPACES_CGROUP = "ns+seccomp+cgroup"
    NAMESPACES = "ns+seccomp"
    LANDLOCK = "landlock+seccomp"
    LIMITS_ONLY = "limits-only"

    @property
    def rank(self) -> int:
        """The position in the order of strength; 0 is the strongest."""
        return list(Level).index(self)

    def satisfies(self, required: Level) -> bool:
        """True if this level is at least as strong as the required one."""
        return self.rank <= required.rank


class Outcome(StrEnum):
    """How an attempt ended: the first of these that applies. The end alone says nothing about the claim."""

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
    """The role that can change the outcome, or bring the missing verdict."""

    REPORTER = "reporter"
    MAINTAINER = "maintainer"
    OPERATOR = "operator"
    SERVICE = "service"
    NOBODY = "nobody"


class Reason(Message):
    """A reason: a stable code, a detail for people, and who can do something about it."""

    code: Name
    detail: Explanation = ""
    who_can_act: WhoCanAct = WhoCanAct.NOBODY


class Limits(Message):
    """The limits of an attempt.

    At most `stream_bytes` of each stream are stored; at `stream_kill_bytes` the attempt is stopped.
    `result_bytes` limits the JSON of a result, and `scratch_bytes` the files that an attempt writes.
    """

    wall_seconds: float = Field(default=60.0, gt=0, le=MOST_WALL_SECONDS)
    memory_bytes: Count = Field(default=4 * GIB, ge=64 * MIB)
    stream_bytes: Count = Field(default=256 * KIB, ge=KIB)
    stream_kill_bytes: Count = Field(default=64 * MIB, ge=KIB)
    result_bytes: Count = Field(default=4 * MIB, ge=16 * KIB)
    scratch_bytes: Count = Field(default=1 * GIB, ge=MIB)
    processes_per_core: MachineCount = Field(default=128, ge=1)

    def for_passage(self) -> Limits:
        """The limits of an attempt that observes the passage of points: it is slower."""
        wall_seconds = min(MOST_WALL_SECONDS, SLOWDOWN * self.wall_seconds)
        return self.model_copy(update={"wall_seconds": wall_seconds})


class Attempt(Message):
    """One execution of one script on one target, with everything that a node has to know.

    `toolchain` is a name, `settings` are those of `worker.contract.names.SETTINGS`, and `lease_no` counts the
    leases of this attempt. `instance` is the start of the node that has the lease; empty: any start may run
    it.
    """

    type: Literal["attempt"] = "attempt"
    contract: SmallCount = CONTRACT_VERSION
    attempt_id: Name
    lease_no: SmallCount = 1
    instance: Name = ""
    # For the node's log only: the run, and the HTTP request that started it.
    run_id: Name | None = None
    request_id: Name | None = None
    kind: AttemptKind = AttemptKind.REPEAT
    start: Start = Start.COLD
    script: Stream
    toolchain: ToolchainName
    device: Device = Device.CPU
    gpus: MachineCount = 0
    # The cards have to be of this kind, such as `sm90`. None: any cards.
    capability: Name | None = None
    # A node without a gate, or one that does not know this field, gives the cards from the start.
    card: CardUse = CardUse.FROM_START
    # It is the first attempt of its run: at its first touch it comes before repeats that wait for the card.
    is_first_answer: bool = False
    settings: SettingValues = Field(default_factory=dict)
    limits: Limits = Field(default_factory=Limits)
    # The statements whose passage is to be observed. Such an attempt starts cold.
    passage: Points = Field(default_factory=list)
    # The attempt is refused at a weaker level.
    required_level: Level = Level.NAMESPACES

    @property
    def cards_needed(self) -> int:
        """How many cards the attempt takes."""
        return cards_needed(self.device, self.gpus)


class Cancel(Message):
    """A request to stop an attempt."""

    type: Literal["cancel"] = "cancel"
    attempt_id: Name


class Drain(Message):
    """A request to finish the running attempts and take nothing more."""

    type: Literal["drain"] = "drain"


class CardState(StrEnum):
    """The state of a card. Attempts get only cards that are sound or unchecked."""

    SOUND = "sound"
    UNCHECKED = "unchecked"
    FAULTY = "faulty"
    IN_USE = "in_use"


class Gpu(Message):
    """One card of a node, without serial number or UUID.

    `index` is the minor number of the device node. `capability` is CUDA's, such as `9.0`. `detail` is the
    reason for the state. `sound_at` is the time of the last check that passed, in seconds since 1970.
    """

    index: MachineCount
    model: CardName
    memory_bytes: Count
    capability: Capability
    driver: Name
    state: CardState = CardState.UNCHECKED
    detail: Explanation = ""
    sound_at: Moment | None = None


class ToolchainFacts(Message):
    """A toolchain of a node, as its trusted probe found it. A `locked` one is built when an attempt needs it.

    `packages` maps names to versions. `torch` and `cuda_build` are versions, None if there is no torch or it
    is built without CUDA. `mkl`: its torch uses MKL. `detail` is the reason for the state.
    """

    name: ToolchainName
    state: Literal["ready", "locked", "building", "failed"]
    python: Text = ""
    packages: Packages = Field(default_factory=dict)
    torch: Name | None = None
    cuda_build: Name | None = None
    # The architectures of torch's CUDA kernels, such as `sm_90` or `compute_90`; empty if they are unknown.
    kernels: Names = Field(default_factory=list)
    # The name of the toolchain that this one adds packages to, if any.
    base: BaseName = ""
    mkl: bool = False
    # The values of the setting `cpu-isa` that have an effect with this toolchain on this node's CPU.
    cpu_isa: Names = Field(default_factory=list)
    detail: Explanation = ""


class Hello(Message):
    """The first message of a node; it is sent again when the node's offer changes, and from time to time.

    `instance` identifies one start of the node. `slots` is the number of attempts at the same time.
    `waits_for` says who else uses the slots that its attempts wait for, or that the node is paused.
    """

    type: Literal["hello"] = "hello"
    contracts: Annotated[list[SmallCount], Field(max_length=100)] = Field(
        default_factory=lambda: [CONTRACT_VERSION]
    )
    node: NodeName
    instance: Name
    slots: MachineCount
    level: Level
    level_detail: Explanation = ""
    waits_for: Explanation = ""
    gpus: Annotated[list[Gpu], Field(max_length=1_000)] = Field(default_factory=list)
    toolchains: Annotated[list[ToolchainFacts], Field(max_length=1_000)] = Field(default_factory=list)
    # The number of previews at the same time, beside the slots. The node runs a preview warm or not at all.
    previews: MachineCount = 0
    # The number of attempts that may be under way for each card. More than 1: an attempt gets its card at its
    # first touch, if it asks for that.
    card_places: Annotated[MachineCount, Field(ge=1)] = 1
    # True if the node builds a locked toolchain when an attempt needs it, and adds allowed packages to a
    # toolchain (see `worker.contract.names.add_layers`).
    builds: bool = False
    packages_allowed: Names = Field(default_factory=list)
    cpu_model: CutName = ""
    cpu_vendor: CutName = ""
    cpu_flags: Names = Field(default_factory=list)
    cores: MachineCount = 1


class Started(Message):
    """An attempt has started to run."""

    type: Literal["started"] = "started"
    node: NodeName
    instance: Name
    attempt_id: Name
    lease_no: SmallCount


class Result(Message):
    """The result of one attempt. The node delivers it at least once; the recorder stores the first."""

    type: Literal["result"] = "result"
    contract: SmallCount = CONTRACT_VERSION
    node: NodeName
    instance: Name
    attempt_id: Name
    lease_no: SmallCount
    kind: AttemptKind = AttemptKind.REPEAT
    start: Start = Start.COLD
    # The reason why an attempt that asked for a warm start had a cold one.
    start_reason: Reason | None = None
    level: Level | None = None
    outcome: Outcome
    reason: Reason | None = None
    observation: Observation = Field(default_factory=Observation)
    environment: Environment = Field(default_factory=dict)


class Draining(Message):
    """The node takes nothing more. Its attempts that have not started go to other nodes."""

    type: Literal["draining"] = "draining"
    node: NodeName
    instance: Name


class Refused(Message):
    """The answer of the stream to a line that is no message or an attempt that it can't take.

    It is also the only message of a stream that can't start on this machine.
    """

    type: Literal["refused"] = "refused"
    detail: Explanation


class Heartbeat(Message):
    """The value of the node's key on the broker. The key expires if the node does not refresh it.

    `running` are the ids of the attempts that run or wait on the node.
    """

    node: NodeName
    instance: Name
    running: Names = Field(default_factory=list)
    free_slots: MachineCount = 0
    draining: bool = False


ToNode = Annotated[Attempt | Cancel | Drain, Field(discriminator="type")]
FromNode = Annotated[Hello | Started | Result | Draining | Refused, Field(discriminator="type")]

to_node: TypeAdapter[ToNode] = TypeAdapter(ToNode)
from_node: TypeAdapter[FromNode] = TypeAdapter(FromNode)
