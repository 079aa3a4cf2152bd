"""What the page of a cell draws, and the file that repeats it."""

from __future__ import annotations

import shlex
from typing import Any

from app.judging.judgement import Verdict
from app.runs.lookup.cell import Cell, packages_used, repeatable
from app.web.views.environments import said, surroundings
from app.web.views.runs import traces_of
from worker.contract.programs.repeat import RecordedAttempt, repeat_program

# Facts that a reader compares with their own machine.
_TOLD = (
    "torch.version",
    "python.version",
    "package.numpy",
    "blas.path",
    "cpu.model",
    "gpu.0.model",
    "cuda.version",
    "os.name",
)


def cell_values(found: Cell) -> dict[str, Any]:
    """What the page of a cell draws."""
    shown = found.repeatable
    used = {} if shown is None else packages_used(found.script, shown.environment)
    return {
        "cell": found,
        "command": command_for(found.label),
        "packages": used,
        "facts": []
        if shown is None
        else [(name, said(shown.environment[name])) for name in _TOLD if name in shown.environment],
        "traces": traces_of(found.run),
        "surroundings": surroundings(found.run.environments),
    }


def command_for(label: str, *, file: str = "FILE") -> str:
    """The command that repeats a target elsewhere."""
    return f"samehere reproduce {file} --target {shlex.quote(label)}"


def repeat_file(found: Cell, *, address: str) -> str:
    """The program that repeats the first attempt of a cell. Raises ConflictError while there is none."""
    attempt = repeatable(found)
    seen = attempt.observation
    environment = attempt.environment
    if seen is None:
        raise AssertionError("an attempt that can be repeated has shown something")
    exception = "" if seen.exception is None else f"{seen.exception.type}: {seen.exception.message}"
    return repeat_program(
        RecordedAttempt(
            script=found.script.script,
            target=found.label,
            device=attempt.target.device,
            settings=attempt.target.settings,
            hash_seed=seen.hash_seed or "",
            python=said(environment.get("python.version")),
            packages=packages_used(found.script, environment),
            facts={name: said(environment[name]) for name in _TOLD if name in environment},
            ended=str(attempt.outcome or ""),
            seconds=seen.wall_seconds,
            matched=found.job.matched if found.job.verdict is Verdict.FLAKY else 0,
            of=found.job.of,
            exit_status=seen.exit_status,
            signal=seen.signal or "",
            exception=exception,
            stdout=seen.stdout,
            stdout_digest=seen.stdout_digest,
            whole=not seen.truncated,
            address=address,
        )
    )
