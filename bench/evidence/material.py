"""The labelled scripts, and what was recorded of them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.intake.code.randomness import THREADS, sources_of
from app.intake.code.uninitialised_memory import uses_uninitialised_memory
from app.intake.read import read
from app.judging.cause.out_of_sight import leaves_sight
from app.judging.cause.own_parts import own_parts
from app.judging.dossier.build import build_dossier
from app.judging.dossier.document import Dossier, DossierCell
from app.limits import NO_READ_LIMITS
from app.runs.local.run import LocalOptions, run_locally
from app.runs.run_object.document import RunDocument
from app.runs.run_object.dossier_of_run import dossier_of_run
from app.targets.planning.cause_tests import compiles
from app.targets.planning.presets import EXPLAIN
from app.targets.planning.run_request import RunRequest
from worker.contract import Limits
from worker.contract.home import default_home
from worker.contract.trace import Trace

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json.gz"
HARNESS = HERE.parents[1] / "worker" / "harness"
WALL_SECONDS = 120.0
PARTS = ("tuned", "untouched")
KINDS = ("harmless", "defect")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A script with the answers that are right. They were written down before the first run.

    `causes` has None where no cause is a right answer too. `operations` is empty if none is at fault.
    `blind`: made by somebody who had not read the code of the judging.
    """

    name: str
    kind: str
    family: str
    part: str
    defects: frozenset[str]
    causes: frozenset[str | None]
    operations: frozenset[str]
    folder: Path = HERE
    blind: bool = False

    @property
    def script(self) -> str:
        return (self.folder / "scripts" / f"{self.name}.py").read_text()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The dossier's answer for one script, and its cost: its seconds plain and traced, without the checks."""

    defect: str
    cause: str | None
    operation: str | None
    plain_seconds: float | None
    traced_seconds: float | None
    unknown: tuple[str, ...]


def cases(parts: Sequence[str] = PARTS) -> list[Case]:
    """The cases of these parts, by name."""
    return cases_in(HERE, parts)


def cases_in(folder: Path, parts: Sequence[str]) -> list[Case]:
    """The cases of a folder with scripts and labels, by name."""
    labels: dict[str, dict[str, Any]] = json.loads((folder / "labels.json").read_text())
    return [
        Case(
            name=name,
            kind=row["kind"],
            family=row["family"],
            part=row["part"],
            defects=frozenset(row["defect"]),
            causes=frozenset(row["cause"]),
            operations=frozenset(row["operation"]),
            folder=folder,
            blind=row.get("blind", False),
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


def needs_other_cells(case: Case) -> bool:
    """Whether an answer needs cells of a run beside the traced one, which test for other causes."""
    text = case.script
    return bool({*sources_of(text)} - {THREADS}) or uses_uninitialised_memory(text) or compiles(text)


def run_case(case: Case) -> RunDocument:
    """Explain one script on a node of this machine, as `samehere explain` does."""
    reading = read(case.script, form="script", limits=NO_READ_LIMITS)
    options = LocalOptions(limits=Limits(wall_seconds=WALL_SECONDS))
    return run_locally(reading, RunRequest(preset=EXPLAIN), options, progress=_Silent()).document


def first_toolchain() -> Path:
    """The Python of the first toolchain of this machine with torch. Raises FileNotFoundError."""
    folders = sorted((default_home() / "toolchains").glob("torch-*/bin/python"))
    if not folders:
        raise FileNotFoundError("no toolchain with torch: make toolchain")
    return folders[0]


def trace_directly(every: Sequence[Case]) -> dict[str, dict[str, Any]]:
    """Rows of `direct.py` for these scripts, by name. It takes a minute."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows"
        scripts = [str(HERE / "scripts" / f"{case.name}.py") for case in every]
        subprocess.run(
            [str(first_toolchain()), str(HERE / "direct.py"), str(HARNESS), str(out), *scripts],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    for row in rows:
        for name in ("steps", "samples"):
            row.get("trace", {}).pop(name, None)
    return {row["name"]: row for row in rows}


def recorded() -> dict[str, dict[str, Any]]:
    """What was recorded of each script: a row of `direct.py`, and `run`, a run object, if it needed one."""
    if not RECORDED.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    return found


def record(every: Sequence[Case], *, runs: bool) -> Iterator[str]:
    """Trace the scripts again, and with `runs` run those that need other cells. Yields their names."""
    rows = recorded()
    for name, row in trace_directly(every).items():
        rows[name] = {**row, **({"run": rows[name]["run"]} if "run" in rows.get(name, {}) else {})}
    _store(rows)
    for case in every if runs else ():
        if needs_other_cells(case):
            rows[case.name]["run"] = run_case(case).model_dump(mode="json", by_alias=True)
            _store(rows)
            yield case.name


def _store(rows: Mapping[str, Any]) -> None:
    text = json.dumps({name: rows[name] for name in sorted(rows)})
    RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))


def dossier_of(case: Case, row: Mapping[str, Any]) -> Dossier:
    """The dossier of a script as of today's rules."""
    if "run" in row:
        return dossier_of_run(RunDocument.model_validate(row["run"]))
    seen: dict[str, Any] = {"stdout": row.get("stdout", ""), "attempts": 1, "outputs": 1}
    cells = [DossierCell(label="cpu", **seen)]
    if row.get("trace"):
        trace = Trace.model_validate(row["trace"])
        cells.append(DossierCell(label="cpu:trace=on", settings=frozenset({"trace"}), trace=trace, **seen))
    text = case.script
    return build_dossier(
        cells,
        compiles=compiles(text),
        takes_memory=uses_uninitialised_memory(text),
        leaves_sight=leaves_sight(text),
        own_parts=own_parts(text),
    )


def answer_of(case: Case, row: Mapping[str, Any]) -> Answer:
    return answer_from(dossier_of(case, row), row.get("plain_seconds"), row.get("traced_seconds"))


def answer_from(dossier: Dossier, plain_seconds: float | None, traced_seconds: float | None) -> Answer:
    """A dossier's answer, with the cost of its trace."""
    operation = next((each.answer for each in dossier.questions if each.letter == "C"), None)
    return Answer(
        defect=str(dossier.defect),
        cause=dossier.cause,
        operation=operation,
        plain_seconds=plain_seconds,
        traced_seconds=traced_seconds,
        unknown=tuple(dossier.unknown),
    )


def answers(every: Sequence[Case]) -> Mapping[str, Answer]:
    """The answers of what is recorded, by the name of the script."""
    rows = recorded()
    return {case.name: answer_of(case, rows[case.name]) for case in every if case.name in rows}
