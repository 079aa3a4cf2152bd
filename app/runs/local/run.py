"""The run without a server or a database: the same planning and judging as the service's, over one node that is a child of ours."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from app.clock import now
from app.errors import NodeError, SetupError
from app.ids import new_id
from app.intake.reading import Reading, Script
from app.judging.judgement import JobJudgement
from app.judging.verdict.job import judge_job
from app.judging.verdict.repeats import next_attempts
from app.runs.estimates.attempt_budget import attempts_required
from app.runs.estimates.durations import Durations
from app.runs.estimates.plan_document import estimated_plan, plan_document
from app.runs.local.node_stream import NodeStream
from app.runs.run_object.assemble import AttemptFacts, JobFacts, RunFacts, assemble
from app.runs.run_object.document import RunDocument
from app.states import HELD_ATTEMPT_STATES, OPEN_ATTEMPT_STATES, AttemptState, JobState, RunState
from app.targets.fleet import usable
from app.targets.planning.plan import Cell, Plan, make_plan
from app.targets.planning.presets import PRESETS, Preset
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import (
    Attempt,
    AttemptKind,
    Cancel,
    Hello,
    Level,
    Limits,
    Outcome,
    Refused,
    Result,
    Start,
    Started,
)

# How often an attempt is given to a node anew after the node died under it.
LEASES = 3
# How often in a row the node may die without having given one result.
FRUITLESS_STARTS = 5
# On top of the wall limit: the probe of the environment, once for a target, and the start of the sandbox.
SILENCE_SECONDS = 240.0
WAITING_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWish:
    """What to run, and how. `level` names an isolation level; None takes the strongest there is."""

    preset: str | None = None
    targets: tuple[Target, ...] | None = None
    repeats: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    presets: Mapping[str, Preset] = field(default_factory=lambda: PRESETS)
    limits: Limits = field(default_factory=Limits)
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class LocalRun:
    """A run that ended, and the facts that it was made of."""

    document: RunDocument
    facts: RunFacts
    jobs: tuple[JobFacts, ...]


class Progress(Protocol):
    """Told what happens while a run lasts."""

    def planned(self, cells: Sequence[Cell], hello: Hello) -> None: ...

    def attempted(self, target: Target, result: Result) -> None: ...

    def judged(self, target: Target, judgement: JobJudgement) -> None: ...

    def warned(self, text: str) -> None: ...


@dataclass(slots=True)
class LocalAttempt:
    """One attempt, and how far it is."""

    id: str = field(default_factory=new_id)
    lease_no: int = 1
    started: bool = False
    state: AttemptState = "queued"
    result: Result | None = None


@dataclass(slots=True)
class LocalJob:
    """One cell, and its attempts."""

    cell: Cell
    script: Script
    id: str = field(default_factory=new_id)
    attempts: list[LocalAttempt] = field(default_factory=list)
    wanted: int = 0
    state: JobState = "queued"

    def waiting(self) -> list[LocalAttempt]:
        return [attempt for attempt in self.attempts if attempt.state in OPEN_ATTEMPT_STATES]

    def results(self) -> list[Result]:
        return [
            attempt.result
            for attempt in self.attempts
            if attempt.result is not None and attempt.state == "recorded"
        ]

    def useless(self) -> int:
        return sum(
            attempt.state == "lost"
            or (attempt.result is not None and attempt.result.outcome is Outcome.SETUP_FAILED)
            for attempt in self.attempts
        )


def run_locally(reading: Reading, wish: LocalWish, *, progress: Progress, title: str = "") -> RunDocument:
    """Run and judge. After a KeyboardInterrupt the document of a cancelled run, with what was seen until then.

    Raises InputError for a wish that can't be planned, SetupError for a machine that lacks something, NodeError for a broken node.
    """
    return keep_locally(reading, wish, progress=progress, title=title).document


def keep_locally(reading: Reading, wish: LocalWish, *, progress: Progress, title: str = "") -> LocalRun:
    """As `run_locally`, with everything that was kept."""
    created_at = now()
    if reading.ask:
        return _local_run(reading, None, (), created_at=created_at, state="finished", title=title)
    with opened_node(wish.level) as first:
        hello = first.hello()
        require_toolchain(hello)
        made = _plan(reading, wish, hello)
        scripts = {script.digest: script for script in reading.scripts}
        jobs = [LocalJob(cell=cell, script=scripts[cell.script]) for cell in made.cells]
        progress.planned(made.cells, hello)
        conductor = Conductor(reading, made, jobs=jobs, node=first, hello=hello, wish=wish, progress=progress)
        state: RunState = "finished" if conductor.run() else "cancelled"
    return _local_run(reading, made, jobs, created_at=created_at, state=state, title=title)


def plan_locally(reading: Reading, wish: LocalWish, *, title: str = "") -> RunDocument:
    """The run as it would be planned on this machine, with what it would take while nothing else runs. Raises as `run_locally`."""
    if reading.ask:
        return plan_document(reading, None, title=title, source_url=reading.source_url)
    with opened_node(wish.level) as node:
        hello = node.hello()
    require_toolchain(hello)
    made = _plan(reading, wish, hello)
    document = plan_document(reading, made, title=title, source_url=reading.source_url)
    return estimated_plan(document, made, Durations(wall_seconds=wish.limits.wall_seconds), slots=hello.slots)


def _plan(reading: Reading, wish: LocalWish, hello: Hello) -> Plan:
    request = RunRequest(
        preset=wish.preset,
        targets=wish.targets,
        repeats=wish.repeats,
        include=wish.include,
        exclude=wish.exclude,
    )
    return make_plan(
        reading,
        request,
        fleet=[hello],
        required_level=wish.level or Level.NAMESPACES,
        presets=wish.presets,
    )


@contextmanager
def opened_node(level: Level | None) -> Iterator[NodeStream]:
    """The node of this machine, while it is needed."""
    node = NodeStream(level=level)
    try:
        yield node
    finally:
        node.stop()


def require_toolchain(hello: Hello) -> None:
    """Raises SetupError where nothing could run."""
    if usable(hello):
        return
    others = "".join(
        f"\n  {toolchain.name} is {toolchain.state}: {toolchain.detail}" for toolchain in hello.toolchains
    )
    raise SetupError(
        f"This machine has no toolchain that is ready: an interpreter with torch, in which scripts run.{others}\n"
        "Build one with: samehere toolchain add torch-2.13-cpu torch==2.13.0 numpy\n"
        "or use one that you have: samehere toolchain adopt NAME --python /path/to/venv/bin/python",
        code="no_toolchain",
    )


class Conductor:
    """Keeps the node's slots busy until every job is decided."""

    def __init__(
        self,
        reading: Reading,
        made: Plan,
        *,
        jobs: Sequence[LocalJob],
        node: NodeStream,
        hello: Hello,
        wish: LocalWish,
        progress: Progress,
    ) -> None:
        self._reading = reading
        self._plan = made
        self._jobs = jobs
        self._node = node
        self._hello = hello
        self._wish = wish
        self._progress = progress
        self._owner: dict[str, tuple[LocalJob, LocalAttempt]] = {}
        self._heard_at = time.monotonic()
        self._fruitless = 0
        self._said_waiting = False

    def run(self) -> bool:
        """Whether it came to its end; False when somebody interrupted it."""
        try:
            for job in self._jobs:
                self._settle(job)
            while any(job.state != "judged" for job in self._jobs):
                self._step()
        except KeyboardInterrupt:
            for job in self._jobs:
                if job.state != "judged":
                    job.state = "cancelled"
                for attempt in job.waiting():
                    attempt.state = "cancelled"
            return False
        finally:
            self._node.stop()
        return True

    def _step(self) -> None:
        try:
            self._give()
            self._take()
        except NodeError as error:
            self._replace_node(error)

    def _give(self) -> None:
        """Hand out what is wanted, plan order first, one more than there are slots: so none ever waits for us."""
        held = sum(attempt.state in HELD_ATTEMPT_STATES for _, attempt in self._owner.values())
        for job in self._jobs:
            for attempt in job.attempts:
                if held > self._hello.slots:
                    return
                if attempt.state == "queued":
                    self._owner[attempt.id] = (job, attempt)
                    self._node.send(self._message(job, attempt))
                    attempt.state = "leased"
                    job.state = "running"
                    held += 1

    def _message(self, job: LocalJob, attempt: LocalAttempt) -> Attempt:
        target = job.cell.target
        return Attempt(
            attempt_id=attempt.id,
            lease_no=attempt.lease_no,
            script=job.script.script,
            toolchain=target.toolchain,
            device=target.device,
            gpus=target.gpus,
            settings=target.settings,
            limits=self._wish.limits,
            required_level=self._wish.level or Level.NAMESPACES,
        )

    def _take(self) -> None:
        message = self._node.receive(1.0)
        if message is None:
            self._grow_impatient(time.monotonic() - self._heard_at)
            return
        self._heard_at = time.monotonic()
        match message:
            case Started():
                owned = self._owner.get(message.attempt_id)
                if owned is not None and owned[1].lease_no == message.lease_no and owned[1].state == "leased":
                    owned[1].state = "running"
                    owned[1].started = True
            case Result():
                self._record(message)
            case Refused():
                # It doesn't say which of ours it won't run, so none of them can be waited for.
                raise NodeError(f"The node on this machine refused a message: {message.detail}")
            case _:
                pass

    def _grow_impatient(self, silent_seconds: float) -> None:
        """While nothing runs it is others that hold the slots, which may last; what runs has to end."""
        if any(attempt.state == "running" for _, attempt in self._owner.values()):
            if silent_seconds > SILENCE_SECONDS + self._wish.limits.wall_seconds:
                raise NodeError("The node on this machine says nothing any more.")
        elif silent_seconds > WAITING_SECONDS and not self._said_waiting:
            self._said_waiting = True
            self._progress.warned("Waiting: the slots or cards of this machine are in use by others.")

    def _record(self, result: Result) -> None:
        job, attempt = self._owner.get(result.attempt_id, (None, None))
        if (
            job is None
            or attempt is None
            or attempt.lease_no != result.lease_no
            or attempt.state not in HELD_ATTEMPT_STATES
        ):
            return
        self._fruitless = 0
        attempt.result = result
        states: dict[Outcome, AttemptState] = {Outcome.LOST: "lost", Outcome.CANCELLED: "cancelled"}
        attempt.state = states.get(result.outcome, "recorded")
        self._progress.attempted(job.cell.target, result)
        self._settle(job)

    def _settle(self, job: LocalJob) -> None:
        """After a change of a job: queue more attempts, take back what is not needed, or judge it."""
        target, claim = job.cell.target, self._reading.claim
        wanted = 0
        if job.cell.reason is None:
            wanted = attempts_required(
                next_attempts(claim, job.script, target, job.results(), self._plan.repeats),
                plan=self._plan.repeats,
                ended=len(job.attempts) - len(job.waiting()),
                useless=job.useless(),
                leases=LEASES,
            )
        waiting = job.waiting()
        job.attempts += [LocalAttempt() for _ in range(wanted - len(waiting))]
        if wanted == 0:
            for attempt in waiting:
                if attempt.state == "queued":
                    job.attempts.remove(attempt)
                elif attempt.state == "leased":
                    self._cancel(attempt)
            if not job.waiting():
                job.state = "judged"
                if job.cell.reason is None:
                    self._progress.judged(
                        target, judge_job(claim, job.script, target, job.results(), plan=self._plan.repeats)
                    )

    def _cancel(self, attempt: LocalAttempt) -> None:
        self._node.send(Cancel(attempt_id=attempt.id))

    def _replace_node(self, error: NodeError) -> None:
        """Start the node again, and give what it held to the new one. Raises NodeError when none comes up."""
        self._fruitless += 1
        if self._fruitless > FRUITLESS_STARTS:
            raise error
        self._progress.warned(f"{error.message}\nStarting it again.")
        self._node.stop()
        touched = []
        for job, attempt in self._owner.values():
            if attempt.state not in HELD_ATTEMPT_STATES:
                continue
            if attempt.started and attempt.lease_no >= LEASES:
                attempt.state = "lost"
            else:
                attempt.lease_no += attempt.started
                attempt.state, attempt.started = "queued", False
            touched.append(job)
        self._node = NodeStream(level=self._wish.level)
        self._hello = self._node.hello()
        self._heard_at = time.monotonic()
        for job in touched:
            self._settle(job)


def _facts(job: LocalJob) -> JobFacts:
    return JobFacts(
        id=job.id,
        script=job.script.digest,
        target=job.cell.target,
        state=job.state,
        reason=job.cell.reason,
        attempts=tuple(
            AttemptFacts(
                id=attempt.id,
                kind=AttemptKind.REPEAT,
                start=Start.COLD,
                state=attempt.state,
                result=attempt.result,
            )
            for attempt in job.attempts
        ),
    )


def _local_run(
    reading: Reading,
    made: Plan | None,
    jobs: Sequence[LocalJob],
    *,
    created_at: datetime,
    state: RunState,
    title: str,
) -> LocalRun:
    facts = RunFacts(
        id=new_id(),
        state=state,
        created_at=created_at,
        finished_at=now(),
        preset=None if made is None else made.preset,
        title=title or reading.title,
        repeats=None if made is None else made.repeats,
    )
    cells = tuple(_facts(job) for job in jobs)
    return LocalRun(assemble(facts, reading, cells), facts, cells)
