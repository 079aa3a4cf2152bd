"""The contrast of a `reproduced`: where the same check is not met, or that there is no such place."""

from __future__ import annotations

import pytest
from judging_builders import CPU, CUDA, claim, prints, script, several

from app.intake.reading import Reading, ScriptRole
from app.judging.judgement import DifferentKind, JobJudgement, JudgedCell, Verdict
from app.judging.verdict.contrast import Contrast, ContrastKind
from app.judging.verdict.job import judge_job
from app.judging.verdict.run import judge_run
from worker.contract import Reason, Result

CLAIM = claim(prints("loss 0.5"))
OTHER_VALUE = Reason(code=DifferentKind.OTHER_VALUE, detail="")
CRASHED = Reason(code=DifferentKind.OTHER_FAILURE, detail="")
NONE = Contrast(ContrastKind.NONE)


def cell(
    verdict: Verdict,
    *,
    target: object = CUDA,
    role: ScriptRole = ScriptRole.MAIN,
    reason: Reason | None = None,
    of: int = 3,
) -> JudgedCell:
    judgement = JobJudgement(verdict=verdict, reason=reason, of=of)
    return JudgedCell(job_id="j", script="d", target=target, judgement=judgement, role=role)  # type: ignore[arg-type]


def contrast_beside(*cells: JudgedCell) -> Contrast | None:
    seen = cell(Verdict.REPRODUCED, target=CPU)
    return judge_run(Reading(scripts=(script(),), claim=CLAIM), [seen, *cells]).contrast


@pytest.mark.parametrize(
    ("others", "contrast"),
    [
        ([cell(Verdict.NOT_REPRODUCED)], Contrast(ContrastKind.TARGET, CUDA.label())),
        ([cell(Verdict.DIFFERENT, reason=OTHER_VALUE)], Contrast(ContrastKind.TARGET, CUDA.label())),
        # It may have failed before it came to the point.
        ([cell(Verdict.DIFFERENT, reason=CRASHED)], NONE),
        ([cell(Verdict.CANNOT_SHOW)], NONE),
        ([cell(Verdict.REPRODUCED)], NONE),
        ([cell(Verdict.FLAKY)], NONE),
        ([cell(Verdict.OBSERVED, role=ScriptRole.CONTROL)], Contrast(ContrastKind.CONTROL, CUDA.label())),
        ([cell(Verdict.OBSERVED, role=ScriptRole.CONTROL, of=0)], NONE),
        ([cell(Verdict.REPRODUCED, role=ScriptRole.CONTROL)], NONE),
        (
            [cell(Verdict.OBSERVED, role=ScriptRole.CONTROL, target=CPU), cell(Verdict.NOT_REPRODUCED)],
            Contrast(ContrastKind.TARGET, CUDA.label()),
        ),
    ],
)
def test_the_contrast_is_what_the_run_has(others: list[JudgedCell], contrast: Contrast) -> None:
    assert contrast_beside(*others) == contrast


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.REPRODUCED])
def test_only_reproduced_has_one(verdict: Verdict) -> None:
    assert judge_run(Reading(scripts=(script(),), claim=CLAIM), [cell(verdict)]).contrast is None


def test_its_absence_weakens_no_verdict() -> None:
    results: list[Result] = several(3, "loss 0.5\n")
    judgement = judge_job(CLAIM, script(), CPU, results)
    alone = JudgedCell(
        job_id="j", script=script().digest, target=CPU, judgement=judgement, results=tuple(results)
    )
    run = judge_run(Reading(scripts=(script(),), claim=CLAIM), [alone])
    assert (run.verdict, run.contrast) == (Verdict.REPRODUCED, NONE)
