"""The best answer of earlier runs of a report, to stand beside that of its newest run."""

from __future__ import annotations

from collections.abc import Sequence

from app.judging.judgement import SIGHTINGS
from app.judging.report.owner import Owner
from app.runs.run_object.answer.flips import Flip
from app.runs.run_object.answer.part import AnswerPart, KnownAnswer
from app.runs.run_object.answer.sentences import answer_of
from app.runs.run_object.document import RunDocument


def leaves_open(run: RunDocument, answer: AnswerPart) -> bool:
    """Whether an earlier run may know more: this one did not see the claim, or does not decide whose it is.

    A fix in a newer version is an answer: the earlier runs are its older side.
    """
    if run.verdict in SIGHTINGS:
        return answer.owner is Owner.OPEN
    return run.verdict is not None and answer.baseline is None


def known_answer(
    run: RunDocument, earlier: Sequence[RunDocument], flip: Flip | None = None
) -> KnownAnswer | None:
    """The answer of the newest earlier run that decides whose it is, else of the newest that saw the claim.

    `earlier` are runs that saw it, newest first. An undecided one adds nothing to a `run` that saw it, too.
    `flip` is a regression that the runs of the report show together.
    """
    answers = [
        (one, answer_of(one, flip))
        for one in earlier
        if one.verdict in SIGHTINGS and one.contributed is None and one.overruled is None and one.id != run.id
    ]
    decided = (pair for pair in answers if pair[1].owner is not Owner.OPEN)
    undecided = answers if run.verdict not in SIGHTINGS else []
    best = next(decided, None) or next(iter(undecided), None)
    if best is None:
        return None
    one, answer = best
    return KnownAnswer(
        run=one.id,
        what=answer.what,
        where=answer.where,
        how_sure=answer.how_sure,
        whose=answer.whose,
        owner=answer.owner,
        finished_at=one.finished_at,
    )
