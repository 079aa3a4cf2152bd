"""The values for the page of a cell, and the file that repeats the cell."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from app.judging.judgement import Verdict
from app.runs.lookup.cell import Cell, packages_used, repeatable
from app.runs.run_object.answer.check_findings import checks_of_job, told_apart
from app.runs.run_object.document import FindingPart
from app.web.parts import Lazy, lazily
from app.web.views.environments import environment_views, fact_text
from app.web.views.runs import traces_of
from worker.contract import Environment
from worker.contract.programs.repeat import RecordedAttempt, repeat_program

# Readers compare these facts with their own machine.
_MAIN_FACTS = (
    "torch.version",
    "python.version",
    "package.numpy",
    "blas.path",
    "cpu.model",
    "gpu.0.model",
    "cuda.version",
    "os.name",
)


def cell_values(cell: Cell) -> dict[str, Any]:
    """The values for the template of a cell's page, most of them lazy."""
    attempt = cell.repeatable
    environment: Environment = {} if attempt is None else attempt.environment
    return {
        "cell": cell,
        "run": cell.run,
        "job": cell.job,
        "command": lazily(command_for, cell.label),
        "packages": lazily(packages_used, cell.script, environment),
        "checks": lazily(_check_rows, cell),
        "facts": Lazy(lambda: list(_main_facts(environment).items())),
        "traces": lazily(traces_of, cell.run),
        "environments": lazily(environment_views, cell.run.environments),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCheck:
    """A finding of the cell with the role of its check: the bug, or what is expected instead.

    `number` is there if another check has the same words.
    """

    role: str
    number: str
    finding: FindingPart


def _check_rows(cell: Cell) -> list[CellCheck]:
    checks = cell.run.report.claim.checks
    return [
        CellCheck(role=check.role, number=told_apart(checks, check), finding=finding)
        for check, finding in checks_of_job(checks, cell.job)
    ]


def _main_facts(environment: Environment) -> dict[str, str]:
    return {name: fact_text(environment[name]) for name in _MAIN_FACTS if name in environment}


def command_for(label: str, *, file: str = "FILE") -> str:
    """The command that repeats a target on another machine."""
    return f"samehere reproduce {file} --target {shlex.quote(label)}"


def repeat_file(cell: Cell, *, address: str) -> str:
    """The program that repeats the first attempt of a cell. Raises ConflictError if none has ended yet."""
    attempt = repeatable(cell)
    seen = attempt.observation
    environment = attempt.environment
    if seen is None:
        raise AssertionError("an attempt that can be repeated has an observation")
    exception = "" if seen.exception is None else f"{seen.exception.type}: {seen.exception.message}"
    return repeat_program(
        RecordedAttempt(
            script=cell.script.script,
            target=cell.label,
            device=attempt.target.device,
            settings=attempt.target.settings,
            hash_seed=seen.hash_seed or "",
            python=fact_text(environment.get("python.version")),
            packages=packages_used(cell.script, environment),
            facts=_main_facts(environment),
            ended=str(attempt.outcome or ""),
            seconds=seen.wall_seconds,
            matched=cell.job.matched if cell.job.verdict is Verdict.FLAKY else 0,
            of=cell.job.of,
            exit_status=seen.exit_status,
            signal=seen.signal or "",
            exception=exception,
            stdout=seen.stdout,
            stdout_digest=seen.stdout_digest,
            whole=not seen.truncated,
            address=address,
        )
    )
