"""Small reports of the kinds that were once judged wrongly, and recorded attempts of their scripts.

`tests/reports/kinds/right.json` holds the verdicts that are right on a CPU. They were written down before the
first run, by reading the report and running its script by hand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from default_limits import read

from app.intake.reading import Reading, Script, ScriptRole
from app.judging.judgement import JudgedCell
from app.judging.verdict.job import judge_job
from app.judging.verdict.run import RunJudgement, judge_run
from app.targets.parse import parse_target
from worker.contract import Level, Result

REPORTS = Path(__file__).parents[1] / "reports" / "kinds"
RECORDING = Path(__file__).parents[1] / "recordings" / "kinds" / "attempts.json"
TARGET = parse_target("cpu")
# What a judgement may ask about the environment of an attempt.
_ENVIRONMENT = ("os.name", "python.version", "torch.version")
_OBSERVATION = ("exit_status", "signal", "exception", "stdout", "stderr", "devices_used", "idle", "stacks")


def right_verdicts() -> dict[str, dict[str, Any]]:
    """`kind`, `accept_on_cpu` and `why` of each report, by its file."""
    found: dict[str, dict[str, Any]] = json.loads((REPORTS / "right.json").read_text())
    return found


def reading_of(name: str) -> Reading:
    return read((REPORTS / name).read_text(), form="report")


def scripts_to_run(reading: Reading) -> list[Script]:
    """The scripts that a run starts: all but parts of others, and none if something has to be asked."""
    return [] if reading.ask else [each for each in reading.scripts if each.role is not ScriptRole.PART]


def _is_asked_for(key: str) -> bool:
    return key in _ENVIRONMENT or key.startswith("package.")


def as_recorded(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The attempts of one script without what no judgement asks for. `times`: so many were equal."""
    recorded: list[dict[str, Any]] = []
    for result in results:
        seen = result.observation.model_dump(mode="json", exclude_defaults=True)
        attempt = {
            "outcome": result.outcome.value,
            "observation": {key: seen[key] for key in _OBSERVATION if key in seen},
            "environment": {key: value for key, value in result.environment.items() if _is_asked_for(key)},
        }
        same = next((each for each in recorded if {**each, "times": 1} == {**attempt, "times": 1}), None)
        if same is None:
            recorded.append({**attempt, "times": 1})
        else:
            same["times"] += 1
    return recorded


def recorded_attempts() -> dict[str, list[Result]]:
    """The attempts of each script, by its digest."""
    recording = json.loads(RECORDING.read_text()) if RECORDING.exists() else {}
    return {digest: results_of(attempts) for digest, attempts in recording.items()}


def results_of(attempts: Sequence[dict[str, Any]]) -> list[Result]:
    repeated = [
        {key: value for key, value in attempt.items() if key != "times"}
        for attempt in attempts
        for _ in range(attempt["times"])
    ]
    return [
        Result(
            node="local",
            instance="recorded",
            attempt_id=f"{number:03}",
            lease_no=1,
            level=Level.NAMESPACES,
            **each,
        )
        for number, each in enumerate(repeated)
    ]


def judged(reading: Reading, attempts: dict[str, list[Result]]) -> RunJudgement:
    """The judgement of a run on the CPU. Raises KeyError if a script has no recorded attempts."""
    cells = [
        JudgedCell(
            job_id=script.digest,
            script=script.digest,
            target=TARGET,
            judgement=judge_job(reading.claim, script, TARGET, attempts[script.digest]),
            results=tuple(attempts[script.digest]),
            role=script.role,
        )
        for script in scripts_to_run(reading)
    ]
    return judge_run(reading, cells)
