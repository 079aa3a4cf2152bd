"""Run objects recorded on a machine with a GPU are judged again: today's rules give the verdicts that are right."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.intake.read import read
from app.judging.job import judge_job
from app.runs.assemble import AttemptFacts, JobFacts, RunFacts, assemble
from app.targets.target import Target
from worker.contract import AttemptKind, Level, Observation, Result, Start

RECORDINGS = Path(__file__).parents[1] / "recordings"
CASES = json.loads((RECORDINGS / "cases_expected.json").read_text())
RUNS = sorted(path for path in (RECORDINGS / "h200").glob("*.cuda*.json"))


def result_of(attempt: dict[str, Any], environments: dict[str, Any]) -> Result:
    fields = ("exit_status", "signal", "exception", "stdout", "stderr", "truncated", "devices_used", "flags_changed")
    return Result(
        node=attempt["node"],
        instance="recorded",
        attempt_id=attempt["id"],
        lease_no=1,
        level=Level(attempt["level"]) if attempt["level"] else None,
        outcome=attempt["outcome"],
        reason=attempt["reason"],
        observation=Observation.model_validate({name: attempt[name] for name in fields}),
        environment=environments.get(attempt["environment"], {}),
    )


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_recorded_run_gets_a_right_verdict(path: Path) -> None:
    name, _, on = path.stem.partition(".")
    case = CASES[name]
    document = json.loads(path.read_text())
    reading = read(document["report"]["scripts"][0]["as_given"], form="script", claim=case["claim"])
    (job,) = document["jobs"]
    results = [result_of(attempt, document["environments"]) for attempt in job["attempts"] if attempt["outcome"]]
    judged = judge_job(reading.claim, reading.scripts[0], Target.model_validate(job["target"]), results)
    assert judged.verdict in case["accept"][on.replace("cuda.", "cuda ")]
    assert judged.verdict == job["verdict"]


def test_the_founding_report_is_settled_by_rest() -> None:
    document = json.loads((RECORDINGS / "h200" / "rest_logdet.json").read_text())
    assert document["where"] == ["cuda@torch-2.11-cuda:cpu-isa=sse4.2"]
    assert document["not_where"] == ["cuda@torch-2.11-cuda"]
    paths = {environment["blas.path"] for environment in document["environments"].values()}
    assert paths == {"mkl:avx512", "mkl:sse4.2"}
    shown = {job["attempts"][0]["stdout"] for job in document["jobs"]}
    assert shown == {"cpu -114.58465576171875\ncuda -108.34196472167969\n", "cpu -inf\ncuda -108.34196472167969\n"}


def test_the_setting_that_makes_the_difference_stands_beside_it() -> None:
    recorded = json.loads((RECORDINGS / "h200" / "logdet_cpu_isa.json").read_text())
    reading = read(recorded["report"]["scripts"][0]["as_given"], form="script", claim=CASES["logdet_singular"]["claim"])
    jobs = [
        JobFacts(
            id=job["id"],
            script=reading.scripts[0].digest,
            target=Target.model_validate(job["target"]),
            state="judged",
            attempts=tuple(
                AttemptFacts(
                    id=one["id"],
                    kind=AttemptKind.REPEAT,
                    start=Start.COLD,
                    state="recorded",
                    result=result_of(one, recorded["environments"]),
                )
                for one in job["attempts"]
            ),
        )
        for job in recorded["jobs"]
    ]
    facts = RunFacts(id="run", state="finished", created_at=datetime(2026, 11, 28, tzinfo=UTC))
    run = assemble(facts, reading, jobs)
    seen = next(job for job in jobs if job.target.label().startswith("cuda") and "sse4.2" in job.target.label())
    plain = next(job for job in jobs if job.target.label() == "cuda@torch-2.11-cuda").attempts[0]
    (beside,) = [part for part in run.comparisons if part.candidate == seen.attempts[0].id]
    assert beside.baseline == plain.id
    assert [one.about for one in beside.differences[:2]] == ["stdout", "environment: blas.path"]
    assert run.verdict == "reproduced"
    assert run.where == ["cuda@torch-2.11-cuda:cpu-isa=sse4.2", "cuda@torch-2.11-cuda:cpu-isa=compatible"]
