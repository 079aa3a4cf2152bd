"""The current verdict of a report, from the runs of our own nodes.

Contributed runs are listed but do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from app.judging.judgement import INCONCLUSIVE, Verdict
from app.judging.report.change import agree


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdict:
    """The verdict of an ended run. `contributed_by` is None for a run of our own nodes.

    A bisection tries each target as seldom as it can, so it says less of each than another run.
    """

    run: str
    verdict: Verdict
    contributed_by: str | None = None
    is_bisection: bool = False


class ContributedVerdict(BaseModel):
    """The verdict of a contributed run. `shown_here` is True if a run of our own has the same verdict."""

    model_config = ConfigDict(frozen=True)

    run: str
    by: str
    verdict: Verdict
    shown_here: bool


class CurrentVerdict(BaseModel):
    """The current verdict and its run. Both are null until a run of our own has ended."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict | None = None
    run: str | None = None
    contributed: tuple[ContributedVerdict, ...] = ()


def current_verdict(runs: Sequence[RunVerdict]) -> CurrentVerdict:
    """The current verdict from the runs of a report, newest first.

    It is the verdict of our newest run with a result, or of the newest run if none has a result. A bisection
    that does not contradict the newest other run does not replace it.
    """
    own = [run for run in runs if run.contributed_by is None]
    with_result = [run for run in own if run.verdict is not Verdict.NO_RESULT]
    current = next(iter(with_result or own), None)
    other = next((run for run in with_result if not run.is_bisection), None)
    if (
        current is not None
        and current.is_bisection
        and other is not None
        and not _contradicts(current, other)
    ):
        current = other
    own_verdicts = {run.verdict for run in own}
    return CurrentVerdict(
        verdict=None if current is None else current.verdict,
        run=None if current is None else current.run,
        contributed=tuple(
            ContributedVerdict(
                run=run.run,
                by=run.contributed_by,
                verdict=run.verdict,
                shown_here=run.verdict in own_verdicts,
            )
            for run in runs
            if run.contributed_by is not None
        ),
    )


def _contradicts(bisection: RunVerdict, other: RunVerdict) -> bool:
    return bisection.verdict not in INCONCLUSIVE and not agree(bisection.verdict, other.verdict)
