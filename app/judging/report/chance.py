"""Tells where chance may explain that the claim was not seen, though it was seen elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from app.intake.reading import Reading
from app.judging.judgement import SIGHTINGS, JudgedCell, Verdict
from app.judging.report.homogeneity import homogeneity
from app.judging.verdict.attempts_needed import draws_do_not_show, may_vary


def may_be_chance(reading: Reading, cells: Sequence[JudgedCell], cell: JudgedCell) -> bool:
    """Whether a cell without the claim may show by chance alone what differs from the cells with it.

    Only of a script that shows its claim sometimes, or whose code or report says that it may vary.
    """
    there = [
        other
        for other in cells
        if other.verdict in SIGHTINGS and other.script == cell.script and other.judgement is not None
    ]
    if cell.verdict is not Verdict.NOT_REPRODUCED or cell.judgement is None or not there:
        return False
    if not any(other.verdict is Verdict.FLAKY for other in there) and not _varies(reading, there):
        return False
    judgements = [other.judgement for other in there if other.judgement is not None]
    pooled = sum(one.matched for one in judgements), sum(one.of for one in judgements)
    test = homogeneity([pooled, (cell.judgement.matched, cell.judgement.of)])
    return test is not None and test.may_be_equal


def _varies(reading: Reading, there: Sequence[JudgedCell]) -> bool:
    script = next((one for one in reading.scripts if one.digest == there[0].script), None)
    return (
        script is not None
        and may_vary(reading.claim, script)
        and not all(draws_do_not_show(reading.claim, script, cell.results) for cell in there)
    )
