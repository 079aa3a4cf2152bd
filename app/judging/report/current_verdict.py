"""What stands of a report over all of its runs: the word of our own nodes. What was contributed stands beside it and decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from app.judging.judgement import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdict:
    """What a run that ended says. `contributed_by` is None for a run of our own nodes."""

    run: str
    verdict: Verdict
    contributed_by: str | None = None


class ContributedVerdict(BaseModel):
    """What a contributed run says; `shown_here`: a run of our own has come to the same verdict."""

    model_config = ConfigDict(frozen=True)

    run: str
    by: str
    verdict: Verdict
    shown_here: bool


class CurrentVerdict(BaseModel):
    """`verdict` is null, and so is `run`, until a run of our own has ended."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict | None = None
    run: str | None = None
    contributed: tuple[ContributedVerdict, ...] = ()


def current_verdict(runs: Sequence[RunVerdict]) -> CurrentVerdict:
    """Of the runs of a report, newest first. A run without a result is trouble of ours: an older one that has one stands."""
    own = [run for run in runs if run.contributed_by is None]
    telling = [run for run in own if run.verdict is not Verdict.NO_RESULT]
    stands = next(iter(telling or own), None)
    here = {run.verdict for run in own}
    return CurrentVerdict(
        verdict=None if stands is None else stands.verdict,
        run=None if stands is None else stands.run,
        contributed=tuple(
            ContributedVerdict(
                run=run.run, by=run.contributed_by, verdict=run.verdict, shown_here=run.verdict in here
            )
            for run in runs
            if run.contributed_by is not None
        ),
    )
