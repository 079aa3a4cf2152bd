"""`python -m tests.kinds`: run the scripts of tests/reports/kinds that have no recorded attempts yet.

It takes the node and the first toolchain of this machine. `--all` runs all of them again. Attempts of scripts
that no report has any more are dropped.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from kind_reports import (
    RECORDING,
    TARGET,
    as_recorded,
    reading_of,
    recorded_attempts,
    right_verdicts,
    scripts_to_run,
)

from app.runs.local.run import LocalOptions, run_locally
from app.targets.planning.run_request import RunRequest
from worker.contract import Limits

REPEATS = 3
WALL_SECONDS = 60.0


class _Silent:
    """Shows nothing while a run goes on."""

    def report_plan(self, *_: object) -> None: ...

    def report_attempt(self, *_: object) -> None: ...

    def report_verdict(self, *_: object) -> None: ...

    def warn(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.kinds", description="Record the attempts.")
    parser.add_argument("--all", action="store_true", help="run the recorded scripts again too")
    again = parser.parse_args().all
    known = {} if again else {digest: as_recorded(each) for digest, each in recorded_attempts().items()}
    kept: dict[str, object] = {}
    for name in right_verdicts():
        reading = reading_of(name)
        scripts = scripts_to_run(reading)
        if not all(script.digest in known for script in scripts):
            sys.stderr.write(f"{name}\n")
            options = LocalOptions(limits=Limits(wall_seconds=WALL_SECONDS))
            request = RunRequest(targets=(TARGET,), repeats=REPEATS)
            run = run_locally(reading, request, options, progress=_Silent())
            for job in run.jobs:
                results = [attempt.result for attempt in job.attempts if attempt.result is not None]
                known[job.script] = as_recorded(results)
        kept |= {script.digest: known[script.digest] for script in scripts}
    RECORDING.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(kept.items()))
    RECORDING.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
