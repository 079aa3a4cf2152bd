"""The sentences that say which part of a report its verdict does not settle."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from app.command.terminal.render import render
from app.judging.judgement import CheckResult, Verdict
from app.runs.run_object.answer.brief import Step, brief_of
from app.runs.run_object.answer.sentences import answer_of
from app.runs.run_object.answer.silent_parts import GPU_UNTESTED, NEITHER, NOTHING_VARIES
from app.runs.run_object.document import RunDocument
from app.runs.run_object.dossier_of_run import CLAIM_NOT_SEEN, dossier_of_run

OUTPUT = {"text": "nan", "kind": "output", "role": "bug", "where": {}, "over": "attempt", "lines": ["nan"]}
EXPECTED = OUTPUT | {"text": "0.0", "role": "expected", "lines": ["0.0"]}
ON_GPU = OUTPUT | {"text": "0.", "role": "detail", "where": {"device": "cuda"}}
VARIES = {"text": "it varies", "kind": "varies", "role": "bug", "where": {}, "over": "repeats"}


def attempt(number: int, stdout: str = "nan\n", start: str = "cold") -> dict[str, Any]:
    return {
        "id": f"a{number}",
        "kind": "repeat",
        "start": start,
        "state": "recorded",
        "outcome": "completed",
        "stdout": stdout,
    }


def cell(verdict: Verdict | None, device: str = "cpu", **more: Any) -> dict[str, Any]:
    attempts = [attempt(number) for number in range(3)]
    target = {"device": device, "gpus": int(device == "cuda"), "toolchain": "t", "settings": {}}
    return {
        "id": f"job-{device}",
        "script": "d",
        "target": target,
        "state": "judged" if verdict else "running",
        "verdict": verdict,
        "matched": 3,
        "of": 3,
        "attempts": attempts,
        **more,
    }


def run(*jobs: dict[str, Any], claim: dict[str, Any], **more: Any) -> RunDocument:
    document = RunDocument.model_validate(
        {
            "id": "r",
            "state": "finished",
            "verdict": jobs[0]["verdict"],
            "seen": True,
            "report": {"claim": claim},
            "jobs": list(jobs),
            "created_at": datetime(2026, 1, 1, tzinfo=UTC),
            **more,
        }
    )
    labels = [job.target.label for job in document.jobs if job.verdict is Verdict.REPRODUCED]
    return document.model_copy(update={"where": labels})


@pytest.mark.parametrize("verdict", [Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.DIFFERENT])
def test_a_verdict_from_a_cpu_says_that_the_gpu_was_not_tested(verdict: Verdict) -> None:
    claim = {"checks": [OUTPUT, ON_GPU]}
    assert GPU_UNTESTED in answer_of(run(cell(verdict), claim=claim)).what
    idle = cell(Verdict.CANNOT_SHOW, "cuda")
    assert GPU_UNTESTED in answer_of(run(cell(verdict), idle, claim=claim)).what
    both = run(cell(verdict), cell(Verdict.NOT_REPRODUCED, "cuda"), claim=claim)
    assert GPU_UNTESTED not in answer_of(both).what
    assert GPU_UNTESTED not in answer_of(run(cell(verdict), claim={"checks": [OUTPUT]})).what


def test_two_sides_or_another_reading_may_name_the_gpu() -> None:
    sides = {"text": "they differ", "kind": "differs", "role": "bug", "where": {}, "over": "attempt"}
    further = [{"checks": [sides | {"sides": ["cpu", "cuda"]}]}]
    what = answer_of(run(cell(Verdict.REPRODUCED), claim={"checks": [OUTPUT], "further": further})).what
    assert what == f"It happens, as reported. {GPU_UNTESTED}"


def test_equal_output_does_not_show_that_results_vary() -> None:
    claim = {"checks": [OUTPUT], "further": [{"checks": [VARIES]}]}
    seen = Verdict.REPRODUCED
    same = run(cell(seen), claim=claim)
    assert answer_of(same).what == NOTHING_VARIES
    brief = brief_of(same)
    assert brief.next.code is Step.ASK
    assert brief.caveat == "The output is as reported; that does not say that it is a bug."
    changing = cell(seen, attempts=[attempt(1), attempt(2, "nan 2\n")])
    once = cell(seen, attempts=[attempt(1)])
    hidden = cell(seen, varying_values=["x"])
    for other in (changing, once, hidden):
        assert answer_of(run(other, claim=claim)).what == "It happens, as reported."
    raised = OUTPUT | {"kind": "exception", "type": "AssertionError", "lines": None}
    assert answer_of(run(cell(seen), claim=claim | {"checks": [raised]})).what == "It happens, as reported."


def test_the_terminal_says_what_the_verdict_leaves_open() -> None:
    claim = {"checks": [OUTPUT, ON_GPU], "further": [{"checks": [VARIES]}]}
    shown = io.StringIO()
    console = Console(file=shown, width=400, markup=False, highlight=False, no_color=True)
    render(run(cell(Verdict.REPRODUCED), claim=claim, summary="It happens, as claimed."), console)
    assert shown.getvalue().startswith(
        f"reproduced: It happens, as claimed. {NOTHING_VARIES} {GPU_UNTESTED}\n"
    )


def test_another_behaviour_may_be_neither_the_reported_nor_the_expected_one() -> None:
    claim = {"checks": [OUTPUT, EXPECTED]}
    findings = [{"text": text, "result": CheckResult.OTHER} for text in ("nan", "0.0")]
    assert answer_of(run(cell(Verdict.DIFFERENT, checks=findings), claim=claim)).what == NEITHER
    findings[1]["result"] = CheckResult.UNREACHED
    other = run(cell(Verdict.DIFFERENT, checks=findings), claim=claim)
    assert answer_of(other).what == "Something else happens than what is reported."


def test_a_bound_says_on_how_many_attempts_it_rests() -> None:
    attempts = [attempt(1), attempt(2, start="warm"), attempt(3, start="warm")]
    interval = {"low": 0.025, "high": 1.0, "level": 0.95, "method": "confidence-sequence"}
    warm = cell(Verdict.REPRODUCED, attempts=attempts, rate_interval=interval)
    sure = answer_of(run(warm, claim={"checks": [OUTPUT]})).how_sure
    assert sure == (
        "3 of 3 attempts, 1 of them independent. If it only happens sometimes, then in at least 2 % of"
        " attempts."
    )


def test_an_open_run_names_the_place_and_the_counts_so_far() -> None:
    begun = run(
        cell(None), claim={"checks": [OUTPUT]}, state="running", verdict=None, so_far=Verdict.REPRODUCED
    )
    answer = answer_of(begun)
    assert answer.where.startswith("Seen on a CPU")
    assert answer.how_sure == (
        "3 of 3 attempts. If it only happens sometimes, then in at least 27 % of attempts."
    )


@pytest.mark.parametrize("verdict", [Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.DIFFERENT])
def test_a_dossier_says_if_the_run_did_not_show_the_claim(verdict: Verdict) -> None:
    dossier = dossier_of_run(run(cell(verdict), claim={"checks": [OUTPUT]}))
    assert (CLAIM_NOT_SEEN in dossier.defect_sentence) == (verdict is not Verdict.REPRODUCED)


def test_a_cell_that_still_runs_on_the_gpu_is_not_said_to_be_untested() -> None:
    claim = {"text": "t", "checks": [OUTPUT, ON_GPU]}
    going_on = run(cell(Verdict.REPRODUCED), cell(None, "cuda"), claim=claim)
    assert GPU_UNTESTED not in answer_of(going_on).what
    over = run(cell(Verdict.REPRODUCED), cell(Verdict.CANNOT_SHOW, "cuda"), claim=claim)
    assert GPU_UNTESTED in answer_of(over).what
