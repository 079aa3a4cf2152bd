"""Run objects recorded on a machine with a GPU are judged again: today's rules give the verdicts that are
right.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from default_limits import read

from app.intake.reading import Reading
from app.judging.verdict.job import judge_job
from app.runs.run_object.assemble import assemble
from app.runs.run_object.facts import AttemptFacts, JobFacts, RunFacts
from app.targets.target import Target
from worker.contract import AttemptKind, Level, Observation, Result, Start

RECORDINGS = Path(__file__).parents[1] / "recordings"
CASES = json.loads((RECORDINGS / "cases_expected.json").read_text())
RUNS = sorted(path for path in (RECORDINGS / "h200").glob("*.cuda*.json"))


def result_of(attempt: dict[str, Any], environments: dict[str, Any]) -> Result:
    fields = (
        "exit_status",
        "signal",
        "exception",
        "stdout",
        "stderr",
        "truncated",
        "devices_used",
        "flags_changed",
    )
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


def jobs_of(recorded: dict[str, Any], reading: Reading) -> list[JobFacts]:
    return [
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


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_recorded_run_gets_a_right_verdict(path: Path) -> None:
    name, _, on = path.stem.partition(".")
    case = CASES[name]
    document = json.loads(path.read_text())
    reading = read(document["report"]["scripts"][0]["as_given"], form="script", claim=case["claim"])
    (job,) = document["jobs"]
    results = [
        result_of(attempt, document["environments"]) for attempt in job["attempts"] if attempt["outcome"]
    ]
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
    assert shown == {
        "cpu -114.58465576171875\ncuda -108.34196472167969\n",
        "cpu -inf\ncuda -108.34196472167969\n",
    }


def test_the_setting_that_makes_the_difference_stands_beside_it() -> None:
    recorded = json.loads((RECORDINGS / "h200" / "logdet_cpu_isa.json").read_text())
    reading = read(
        recorded["report"]["scripts"][0]["as_given"], form="script", claim=CASES["logdet_singular"]["claim"]
    )
    jobs = jobs_of(recorded, reading)
    facts = RunFacts(id="run", state="finished", created_at=datetime(2026, 11, 28, tzinfo=UTC))
    run = assemble(facts, reading, jobs)
    seen = next(
        job for job in jobs if job.target.label().startswith("cuda") and "sse4.2" in job.target.label()
    )
    plain = next(job for job in jobs if job.target.label() == "cuda@torch-2.11-cuda").attempts[0]
    (beside,) = [part for part in run.comparisons if part.candidate == seen.attempts[0].id]
    assert beside.baseline == plain.id
    assert [one.about for one in beside.differences[:2]] == ["stdout", "environment: blas.path"]
    assert run.verdict == "reproduced"
    assert run.where == ["cuda@torch-2.11-cuda:cpu-isa=sse4.2", "cuda@torch-2.11-cuda:cpu-isa=compatible"]


def judged_again(name: str, report: str, *, form: Any = "report") -> Any:
    recorded = json.loads((RECORDINGS / "h200" / f"{name}.json").read_text())
    reading = read((RECORDINGS / "h200" / "reports" / report).read_text(), form=form)
    return assemble(
        RunFacts(id="r", state="finished", created_at=datetime(2026, 11, 28, tzinfo=UTC)),
        reading,
        jobs_of(recorded, reading),
    )


@pytest.mark.parametrize(
    ("name", "cause", "defect"),
    [
        ("uninitialised_quick", "uninitialised_memory", "yes"),
        ("atomics_quick", "nondeterministic_kernel", "no"),
        ("conv_quick", "reduced_precision", "no"),
    ],
)
def test_the_cells_that_a_preset_gained_found_the_cause_on_a_card(name: str, cause: str, defect: str) -> None:
    document = judged_again(name, f"{name}.md")
    assert (document.verdict, document.cause, document.defect) == ("reproduced", cause, defect)
    assert document.where == ["cuda@torch-2.11-cuda"]


def test_a_hang_on_a_card_is_told_with_where_it_stood() -> None:
    (attempt,) = json.loads((RECORDINGS / "h200" / "hang.json").read_text())["jobs"][0]["attempts"]
    assert 'File "/home/u/script.py", line 8 in <module>' in attempt["stacks"]


def test_values_of_a_card_are_captured_and_a_poisoned_context_is_left_alone() -> None:
    def values(name: str) -> dict[str, dict[str, Any]]:
        (attempt,) = json.loads((RECORDINGS / "h200" / f"{name}.json").read_text())["jobs"][0]["attempts"][:1]
        return {value["name"]: value for value in attempt["values"]}

    found = values("values")
    assert (found["print[0]"]["dtype"], found["print[0]"]["device"]) == ("torch.bfloat16", "cuda:0")
    assert found["nan"]["statistics"]["nan"] == found["nan"]["statistics"]["positive_infinite"] == 1
    assert found["print[0]"]["digest"] == found["b"]["digest"]
    assert all(value["device"] == "cpu" or not value["digest"] for value in values("poisoned").values())
