"""A bisection without a server: trials side by side over the slots of a node that is a child of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.ids import new_id
from app.intake.reading import Reading
from app.judging.verdict.sighting import Sighting
from app.runs.local.run import (
    Conductor,
    LocalAttempt,
    LocalJob,
    LocalWish,
    Progress,
    opened_node,
    require_toolchain,
)
from app.runs.run_object.bisection_document import AskPart, BisectionDocument
from app.runs.run_object.bisection_state import BisectionRequest, BisectionState, subject_of
from app.states import ENDED_ATTEMPT_STATES, UNSTARTED_ATTEMPT_STATES
from app.targets.fleet import usable_toolchains
from app.targets.planning.plan import Cell, Plan, RepeatPlan
from app.targets.target import Target
from app.targets.versions.series import make_series, served
from worker.contract import Level


class BisectionProgress(Progress, Protocol):
    """Told what each trial says as well."""

    def tried(self, target: Target, sighting: Sighting) -> None: ...


@dataclass(slots=True)
class _Trial:
    place: int
    job: LocalJob
    attempts: list[LocalAttempt]
    told: bool = False

    def ended(self) -> bool:
        return all(attempt.state in ENDED_ATTEMPT_STATES for attempt in self.attempts)


def bisect_locally(
    reading: Reading, request: BisectionRequest, wish: LocalWish, *, progress: BisectionProgress
) -> BisectionDocument:
    """Try until the answer is sure enough. After a KeyboardInterrupt what is known until then, as cancelled.

    Raises InputError for a request that can't be planned, SetupError for a machine that lacks something, NodeError for a broken node.
    """
    if reading.ask:
        asks = [AskPart(code=ask.code, text=ask.text) for ask in reading.ask]
        summary = "Something that only the reporter has is missing."
        return BisectionDocument(
            id=new_id(), axis=request.axis, state="finished", error=request.error, ask=asks, summary=summary
        )
    subject = subject_of(reading)
    required = wish.level or Level.NAMESPACES
    with opened_node(wish.level) as node:
        hello = node.hello()
        require_toolchain(hello)
        series = make_series(
            request.axis,
            request.base,
            [hello],
            begin=request.begin,
            end=request.end,
            toolchains=request.toolchains,
            required_level=required,
        )
        series = served(series, subject.script, [hello], required_level=required)
        bisecting = BisectionState(
            subject,
            series,
            error=request.error,
            most_attempts=request.most_attempts,
            toolchains=usable_toolchains([hello]),
        )
        cells = [Cell(subject.script.digest, point.target, point.lack) for point in series.points]
        progress.planned(cells, hello)
        made = Plan(tuple(cells), RepeatPlan(request.most_attempts, exact=True))
        jobs = [LocalJob(cell=cell, script=subject.script) for cell in cells]
        conductor = _Bisector(reading, made, jobs=jobs, node=node, hello=hello, wish=wish, progress=progress)
        conductor.begin(bisecting, progress.tried)
        ended = conductor.run()
    return bisecting.document(new_id(), "finished" if ended else "cancelled")


class _Bisector(Conductor):
    """Keeps the node's slots busy with the trials that tell most, until the answer is there."""

    def begin(self, bisecting: BisectionState, tried: Callable[[Target, Sighting], None]) -> None:
        self._bisecting = bisecting
        self._tried = tried
        self._trials: list[_Trial] = []

    def _settle(self, job: LocalJob) -> None:
        """After a change of one point: what it tells, and what is tried next, wherever that is."""
        for trial in self._trials:
            if trial.job is job and not trial.told and trial.ended():
                self._tell(trial)
        open_trials = [trial for trial in self._trials if not trial.told]
        places = [trial.place for trial in open_trials]
        wanted = self._bisecting.next_places(self._hello.slots, under_way=places)
        if self._bisecting.done or not (wanted or places):
            self._take_back(open_trials)
        for place in wanted:
            attempts = [LocalAttempt() for _ in range(self._bisecting.subject.attempts_of_trial)]
            self._jobs[place].attempts += attempts
            self._trials.append(_Trial(place, self._jobs[place], attempts))

    def _tell(self, trial: _Trial) -> None:
        trial.told = True
        if any(attempt.state == "cancelled" for attempt in trial.attempts):
            return
        results = [
            attempt.result
            for attempt in trial.attempts
            if attempt.result is not None and attempt.state == "recorded"
        ]
        self._tried(trial.job.cell.target, self._bisecting.add_trial(trial.place, results))

    def _take_back(self, trials: Sequence[_Trial]) -> None:
        """What has not begun is not waited for; what runs may still say something against the answer."""
        for trial in trials:
            for attempt in trial.attempts:
                if attempt.state in UNSTARTED_ATTEMPT_STATES:
                    attempt.state = "cancelled"
                    self._cancel(attempt)
            trial.told = trial.ended()
        if all(trial.told for trial in self._trials):
            for job in self._jobs:
                job.state = "judged"
