"""Drive the node of a run on this machine: hand out attempts, take results, and judge the jobs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.errors import NodeError
from app.intake.reading import Reading
from app.judging.cause.cures import CURES, is_plain_cell
from app.judging.judgement import JobJudgement
from app.judging.verdict.attempts_needed import most_attempts, needs_passage, next_attempts
from app.judging.verdict.job import judge_job
from app.judging.verdict.passage import MOST_CHECKS, points_to_pass
from app.runs.estimates.attempt_budget import attempts_required
from app.runs.local.jobs import LocalAttempt, LocalJob
from app.runs.local.node_stream import NodeStream
from app.states import HELD_ATTEMPT_STATES, OPEN_ATTEMPT_STATES, OPEN_STATES, AttemptState
from app.targets.planning.plan import Cell, Plan
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
    Started,
)

# How often an attempt may start on a node that dies.
LEASES = 3
# How often in a row the node may die without a single result.
FRUITLESS_STARTS = 5
# The time that an attempt may take beyond its wall limit: to probe the environment and to start the sandbox.
SILENCE_SECONDS = 240.0
WAITING_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """How the node runs attempts.

    `level` is an isolation level; None stands for the strongest one there is.
    """

    limits: Limits = field(default_factory=Limits)
    level: Level | None = None

    @property
    def required_level(self) -> Level:
        """The level that attempts require."""
        return self.level or Level.NAMESPACES


class Progress(Protocol):
    """The receiver of what happens during a run."""

    def report_plan(self, cells: Sequence[Cell], hello: Hello) -> None: ...

    def report_attempt(self, target: Target, result: Result) -> None: ...

    def report_verdict(self, target: Target, judgement: JobJudgement) -> None: ...

    def warn(self, text: str) -> None: ...


class Conductor:
    """Keeps the slots of a node busy until every job is judged."""

    def __init__(
        self,
        reading: Reading,
        plan: Plan,
        *,
        jobs: Sequence[LocalJob],
        node: NodeStream,
        hello: Hello,
        options: NodeOptions,
        progress: Progress,
    ) -> None:
        self._reading = reading
        self._plan = plan
        self._jobs = jobs
        self._node = node
        self._hello = hello
        self._options = options
        self._progress = progress
        self._sent: dict[str, tuple[LocalJob, LocalAttempt]] = {}
        self._heard_at = time.monotonic()
        self._fruitless_starts = 0
        self._warned_of_waiting = False

    def run(self) -> bool:
        """Run all jobs. False if a KeyboardInterrupt cancelled the run."""
        try:
            for job in self._jobs:
                self._settle(job)
            while any(job.state != "judged" for job in self._jobs):
                self._step()
        except KeyboardInterrupt:
            for job in self._jobs:
                if job.state != "judged":
                    job.state = "cancelled"
                for attempt in job.open_attempts():
                    attempt.state = "cancelled"
            return False
        finally:
            self._node.stop()
        return True

    def _step(self) -> None:
        try:
            self._send_attempts()
            self._receive_message()
        except NodeError as error:
            self._replace_node(error)

    def _send_attempts(self) -> None:
        """Send queued attempts: the first one of each cell, then the second ones, and so on.

        The node gets one more attempt than it has slots, so that a free slot never waits for us.
        """
        held_count = sum(attempt.state in HELD_ATTEMPT_STATES for _, attempt in self._sent.values())
        for job, attempt in self._waiting_attempts():
            if held_count > self._hello.slots:
                return
            self._sent[attempt.id] = (job, attempt)
            self._node.send(self._message(job, attempt))
            attempt.state = "leased"
            job.state = "running"
            held_count += 1

    def _waiting_attempts(self) -> list[tuple[LocalJob, LocalAttempt]]:
        """The queued attempts in turns of their cells; those of a test for a source of variation come last.

        Those may need fewer attempts once the cell that they test has ended.
        """
        queued = [
            (bool(CURES.intersection(job.cell.target.settings)) and number > 0, number, place, job, attempt)
            for place, job in enumerate(self._jobs)
            for number, attempt in enumerate(job.attempts)
            if attempt.state == "queued"
        ]
        return [(job, attempt) for *_, job, attempt in sorted(queued, key=lambda each: each[:3])]

    def _message(self, job: LocalJob, attempt: LocalAttempt) -> Attempt:
        target = job.cell.target
        points = (
            points_to_pass(self._reading.claim, job.script, target)
            if attempt.kind is AttemptKind.PASSAGE
            else ()
        )
        return Attempt(
            attempt_id=attempt.id,
            lease_no=attempt.lease_no,
            script=job.script.script,
            toolchain=target.toolchain,
            device=target.device,
            gpus=target.gpus,
            capability=target.capability,
            settings=target.settings,
            passage=list(points),
            limits=self._options.limits.for_passage() if points else self._options.limits,
            required_level=self._options.required_level,
        )

    def _receive_message(self) -> None:
        message = self._node.receive(1.0)
        if message is None:
            self._check_silence(time.monotonic() - self._heard_at)
            return
        self._heard_at = time.monotonic()
        match message:
            case Started():
                _, attempt = self._sent.get(message.attempt_id, (None, None))
                if attempt and attempt.lease_no == message.lease_no and attempt.state == "leased":
                    attempt.state = "running"
                    attempt.started = True
            case Result():
                self._record(message)
            case Refused():
                # The message does not name an attempt, so we can wait for none of them.
                raise NodeError(f"The node on this machine refused a message: {message.detail}")
            case _:
                pass

    def _check_silence(self, silent_seconds: float) -> None:
        """Raise NodeError if a running attempt is overdue.

        If none runs, others may use the slots, so only warn.
        """
        if any(attempt.state == "running" for _, attempt in self._sent.values()):
            passage = any(
                attempt.kind is AttemptKind.PASSAGE and attempt.state == "running"
                for _, attempt in self._sent.values()
            )
            limits = self._options.limits.for_passage() if passage else self._options.limits
            if silent_seconds > SILENCE_SECONDS + limits.wall_seconds:
                raise NodeError("The node on this machine no longer answers.")
        elif silent_seconds > WAITING_SECONDS and not self._warned_of_waiting:
            self._warned_of_waiting = True
            self._progress.warn("Waiting: the slots or cards of this machine are in use by others.")

    def _record(self, result: Result) -> None:
        job, attempt = self._sent.get(result.attempt_id, (None, None))
        if (
            job is None
            or attempt is None
            or attempt.lease_no != result.lease_no
            or attempt.state not in HELD_ATTEMPT_STATES
        ):
            return
        self._fruitless_starts = 0
        attempt.result = result
        states: dict[Outcome, AttemptState] = {Outcome.LOST: "lost", Outcome.CANCELLED: "cancelled"}
        attempt.state = states.get(result.outcome, "recorded")
        self._progress.report_attempt(job.cell.target, result)
        self._settle(job)

    def _settle(self, job: LocalJob) -> None:
        """Queue more attempts of a job, cancel those that are no longer needed, or judge the job."""
        required = self._count_required(job)
        open_attempts = job.open_attempts()
        job.attempts += [LocalAttempt() for _ in range(required - len(open_attempts))]
        if required > 0:
            return
        for attempt in open_attempts:
            if attempt.kind is AttemptKind.PASSAGE:
                continue
            if attempt.state == "queued":
                job.attempts.remove(attempt)
            elif attempt.state == "leased":
                self._cancel(attempt)
        if job.open_attempts():
            return
        if self._needs_passage(job):
            job.attempts.append(LocalAttempt(kind=AttemptKind.PASSAGE))
        else:
            self._judge(job)

    def _needs_passage(self, job: LocalJob) -> bool:
        """Whether the job, whose repeats have ended, needs a passage check, the first one or another."""
        tried = sum(attempt.kind is AttemptKind.PASSAGE for attempt in job.attempts)
        if job.cell.reason is not None or tried >= MOST_CHECKS:
            return False
        target, plan = job.cell.target, self._plan.repeats
        return needs_passage(self._reading.claim, job.script, target, job.results(), plan)

    def _count_required(self, job: LocalJob) -> int:
        """The number of attempts that should be open now."""
        if job.cell.reason is not None:
            return 0
        repeats = self._plan.repeats
        return attempts_required(
            next_attempts(
                self._reading.claim,
                job.script,
                job.cell.target,
                job.results(),
                repeats,
                plain=self._plain_results(job),
            ),
            plan=repeats,
            ended_attempts=sum(attempt.state not in OPEN_ATTEMPT_STATES for attempt in job.repeats()),
            useless=job.count_failed(),
            leases=LEASES,
            grown=most_attempts(self._reading.claim, job.script, repeats),
        )

    def _plain_results(self, job: LocalJob) -> list[Result] | None:
        """The results of the cell that this one tests for a cause; None before it has ended."""
        ended = (other for other in self._jobs if other.state not in OPEN_STATES)
        return next((other.results() for other in ended if self._tests(job, other)), None)

    def _tests(self, job: LocalJob, plain: LocalJob) -> bool:
        """Whether the first job tests the second one for a cause."""
        same_script = job.script.digest == plain.script.digest
        return same_script and is_plain_cell(plain.cell.target, job.cell.target)

    def _judge(self, job: LocalJob) -> None:
        job.state = "judged"
        if job.cell.reason is None:
            target = job.cell.target
            judgement = judge_job(
                self._reading.claim, job.script, target, job.results(), plan=self._plan.repeats
            )
            self._progress.report_verdict(target, judgement)
            for test in self._jobs:
                if test.state in OPEN_STATES and self._tests(test, job):
                    self._settle(test)

    def _cancel(self, attempt: LocalAttempt) -> None:
        self._node.send(Cancel(attempt_id=attempt.id))

    def _replace_node(self, error: NodeError) -> None:
        """Start a new node and queue the attempts of the old one again. Raises NodeError if none comes up."""
        self._fruitless_starts += 1
        if self._fruitless_starts > FRUITLESS_STARTS:
            raise error
        self._progress.warn(f"{error.message}\nStarting it again.")
        self._node.stop()
        changed_jobs = []
        for job, attempt in self._sent.values():
            if attempt.state not in HELD_ATTEMPT_STATES:
                continue
            if attempt.started and attempt.lease_no >= LEASES:
                attempt.state = "lost"
            else:
                attempt.lease_no += attempt.started
                attempt.state, attempt.started = "queued", False
            changed_jobs.append(job)
        self._node = NodeStream(level=self._options.level)
        self._hello = self._node.hello()
        self._heard_at = time.monotonic()
        for job in changed_jobs:
            self._settle(job)
