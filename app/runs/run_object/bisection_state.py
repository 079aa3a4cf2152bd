"""The state of a bisection: which points to try next, and the answer so far.

Pure: independent of where attempts run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from app.errors import InputError
from app.intake.claim.claims import Claim
from app.intake.reading import Reading, Script, ScriptRole
from app.judging.cause.removals import Removal, removal_of
from app.judging.comparison.environments import differing_fields
from app.judging.verdict.attempts_needed import draws_do_not_show, may_vary
from app.judging.verdict.sighting import (
    Sighting,
    attempts_of_trial,
    can_be_bisected,
    sighting,
    without_versions,
)
from app.runs.run_object.bisection_document import (
    BisectionDocument,
    BisectionTargetPart,
    ConfoundedPart,
    PointPart,
)
from app.runs.run_object.removal_part import removal_part
from app.states import RunState
from app.targets.packages import packages_of
from app.targets.planning.plan import DEFAULT_REPEATS
from app.targets.target import Target
from app.targets.versions.bisection import ERROR, MOST_UNSEEN, Bisection, BisectionResult, Kind
from app.targets.versions.series import Series, missing_cell
from worker.contract import Environment, Reason, Result, ToolchainFacts

MOST_ATTEMPTS = 500
# Before the end, the summary names so many points of each kind.
MOST_NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionRequest:
    """The series to bisect and the error allowed.

    `base` holds the device and the settings that all points share. `error` is the probability of a wrong
    answer.
    """

    axis: str
    base: Target
    begin: str | None = None
    end: str | None = None
    toolchains: tuple[str, ...] = ()
    error: float = ERROR
    most_attempts: int = MOST_ATTEMPTS


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a bisection: the claim without conditions on versions, and its script."""

    claim: Claim
    script: Script

    @property
    def attempts_of_trial(self) -> int:
        """The number of attempts in one trial."""
        return attempts_of_trial(self.claim)


def subject_of(reading: Reading) -> Subject:
    """The subject of a report.

    Raises InputError without a script, or if one target alone can't show the claim.
    """
    script = next((script for script in reading.scripts if script.role is ScriptRole.MAIN), None)
    if script is None:
        raise InputError("There is no script to bisect with.", code="no_script", field="report")
    claim = without_versions(reading.claim)
    if not can_be_bisected(claim):
        raise InputError(
            "The report claims nothing that one target alone can show."
            " Correct its claim: say what is seen where it is wrong, as in `prints nan`.",
            code="nothing_claimed",
            field="claim",
        )
    return Subject(claim, script)


@dataclass(slots=True)
class _PointFacts:
    """A point apart from its counts. `inconclusive` counts the trials that decided nothing."""

    inconclusive: int = 0
    reason: Reason | None = None
    environment: Environment = field(default_factory=dict)
    # The results of the trials that decided something.
    results: list[Result] = field(default_factory=list)
    # The trials of earlier runs among them.
    earlier: int = 0


