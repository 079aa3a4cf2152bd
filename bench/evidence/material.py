"""The labelled scripts, and recorded runs of them."""

from __future__ import annotations

import gzip
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.intake.read import read
from app.limits import NO_READ_LIMITS
from app.runs.local.run import LocalOptions, run_locally
from app.runs.run_object.document import RunDocument
from app.runs.run_object.dossier_of_run import dossier_of_run
from app.targets.planning.presets import EXPLAIN
from app.targets.planning.run_request import RunRequest
from worker.contract import Limits, Outcome

HERE = Path(__file__).parent
RUNS = HERE / "runs"
WALL_SECONDS = 120.0
PARTS = ("tuned", "untouched")
KINDS = ("harmless", "defect")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A script with the answers that are right. They were written down before the first run.

    `causes` has None where no cause is a right answer too. `operations` is empty if none is at fault.
    """

    name: str
    kind: str
    family: str
    part: str
    defects: frozenset[str]
    causes: frozenset[str | None]
    operations: frozenset[str]

    @property
    def script(self) -> str:
        return (HERE / "scripts" / f"{self.name}.py").read_text()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The dossier's answer for one script, and its cost: seconds of a plain and of a traced attempt."""

    defect: str
    cause: str | None
    operation: str | None
    plain_seconds: float | None
    traced_seconds: float | None
    shadow_seconds: float | None
    unknown: tuple[str, ...]


def cases(parts: Sequence[str] = PARTS) -> list[Case]:
    """The cases of these parts, by name."""
    labels: dict[str, dict[str, Any]] = json.loads((HERE / "labels.json").read_text())
    return [
        Case(
            name=name,
            kind=row["kind"],
            family=row["family"],
            part=row["part"],
            defects=frozenset(row["defect"]),
            causes=frozenset(row["cause"]),
            operations=frozenset(row["operation"]),
        )
        for name, row in sorted(labels.items())
        if row["part"] in parts
    ]


class _Silent:
    """Shows nothing while a run goes on."""

    def report_plan(self, *_: object) -> None: ...

    def report_attempt(self, *_: object) -> None: ...

    def report_verdict(self, *_: object) -> None: ...

    def warn(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")


def run_case(case: Case) -> RunDocument:
    """Explain one script here, as `samehere explain` does."""
    reading = read(case.script, form="script", limits=NO_READ_LIMITS)
    options = LocalOptions(limits=Limits(wall_seconds=WALL_SECONDS))
    return run_locally(reading, RunRequest(preset=EXPLAIN), options, progress=_Silent()).document


def stored(case: Case) -> RunDocument | None:
    """The recorded run of a script as it is today; None without one."""
    path = RUNS / f"{case.name}.json.gz"
    if not path.exists():
        return None
    run = RunDocument.model_validate_json(gzip.decompress(path.read_bytes()))
    return run if any(part.script == case.script for part in run.report.scripts) else None


def record(every: Sequence[Case], *, again: bool) -> Iterator[str]:
    """Run the scripts without a recorded run, or all of them. Yields a line for each."""
    RUNS.mkdir(exist_ok=True)
    for case in every:
        if not again and stored(case) is not None:
            continue
        text = run_case(case).model_dump_json(by_alias=True)
        (RUNS / f"{case.name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        yield case.name


def answer_of(run: RunDocument) -> Answer:
    """The answer of a run's dossier, as of today's rules."""
    dossier = dossier_of_run(run)
    operation = next((each.answer for each in dossier.questions if each.letter == "C"), None)
    shadows = [job.trace.shadow.seconds for job in run.jobs if job.trace is not None and job.trace.shadow]
    return Answer(
        defect=str(dossier.defect),
        cause=dossier.cause,
        operation=operation,
        plain_seconds=_seconds(run, traced=False),
        traced_seconds=_seconds(run, traced=True),
        shadow_seconds=max(shadows, default=None),
        unknown=tuple(dossier.unknown),
    )


def answers(every: Sequence[Case]) -> Mapping[str, Answer]:
    """The answers of the recorded runs, by the name of the script."""
    return {case.name: answer_of(run) for case in every if (run := stored(case)) is not None}


def _seconds(run: RunDocument, *, traced: bool) -> float | None:
    """The median duration of attempts with a trace, or of plain ones."""
    seconds = [
        attempt.wall_seconds
        for job in run.jobs
        if ("trace" in job.target.settings) is traced and (traced or not job.target.settings)
        for attempt in job.attempts
        if attempt.outcome is Outcome.COMPLETED and attempt.wall_seconds is not None
    ]
    return statistics.median(seconds) if seconds else None
