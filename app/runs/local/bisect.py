"""A bisection on this machine: trials run side by side in the slots of a node that is a child process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.ids import new_id
from app.intake.reading import Reading
from app.judging.verdict.sighting import Sighting
from app.runs.local.conductor import Conductor, NodeOptions, Progress
from app.runs.local.jobs import LocalAttempt, LocalJob
from app.runs.local.node_stream import open_node, require_toolchain
from app.runs.run_object.bisection_document import AskPart, BisectionDocument
from app.runs.run_object.bisection_state import BisectionRequest, BisectionState, subject_of
from app.states import ENDED_ATTEMPT_STATES, UNSTARTED_ATTEMPT_STATES
from app.targets.fleet import usable_toolchains
from app.targets.planning.plan import Cell, Plan, RepeatPlan
from app.targets.target import Target
from app.targets.versions.series import make_series, serve


class BisectionProgress(Progress, Protocol):
    """The receiver of what happens during a bisection."""

    def report_trial(self, target: Target, sighting: Sighting) -> None: ...


@dataclass(slots=True)
class _Trial:
    """Some attempts of one point; `point` is its index in the series."""

    point: int
    job: LocalJob
    attempts: list[LocalAttempt]
    is_settled: bool = False

    def has_ended(self) -> bool:
        return all(attempt.state in ENDED_ATTEMPT_STATES for attempt in self.attempts)


def bisect_locally(
    reading: Reading, request: BisectionRequest, options: NodeOptions, *, progress: BisectionProgress
) -> BisectionDocument:
    """Try points until the answer is sure enough.

    A KeyboardInterrupt cancels the bisection; the result is the answer so far.

    Raises InputError for a request that can't be planned, SetupError if this machine lacks something,
    NodeError for a broken node.
    """
    if reading.ask:
        asks = [AskPart(code=ask.code, text=ask.text) for ask in reading.ask]
        summary = "Something that only the reporter has is missing."
        return BisectionDocument(
            id=new_id(), axis=request.axis, state="finished", error=request.error, ask=asks, summary=summary
        )
    subject = subject_of(reading)
    with open_node(options.level) as node:
        hello = node.hello()
        require_toolchain(hello)
        series = make_series(
            request.axis,
            request.base,
            [hello],
            begin=request.begin,
            end=request.end,
            toolchains=request.toolchains,
            required_level=options.required_level,
        )
        series = serve(series, subject.script, [hello], required_level=options.required_level)
        bisecting = BisectionState(
            subject,
            series,
            error=request.error,
            most_attempts=request.most_attempts,
            toolchains=usable_toolchains([hello]),
        )
        cells = [Cell(subject.script.digest, point.target, point.lack) for point in series.points]
        progress.report_plan(cells, hello)
        plan = Plan(tuple(cells), RepeatPlan(request.most_attempts, exact=True))
        jobs = [LocalJob(cell=cell, script=subject.script) for cell in cells]
        conductor = _Bisector(
            reading, plan, jobs=jobs, node=node, hello=hello, options=options, progress=progress
        )
        conductor.begin(bisecting, progress.report_trial)
        is_complete = conductor.run()
    return bisecting.document(new_id(), "finished" if is_complete else "cancelled")


class _Bisector(Conductor):
    """Keeps the slots of a node busy with the trials that tell most, until the answer is sure enough."""

    def begin(self, bisecting: BisectionState, report_trial: Callable[[Target, Sighting], None]) -> None:
        self._bisecting = bisecting
        self._report_trial = report_trial
        self._trials: list[_Trial] = []

    def _settle(self, job: LocalJob) -> None:
        """Evaluate the trials of a job that have ended, and start the next trials of the bisection."""
        for trial in self._trials:
            if trial.job is job and not trial.is_settled and trial.has_ended():
                self._evaluate(trial)
        open_trials = [trial for trial in self._trials if not trial.is_settled]
        open_points = [trial.point for trial in open_trials]
        next_points = self._bisecting.next_places(self._hello.slots, under_way=open_points)
        if self._bisecting.done or not (next_points or open_points):
            self._cancel_trials(open_trials)
        for point in next_points:
            attempts = [LocalAttempt() for _ in range(self._bisecting.subject.attempts_of_trial)]
            self._jobs[point].attempts += attempts
            self._trials.append(_Trial(point, self._jobs[point], attempts))

    def _evaluate(self, trial: _Trial) -> None:
        trial.is_settled = True
        if any(attempt.state == "cancelled" for attempt in trial.attempts):
            return
        results = [
            attempt.result
            for attempt in trial.attempts
            if attempt.result is not None and attempt.state == "recorded"
        ]
        self._report_trial(trial.job.cell.target, self._bisecting.add_trial(trial.point, results))

    def _cancel_trials(self, trials: Sequence[_Trial]) -> None:
        """Cancel attempts that have not started. Running attempts go on: they may contradict the answer."""
        for trial in trials:
            for attempt in trial.attempts:
                if attempt.state in UNSTARTED_ATTEMPT_STATES:
                    attempt.state = "cancelled"
                    self._cancel(attempt)
            trial.is_settled = trial.has_ended()
        if all(trial.is_settled for trial in self._trials):
            for job in self._jobs:
                job.state = "judged"