class BisectionState:
    """Takes trials in, chooses the next points, and words the answer.

    `toolchains` are all known ones. They are used to name the cell that would remove a confounder.
    `earlier` are results of earlier runs at points that no node serves, by place.
    """

    def __init__(
        self,
        subject: Subject,
        series: Series,
        *,
        error: float,
        most_attempts: int,
        toolchains: Mapping[str, ToolchainFacts],
        earlier: Mapping[int, Sequence[Result]] = MappingProxyType({}),
    ) -> None:
        self.subject = subject
        self.series = series
        self._toolchains = toolchains
        self._most_trials = max(1, most_attempts // subject.attempts_of_trial)
        self._trials = 0
        varies = may_vary(subject.claim, subject.script)
        self._bisection = Bisection(
            len(series.points),
            error=error,
            most_unseen=MOST_UNSEEN if varies else DEFAULT_REPEATS,
            # A trial of several attempts is about how these differ, or about time.
            by_chance=varies or subject.attempts_of_trial > 1,
        )
        self._points = [_PointFacts(reason=point.lack) for point in series.points]
        for place, point in enumerate(series.points):
            if point.lack is not None:
                self._add_earlier(place, earlier.get(place, ()))

    def _add_earlier(self, place: int, results: Sequence[Result]) -> None:
        """Take in what earlier runs measured at a point that can't be tried now; without that, skip it."""
        size, point = self.subject.attempts_of_trial, self._points[place]
        lack = point.reason
        for at in range(0, len(results) - size + 1, size):
            point.earlier += self._take(place, results[at : at + size]).seen is not None
        point.reason = lack
        if point.earlier:
            point.inconclusive = 0
            self._bisection.close(place)
        else:
            self._bisection.skip(place, for_good=True)

    @property
    def done(self) -> bool:
        """Whether no further trial is needed or allowed."""
        return self._bisection.done or self._trials >= self._most_trials

    def next_places(self, most: int, *, under_way: Sequence[int] = ()) -> list[int]:
        """The points to try next, besides those under way, as indices into the series."""
        if self.done:
            return []
        left = self._most_trials - self._trials - len(under_way)
        return self._bisection.next_points(min(most, len(under_way) + max(0, left)), under_way=under_way)

    def add_trial(self, place: int, results: Sequence[Result]) -> Sighting:
        """Take in the results of one trial. Lost attempts have no result."""
        self._trials += 1
        return self._take(place, results)

    def _take(self, place: int, results: Sequence[Result]) -> Sighting:
        point = self._points[place]
        seen = sighting(self.subject.claim, self.subject.script, self.series.points[place].target, results)
        if seen.seen is None:
            point.inconclusive += 1
            point.reason = seen.reason or point.reason
            self._bisection.skip(place, for_good=seen.for_good)
        else:
            point.reason = seen.reason
            point.results += results
            known = (result.environment for result in results if result.environment)
            point.environment = next(known, point.environment)
            self._bisection.observe(place, seen=seen.seen)
            if self._draws_do_not_show(point):
                self._bisection.exclude_chance(most_unseen=DEFAULT_REPEATS)
        return seen

    def _draws_do_not_show(self, point: _PointFacts) -> bool:
        """Whether chance may decide by the script, and attempts at this point show that it does not."""
        subject = self.subject
        return (
            self._bisection.by_chance
            and subject.attempts_of_trial == 1
            and draws_do_not_show(subject.claim, subject.script, point.results)
        )

    def document(self, bisection_id: str, state: RunState) -> BisectionDocument:
        """The answer so far."""
        answer = self._measured_answer()
        neighbours = _neighbours(answer, self.series)
        one_axis, confounded = self._compare_neighbours(answer)
        return BisectionDocument(
            id=bisection_id,
            axis=self.series.axis,
            state=state,
            kind=answer.kind if answer else None,
            exact=answer is not None and self.done and answer.is_exact(),
            probability=None if answer is None or not self.done else round(answer.probability, 6),
            error=self._bisection.error,
            rate=round(self._bisection.rate(), 3)
            if any(map(self._bisection.times_seen, range(len(self._points))))
            else None,
            one_axis=one_axis,
            confounded=confounded,
            removal=removal_part(self._removal(answer)),
            summary=self._summary(answer, confounded) + self._told_before(),
            attempts=self._trials * self.subject.attempts_of_trial,
            points=[self._point(place) for place in range(len(self._points))],
            **neighbours,
        )

    def _summary(self, answer: BisectionResult | None, confounded: ConfoundedPart | None) -> str:
        if not self.done:
            return self._so_far()
        return _summary(answer, self.series, confounded, given_up=not self._bisection.done)

    def _told_before(self) -> str:
        """The points whose results are of earlier runs, in a sentence; empty without any."""
        pairs = zip(self.series.points, self._points, strict=True)
        values = [point.value for point, facts in pairs if facts.earlier]
        them = "it" if len(values) == 1 else "them"
        words = f" The results for {_some(values)} are of earlier runs: no node has {them} now."
        return words if values else ""

    def _measured_answer(self) -> BisectionResult | None:
        """The answer. Before the end: a change between two points that were measured, or nothing."""
        if self.done:
            return self._bisection.result()
        answer = self._bisection.result() if self._trials else None
        if answer is None or answer.before is None or answer.after is None:
            return None
        appeared = answer.kind is Kind.APPEARED
        before = next((at for at in range(answer.before, -1, -1) if self._shows(at) is not appeared), None)
        after = next(
            (at for at in range(answer.after, len(self._points)) if self._shows(at) is appeared), None
        )
        if before is None or after is None or self._shows(before) is None or self._shows(after) is None:
            return None
        return replace(answer, before=before, after=after)

    def _shows(self, place: int) -> bool | None:
        """Whether a point has shown the claim; None without an attempt that decided something."""
        return self._bisection.times_seen(place) > 0 if self._bisection.attempts(place) else None

    def _so_far(self) -> str:
        """The measurements before the end, in one or two sentences. Nothing is claimed of other points."""
        seen, unseen = (
            [self._with_counts(at) for at in range(len(self._points)) if self._shows(at) is shows]
            for shows in (True, False)
        )
        parts = []
        if seen:
            parts.append(f"It is seen in {self.series.axis} {_some(seen)}.")
        if unseen:
            parts.append(f"It is not seen in {self.series.axis} {_some(unseen)}.")
        left = sum(
            self._shows(at) is None and not self._bisection.is_given_up(at) for at in range(len(self._points))
        )
        if parts and left:
            parts.append(f"{left} of {len(self._points)} points have no answer yet.")
        return " ".join(parts)

    def _with_counts(self, place: int) -> str:
        seen, of = self._bisection.times_seen(place), self._bisection.attempts(place)
        return f"{self.series.points[place].value} ({seen} of {of})"

    def _removal(self, answer: BisectionResult | None) -> Removal | None:
        """The removal between the last good point and the first bad one."""
        if (
            answer is None
            or answer.kind is not Kind.APPEARED
            or answer.before is None
            or answer.after is None
        ):
            return None
        older, newer = self._points[answer.before].results, self._points[answer.after].results
        if not older or not newer:
            return None
        script = self.subject.script
        return removal_of(script, older[:1], newer[0], imported=packages_of(script))

    def _point(self, place: int) -> PointPart:
        point = self._points[place]
        target = self.series.points[place].target
        return PointPart(
            value=self.series.points[place].value,
            target=BisectionTargetPart(
                device=target.device, gpus=target.gpus, toolchain=target.toolchain, settings=target.settings
            ),
            seen=self._bisection.times_seen(place),
            of=self._bisection.attempts(place),
            untold=point.inconclusive,
            earlier=point.earlier,
            given_up=self._bisection.is_given_up(place),
            reason=point.reason,
        )

    def _compare_neighbours(
        self, answer: BisectionResult | None
    ) -> tuple[bool | None, ConfoundedPart | None]:
        """Whether the environments of the two neighbours differ in the axis alone.

        None if they can't be compared.
        """
        if answer is None or answer.before is None or answer.after is None:
            return None, None
        older, newer = self._points[answer.before], self._points[answer.after]
        if not older.environment or not newer.environment:
            return None, None
        others = self.series.unrelated_fields(differing_fields(older.environment, newer.environment))
        if not others:
            return True, None
        one, other = (
            self._toolchains.get(self.series.points[place].target.toolchain)
            for place in (answer.before, answer.after)
        )
        command = None if one is None or other is None else missing_cell(self.series, one, other)
        return False, ConfoundedPart(differing=others, command=command)


def _some(points: Sequence[str]) -> str:
    """The points by name, the oldest and the newest ones if there are many."""
    if len(points) <= MOST_NAMED:
        return ", ".join(points)
    half = MOST_NAMED // 2
    return f"{', '.join(points[:half])}, {len(points) - MOST_NAMED} between, {', '.join(points[-half:])}"


def _neighbours(answer: BisectionResult | None, series: Series) -> Mapping[str, str | None]:
    if answer is None or answer.before is None or answer.after is None:
        return {}
    older, newer = series.points[answer.before].value, series.points[answer.after].value
    if answer.kind is Kind.FIXED:
        return {"last_bad": older, "first_good": newer}
    return {"last_good": older, "first_bad": newer}


def _summary(
    answer: BisectionResult | None, series: Series, confounded: ConfoundedPart | None, *, given_up: bool
) -> str:
    """One or two sentences, without any text from the report or the script."""
    if answer is None:
        return ""
    first, last = series.points[0].value, series.points[-1].value
    axis = series.axis
    match answer.kind:
        case Kind.THROUGHOUT:
            return f"It is seen from {axis} {first} to {last}: both ends of the series show it."
        case Kind.NOWHERE:
            return (
                f"It is seen neither in {axis} {first} nor in {last},"
                " nor where it was looked for between them."
            )
        case Kind.MIXED:
            return (
                f"It comes and goes between {axis} {first} and {last}: there is more than one change."
                " Take a part of the series."
            )
        case Kind.INCONCLUSIVE:
            return f"Fewer than two points between {axis} {first} and {last} can tell."
        case _:
            return _change(answer, series, confounded, given_up=given_up)


def _change(
    answer: BisectionResult, series: Series, confounded: ConfoundedPart | None, *, given_up: bool
) -> str:
    if answer.before is None or answer.after is None:
        return f"It changed between the ends of the series over {series.axis}."
    older, newer = series.points[answer.before].value, series.points[answer.after].value
    says = "appeared in" if answer.kind is Kind.APPEARED else "was fixed in"
    if answer.is_exact():
        text = f"It {says} {series.axis} {newer}; {older} is the last one tried before."
    else:
        between = series.points[answer.before + 1 : answer.after]
        why = "the attempts ran out before it was narrower" if given_up else "what lies between can't tell"
        if not given_up and all(point.lack is not None for point in between):
            why = "no node has what lies between"
        text = f"It {says} one after {series.axis} {older} and not after {newer}: {why}."
    text += f" Probability {_percent(answer.probability)}, if there is one change."
    if confounded is not None:
        more = " and more" if len(confounded.differing) > 3 else ""
        text += f" Confounded: the two also differ in {', '.join(confounded.differing[:3])}{more}."
    return text


def _percent(probability: float) -> str:
    """A probability in per cent, never rounded up to 100."""
    return f"{min(probability, 0.9999) * 100:.4g} %"
