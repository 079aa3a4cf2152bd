"""The gate: may the issue of a report be closed? Decided from verdicts on versions, never from silence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum

from app.judging.judgement import SIGHTINGS, Defect, Scope, Verdict
from app.judging.report.change import Change, ChangeKind, Side, change_of

# So many targets, versions or toolchains are named in a sentence.
MOST_NAMES = 3
NOT_FIXED = "This does not say that it is fixed."


class GateAnswer(StrEnum):
    """The answer about one issue."""

    STILL_HAPPENS = "still_happens"
    FIXED = "fixed"
    NOT_SHOWN = "not_shown"
    UNKNOWN = "unknown"


class GateReason(StrEnum):
    """Why the answer is what it is."""

    SEEN_ON_THE_NEWEST = "seen_on_the_newest"
    MAINTAINER = "maintainer"
    GONE_IN_A_VERSION = "gone_in_a_version"
    NEWER_NOT_TRIED = "newer_not_tried"
    CANNOT_SHOW = "cannot_show"
    NEEDS_INFO = "needs_info"
    NOT_SEEN_AS_REPORTED = "not_seen_as_reported"
    NOT_SEEN_ELSEWHERE = "not_seen_elsewhere"
    OTHER_RESULT = "other_result"
    NO_CLAIM = "no_claim"
    GONE_CONFOUNDED = "gone_confounded"
    GONE_WITHOUT_A_VERSION = "gone_without_a_version"
    NO_REPORT = "no_report"
    NOT_RUN = "not_run"
    RUNNING = "running"
    NO_RESULT = "no_result"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCell:
    """The latest conclusive job of a script on a target."""

    side: Side
    at: datetime
    run: str
    job: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRow:
    """The cells of one script on one device with the same settings, oldest version first; at least one.

    `untried` names the toolchains with a newer version than its last cell. `undecided` are the targets with a
    newer version on which the claim could not be shown.
    """

    cells: tuple[GateCell, ...]
    imported: frozenset[str] = frozenset()
    untried: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def newest(self) -> GateCell:
        """The cell with the newest version."""
        return self.cells[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFacts:
    """The facts about a report. `verdict`, `scope` and `defect` are those of its current run, `run`.

    `overruled` is a maintainer's verdict. `seen_before`: an earlier run showed the claim.
    """

    rows: tuple[GateRow, ...] = ()
    verdict: Verdict | None = None
    run: str | None = None
    run_at: datetime | None = None
    where: tuple[str, ...] = ()
    scope: Scope | None = None
    defect: Defect | None = None
    overruled: Verdict | None = None
    seen_before: bool = False
    is_open: bool = False
    is_withdrawn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedIn:
    """The first version in which it was not seen, after the last one in which it was."""

    target: str
    package: str
    last_seen: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateJudgement:
    """The answer, with its evidence. `on` names the targets, `at` is when the oldest of them was run."""

    answer: GateAnswer
    reason: GateReason
    on: tuple[str, ...] = ()
    fixed_in: tuple[FixedIn, ...] = ()
    untried: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    at: datetime | None = None
    run: str | None = None
    job: str | None = None
    sometimes: bool = False
    no_defect: bool = False

    @property
    def may_close(self) -> bool:
        """Whether the issue may be closed: it is fixed, and no newer version is left to try."""
        return self.answer is GateAnswer.FIXED and not self.untried


def judge_gate(facts: GateFacts) -> GateJudgement:
    """The answer about one report."""
    if facts.is_withdrawn:
        return _unknown(facts, GateReason.WITHDRAWN)
    if facts.overruled is not None:
        return _of_maintainer(facts, facts.overruled)
    seen = [row for row in facts.rows if row.newest.side.verdict in SIGHTINGS]
    if seen:
        return _still(facts, seen)
    gone = [row for row in facts.rows if any(cell.side.verdict in SIGHTINGS for cell in row.cells)]
    if gone:
        return _gone(gone)
    return _never_seen(facts)


def strictest(judgements: Sequence[GateJudgement], senders: Sequence[str | None]) -> int:
    """Which judgement counts for an issue with several reports, given newest first; its place.

    `senders` says who sent each. The newest text of a sender decides for that sender, but an older one that
    still happens keeps the issue open. So does the newest one of every other sender that may not be closed:
    nobody closes what somebody else reported.
    """
    still = [place for place, one in enumerate(judgements) if one.answer is GateAnswer.STILL_HAPPENS]
    if still:
        return still[0]
    newest = {sender: place for place, sender in reversed(list(enumerate(senders)))}
    return min((place for place in newest.values() if not judgements[place].may_close), default=0)


def _of_maintainer(facts: GateFacts, verdict: Verdict) -> GateJudgement:
    still = verdict in SIGHTINGS
    return GateJudgement(
        answer=GateAnswer.STILL_HAPPENS if still else GateAnswer.NOT_SHOWN,
        reason=GateReason.MAINTAINER,
        sometimes=verdict is Verdict.FLAKY,
        at=facts.run_at,
        run=facts.run,
    )


def _still(facts: GateFacts, rows: Sequence[GateRow]) -> GateJudgement:
    cells = [row.newest for row in rows]
    latest = max(cells, key=lambda cell: cell.at)
    return GateJudgement(
        answer=GateAnswer.STILL_HAPPENS,
        reason=GateReason.SEEN_ON_THE_NEWEST,
        on=_names(cell.side.label for cell in cells),
        untried=_names(name for row in rows for name in row.untried),
        undecided=_names(name for row in rows for name in row.undecided),
        at=min(cell.at for cell in cells),
        run=latest.run,
        job=latest.job,
        sometimes=all(cell.side.verdict is Verdict.FLAKY for cell in cells),
        no_defect=facts.defect is Defect.NO,
    )


def _gone(rows: Sequence[GateRow]) -> GateJudgement:
    """It was seen, and no row shows it on its newest version."""
    weakest = min((row.newest for row in rows), key=lambda cell: cell.at)
    not_shown = GateJudgement(
        answer=GateAnswer.NOT_SHOWN,
        reason=GateReason.OTHER_RESULT,
        on=_names(row.newest.side.label for row in rows),
        untried=_names(name for row in rows for name in row.untried),
        at=weakest.at,
        run=weakest.run,
        job=weakest.job,
    )
    fixes: list[FixedIn] = []
    for row in rows:
        last = max(place for place, cell in enumerate(row.cells) if cell.side.verdict in SIGHTINGS)
        before, after = row.cells[last], row.cells[last + 1 :]
        if any(cell.side.verdict is not Verdict.NOT_REPRODUCED for cell in after):
            return not_shown
        change = change_of(before.side, after[0].side, imported=row.imported)
        if change is None or change.kind is not ChangeKind.FIXED:
            confounded = change is not None and change.kind is ChangeKind.CONFOUNDED
            return replace(
                not_shown,
                reason=GateReason.GONE_CONFOUNDED if confounded else GateReason.GONE_WITHOUT_A_VERSION,
            )
        fixes.append(_fix(change, after[0]))
    return replace(
        not_shown,
        answer=GateAnswer.FIXED,
        reason=GateReason.NEWER_NOT_TRIED if not_shown.untried else GateReason.GONE_IN_A_VERSION,
        fixed_in=tuple(fixes),
    )


def _fix(change: Change, cell: GateCell) -> FixedIn:
    [(package, (older, newer))] = change.difference.versions
    return FixedIn(target=cell.side.label, package=package, last_seen=older, version=newer)


def _never_seen(facts: GateFacts) -> GateJudgement:
    """No cell shows it. A sighting of the current run is then one of a pair of targets."""
    match facts.verdict:
        case None:
            return _unknown(facts, GateReason.RUNNING if facts.is_open else GateReason.NOT_RUN)
        case Verdict.NO_RESULT:
            return _unknown(facts, GateReason.NO_RESULT)
        case Verdict.REPRODUCED | Verdict.FLAKY:
            return GateJudgement(
                answer=GateAnswer.STILL_HAPPENS,
                reason=GateReason.SEEN_ON_THE_NEWEST,
                on=facts.where,
                at=facts.run_at,
                run=facts.run,
                sometimes=facts.verdict is Verdict.FLAKY,
                no_defect=facts.defect is Defect.NO,
            )
        case Verdict.NEEDS_INFO:
            reason = GateReason.NEEDS_INFO
        case Verdict.CANNOT_SHOW:
            reason = GateReason.CANNOT_SHOW
        case Verdict.OBSERVED:
            reason = GateReason.NO_CLAIM
        case Verdict.DIFFERENT:
            reason = GateReason.OTHER_RESULT
        case Verdict.NOT_REPRODUCED if facts.seen_before:
            reason = GateReason.GONE_WITHOUT_A_VERSION
        case Verdict.NOT_REPRODUCED:
            reason = (
                GateReason.NOT_SEEN_AS_REPORTED
                if facts.scope is Scope.AS_REPORTED
                else GateReason.NOT_SEEN_ELSEWHERE
            )
    return GateJudgement(
        answer=GateAnswer.NOT_SHOWN,
        reason=reason,
        on=_names(row.newest.side.label for row in facts.rows),
        at=facts.run_at,
        run=facts.run,
    )


def _unknown(facts: GateFacts, reason: GateReason) -> GateJudgement:
    return GateJudgement(answer=GateAnswer.UNKNOWN, reason=reason, run=facts.run)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


_WHY = {
    GateReason.CANNOT_SHOW: "the machines here lack what it needs",
    GateReason.NEEDS_INFO: "the report lacks something that only its reporter can give",
    GateReason.NOT_SEEN_AS_REPORTED: "it did not happen on the reporter's version and device",
    GateReason.NOT_SEEN_ELSEWHERE: "it did not happen, but not on the reporter's version and device",
    GateReason.OTHER_RESULT: "something else happened than the report says",
    GateReason.NO_CLAIM: "the report says nothing that can be checked",
    GateReason.GONE_CONFOUNDED: "it happened before and does not now, but more than one thing differs",
    GateReason.GONE_WITHOUT_A_VERSION: (
        "it happened before and does not now, and no version is known to have ended it"
    ),
    GateReason.MAINTAINER: "a maintainer overruled the verdict",
    GateReason.NO_REPORT: "no report of this issue was submitted here",
    GateReason.NOT_RUN: "its report has not been run",
    GateReason.RUNNING: "its first run has not ended",
    GateReason.NO_RESULT: "its runs ended without a result",
    GateReason.WITHDRAWN: "its report was withdrawn",
}


def gate_words(judgement: GateJudgement, *, today: date) -> str:
    """The answer in one or two sentences. They hold only fixed words, versions and names of targets."""
    match judgement.answer:
        case GateAnswer.STILL_HAPPENS:
            words = _still_words(judgement, today)
        case GateAnswer.FIXED:
            fixes = dict.fromkeys(
                f"{'Python' if fix.package == 'python' else fix.package} {fix.version}"
                f" (last seen with {fix.last_seen})"
                for fix in judgement.fixed_in
            )
            words = f"Fixed in {_list(tuple(fixes))}; {_when(judgement, today)}."
        case GateAnswer.NOT_SHOWN:
            when = f"; {_when(judgement, today)}" if judgement.at is not None else ""
            words = f"It cannot be shown here: {_WHY[judgement.reason]}{when}. {NOT_FIXED}"
        case GateAnswer.UNKNOWN:
            return f"Unknown here: {_WHY[judgement.reason]}."
    if judgement.undecided:
        words += f" With a newer version it cannot be shown: {_list(judgement.undecided)}."
    if judgement.untried and judgement.answer is not GateAnswer.NOT_SHOWN:
        words += f" Not tried yet: {_list(judgement.untried)}."
    return words


def _still_words(judgement: GateJudgement, today: date) -> str:
    if judgement.reason is GateReason.MAINTAINER:
        return "It still happens: a maintainer says so."
    happens = "It still happens in some attempts" if judgement.sometimes else "It still happens"
    on = f" on {_list(judgement.on)}" if judgement.on else ""
    defect = (
        " A test shows that it is no defect, which the reporter should be told."
        if judgement.no_defect
        else ""
    )
    return f"{happens}{on}; {_when(judgement, today)}.{defect}"


def _when(judgement: GateJudgement, today: date) -> str:
    if judgement.at is None:
        return "run at an unknown time"
    day = judgement.at.date()
    return "run of today" if day == today else f"run of {day.isoformat()}"


def _list(names: tuple[str, ...]) -> str:
    first, more = names[:MOST_NAMES], len(names) - MOST_NAMES
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")
