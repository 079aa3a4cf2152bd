"""The shapes of a million attempts: recorded runs of real hardware, each once in the form that Postgres
stores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from app.intake.read import read
from app.intake.reading import Reading
from app.judging.comparison.comparison import Repeats
from app.limits import NO_READ_LIMITS
from app.runs.run_object.assemble import assemble
from app.runs.run_object.comparison_parts import EvidenceAttempt, compare_pair, content_of
from app.runs.run_object.document import JobPart, RunDocument
from app.runs.run_object.facts import AttemptFacts, JobFacts, RunFacts
from app.runs.run_object.storable import split_reading, split_result, to_storable
from app.targets.target import Target
from worker.contract import AttemptKind, Environment, Level, Observation, Result, Start

TESTS = Path(__file__).parents[1] / "tests"
RECORDINGS = TESTS / "recordings"
# These stand in the JSON of a shape for values that differ in each copy.
ATTEMPT, NODE, DIGEST = "placeholder.attempt", "placeholder.node", "@digest@"
BASELINE, CANDIDATE = "placeholder.baseline", "placeholder.candidate"
CHATTY = {"determinism", "sgd_drift.cuda", "sometimes.cuda"}
_SEEN = (
    "exit_status",
    "signal",
    "exception",
    "stdout",
    "stderr",
    "truncated",
    "devices_used",
    "flags_changed",
    "wall_seconds",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A job as stored: its target without the toolchain, and the results of its attempts as text."""

    target: dict[str, Any]
    verdict: str
    reason: dict[str, Any] | None
    outcomes: tuple[str, ...]
    results: tuple[str, ...]
    environment: Environment
    # The target in the form of the run object.
    part: JobPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A run with its report, and the comparison of two of its attempts."""

    name: str
    title: str
    script: str
    claim: str | None
    reading: str
    cells: tuple[Cell, ...]
    document: RunDocument
    comparison: str
    result: str


def _result(attempt: dict[str, Any], environments: dict[str, Any]) -> Result:
    seen = {name: attempt[name] for name in _SEEN if attempt.get(name) is not None}
    seen |= {f"{name}_bytes": len(seen.get(name, "").encode()) for name in ("stdout", "stderr")}
    return Result(
        node=NODE,
        instance="recorded",
        attempt_id=ATTEMPT,
        lease_no=1,
        level=Level(attempt["level"]) if attempt["level"] else None,
        outcome=attempt["outcome"],
        reason=attempt["reason"],
        observation=Observation.model_validate(
            {**seen, "peak_memory_bytes": attempt.get("peak_memory_bytes") or 0, "hash_seed": "17"}
        ),
        environment=environments.get(attempt["environment"], {}),
    )


def _five(results: list[Result], *, chatty: bool) -> list[Result]:
    """Five results for a job with five attempts; a chatty script first prints the log of a training."""
    log = "".join(
        f"epoch {n} step {n * 7 % 100} loss {1 / (n + 1):.6f} grad {n * 0.37 % 3:.5f} lr 1e-04\n"
        for n in range(400)
    )
    made = []
    for number, characters in enumerate((16_000, 16_000, 16_000, 16_000, 16_000) if chatty else (0,) * 5):
        one = results[number % len(results)]
        seen = one.observation.model_copy(update={"stdout": log[:characters] + one.observation.stdout})
        made.append(one.model_copy(update={"observation": seen}))
    return made


def _jobs(recorded: dict[str, Any], reading: Reading, *, chatty: bool) -> list[JobFacts]:
    jobs = []
    for job in recorded["jobs"]:
        results = [_result(one, recorded["environments"]) for one in job["attempts"] if one["outcome"]]
        if results:
            attempts = tuple(
                AttemptFacts(
                    id=f"{job['id']}{number}",
                    kind=AttemptKind.REPEAT,
                    start=Start.COLD,
                    state="recorded",
                    result=result,
                )
                for number, result in enumerate(_five(results, chatty=chatty))
            )
            target = Target.model_validate({**job["target"], "toolchain": ""})
            jobs.append(
                JobFacts(
                    id=job["id"],
                    script=reading.scripts[0].digest,
                    target=target,
                    state="judged",
                    attempts=attempts,
                )
            )
    return jobs


def _cells(jobs: list[JobFacts], document: RunDocument) -> Iterator[Cell]:
    for job, part in zip(jobs, document.jobs, strict=True):
        results = [attempt.result for attempt in job.attempts if attempt.result is not None]
        yield Cell(
            target=job.target.model_dump(mode="json"),
            verdict=str(part.verdict),
            reason=None,
            outcomes=tuple(str(result.outcome) for result in results),
            results=tuple(json.dumps(split_result(result)[0]) for result in results),
            environment=results[0].environment,
            part=part,
        )


def _comparison(jobs: list[JobFacts], reading: Reading) -> tuple[str, str]:
    attempts = [(job, job.attempts[0]) for job in jobs] + [(job, job.attempts[-1]) for job in jobs]
    (one, baseline), (other, candidate) = attempts[:2]
    sides = [
        EvidenceAttempt(name, job.script, job.target, attempt.result)
        for name, job, attempt in ((BASELINE, one, baseline), (CANDIDATE, other, candidate))
        if attempt.result is not None
    ]
    content = content_of(compare_pair(sides[0], sides[1], Repeats(), reading.scripts[0]))
    return json.dumps(to_storable(content.model_dump(mode="json"))), str(content.comparison.result)


def _shape(path: Path) -> Shape | None:
    recorded = json.loads(path.read_text())
    cases = json.loads((RECORDINGS / "cases_expected.json").read_text())
    case = cases.get(path.stem.partition(".")[0], {})
    report = RECORDINGS / "h200" / "reports" / f"{path.stem}.md"
    claim = case.get("claim") or next(
        (check["text"] for check in recorded["report"]["claim"]["checks"]), None
    )
    script = recorded["report"]["scripts"][0]["as_given"]
    reading = (
        read(report.read_text(), form="report", limits=NO_READ_LIMITS)
        if report.exists()
        else read(script, form="script", claim=claim, limits=NO_READ_LIMITS)
    )
    jobs = _jobs(recorded, reading, chatty=path.stem in CHATTY)
    if len(reading.scripts) != 1 or not jobs:
        return None
    document = assemble(
        RunFacts(id="r", state="finished", created_at=datetime(2026, 11, 28, tzinfo=UTC)), reading, jobs
    )
    kept, _ = split_reading(reading)
    comparison, result = _comparison(jobs, reading)
    return Shape(
        name=path.stem,
        title=recorded["report"]["title"] or path.stem.partition(".")[0].replace("_", " "),
        script=reading.scripts[0].script,
        claim=claim,
        reading=json.dumps(kept).replace(reading.scripts[0].digest, DIGEST),
        cells=tuple(_cells(jobs, document)),
        document=document,
        comparison=comparison,
        result=result,
    )


@cache
def shapes() -> tuple[Shape, ...]:
    """All recorded runs."""
    found = (_shape(path) for path in sorted((RECORDINGS / "h200").glob("*.json")))
    return tuple(shape for shape in found if shape is not None)


@cache
def prose() -> tuple[str, ...]:
    """Texts of the corpus of reports."""
    return tuple(json.loads(path.read_text())["text"] for path in sorted((TESTS / "reports").glob("*.json")))
