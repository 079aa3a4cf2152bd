"""The contrast of a `reproduced`: where the same check is not met, or that there is no such place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judging_builders import CPU, CUDA, claim, prints, raises, script, several

from app.intake.claim.claims import Where
from app.intake.reading import Reading, ScriptRole
from app.judging.judgement import DifferentKind, JobJudgement, JudgedCell, Verdict
from app.judging.verdict.contrast import Contrast, ContrastKind, claim_in_contrast
from app.judging.verdict.job import judge_job
from app.judging.verdict.run import judge_run
from app.judging.verdict.summary import summarise
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


@pytest.mark.parametrize(
    ("free", "text", "is_free"),
    [
        # Of a script that varies, 0 of 3 against 3 of 3 may be chance (10 %); 0 of 5 is hardly (2 %).
        (3, "import random\nassert random.random() > 0.3\n", False),
        (5, "import random\nassert random.random() > 0.3\n", True),
        (3, "assert 1 > 2\n", True),
    ],
)
def test_chance_is_no_contrast(free: int, text: str, is_free: bool) -> None:  # noqa: FBT001 - from the table
    varies = script(text, unseeded="random" in text)
    reading = Reading(scripts=(varies,), claim=claim(raises("AssertionError")))
    cells = [
        JudgedCell(
            job_id=str(place),
            script=varies.digest,
            target=target,
            judgement=JobJudgement(verdict=verdict, matched=matched, of=of),
        )
        for place, (target, verdict, matched, of) in enumerate(
            [(CPU, Verdict.REPRODUCED, 3, 3), (CUDA, Verdict.NOT_REPRODUCED, 0, free)]
        )
    ]
    run = judge_run(reading, cells)
    assert (run.where, run.not_where) == ((CPU.label(),), (CUDA.label(),))
    assert run.chance_where == (() if is_free else (CUDA.label(),))
    assert run.contrast == (Contrast(ContrastKind.TARGET, CUDA.label()) if is_free else NONE)
    words = summarise(run, cells)
    assert f"Not on {CUDA.label()}." in words if is_free else "which may be chance" in words


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


@pytest.mark.parametrize(
    ("verdict", "contrast"),
    [
        (Verdict.NOT_REPRODUCED, Contrast(ContrastKind.TARGET, CUDA.label(), CUDA.label())),
        (Verdict.REPRODUCED, Contrast(ContrastKind.NONE, added=CUDA.label())),
        (Verdict.NO_RESULT, Contrast(ContrastKind.NONE, added=CUDA.label())),
        (None, Contrast(ContrastKind.NONE, added=CUDA.label(), is_open=True)),
    ],
)
def test_a_cell_that_was_added_for_it_decides_nothing_else(
    verdict: Verdict | None, contrast: Contrast
) -> None:
    seen = cell(Verdict.REPRODUCED, target=CPU)
    added = replace(cell(verdict or Verdict.REPRODUCED), is_contrast=True)
    added = added if verdict else replace(added, judgement=None)
    reading = Reading(scripts=(script(),), claim=CLAIM)
    with_it, without = judge_run(reading, [seen, added]), judge_run(reading, [seen])
    assert with_it.contrast == contrast
    assert replace(with_it, contrast=None) == replace(without, contrast=None)


def test_what_the_run_has_goes_before_it() -> None:
    own, added = cell(Verdict.NOT_REPRODUCED, target=CPU), replace(cell(Verdict.REPRODUCED), is_contrast=True)
    assert contrast_beside(own, added) == Contrast(ContrastKind.TARGET, CPU.label(), CUDA.label())


def test_there_the_claim_has_no_version_and_no_mode() -> None:
    where = Where(device="cuda", package="numpy", version=">=2.4", range="<2.6", mode="jit", os="windows")
    limited = claim(prints("loss 0.5").model_copy(update={"where": where}))
    free = claim_in_contrast(limited.model_copy(update={"further": (limited,)}))
    for one in (free, *free.further):
        assert one.checks[0].where == Where(device="cuda", package="numpy")
