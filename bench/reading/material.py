"""The sets of reports with verdicts that were written down before the first run, and recorded attempts."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "kinds"))

from kind_reports import RECORDING, TARGET, as_recorded, results_of, scripts_to_run

from app.intake.read import read
from app.intake.reading import Reading
from app.limits import NO_READ_LIMITS
from app.runs.local.run import LocalOptions, run_locally
from app.targets.planning.run_request import RunRequest
from worker.contract import Limits, Result

HERE = Path(__file__).parent
KINDS = HERE.parents[1] / "tests" / "reports" / "kinds"

REPEATS = 3
WALL_SECONDS = 60.0


@dataclass(frozen=True)
class Report:
    """One report: its text, the verdicts that are right on a CPU, and what was read of it."""

    set: str
    name: str
    text: str
    kind: str
    accept: frozenset[str]
    reading: Reading


@dataclass(frozen=True)
class ReportSet:
    """Reports in one folder, and the file with the attempts of their scripts."""

    name: str
    folder: Path
    attempts: Path

    @cached_property
    def right(self) -> Mapping[str, dict[str, Any]]:
        """`kind`, `accept_on_cpu` and `why` of each report, by its file."""
        found: dict[str, dict[str, Any]] = json.loads((self.folder / "right.json").read_text())
        return found

    @cached_property
    def reports(self) -> Sequence[Report]:
        return [
            Report(
                set=self.name,
                name=name,
                text=text,
                kind=right["kind"],
                accept=frozenset(right["accept_on_cpu"]),
                reading=read(text, form="report", limits=NO_READ_LIMITS),
            )
            for name, right in sorted(self.right.items())
            for text in [(self.folder / name).read_text()]
        ]

    def recorded(self) -> dict[str, list[dict[str, Any]]]:
        """The attempts as they are stored, by the digest of the script."""
        if not self.attempts.exists():
            return {}
        data = self.attempts.read_bytes()
        text = gzip.decompress(data) if self.attempts.suffix == ".gz" else data
        found: dict[str, list[dict[str, Any]]] = json.loads(text)
        return found

    def results(self) -> dict[str, list[Result]]:
        return {digest: results_of(attempts) for digest, attempts in self.recorded().items()}

    def store(self, attempts: Mapping[str, list[dict[str, Any]]]) -> None:
        """Write the attempts of the scripts of today, so that equal attempts give an equal file."""
        today = {each.digest for report in self.reports for each in scripts_to_run(report.reading)}
        stored = {digest: attempts[digest] for digest in sorted(today) if digest in attempts}
        self.attempts.parent.mkdir(parents=True, exist_ok=True)
        self.attempts.write_bytes(gzip.compress(json.dumps(stored).encode(), mtime=0))


def all_sets() -> list[ReportSet]:
    """The set of kinds, whose reports and attempts are those of the tests, and the sets of this folder."""
    own = [
        ReportSet(folder.name, folder, HERE / "attempts" / f"{folder.name}.json.gz")
        for folder in sorted((HERE / "reports").iterdir())
        if (folder / "right.json").exists()
    ]
    return [ReportSet("kinds", KINDS, RECORDING), *own]


class _Silent:
    """Shows nothing while a run goes on."""

    def report_plan(self, *_: object) -> None: ...

    def report_attempt(self, *_: object) -> None: ...

    def report_verdict(self, *_: object) -> None: ...

    def warn(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")


def record(reports: ReportSet) -> int:
    """Run the scripts that have no recorded attempts yet, on this machine; the number of reports that ran."""
    stored, ran = reports.recorded(), 0
    for report in reports.reports:
        if all(script.digest in stored for script in scripts_to_run(report.reading)):
            continue
        sys.stderr.write(f"{report.set}/{report.name}\n")
        options = LocalOptions(limits=Limits(wall_seconds=WALL_SECONDS))
        request = RunRequest(targets=(TARGET,), repeats=REPEATS)
        run = run_locally(report.reading, request, options, progress=_Silent())
        for job in run.jobs:
            results = [attempt.result for attempt in job.attempts if attempt.result is not None]
            stored[job.script] = as_recorded(results)
        ran += 1
        reports.store(stored)
    return ran
