"""Attempts that a verdict takes by the rules of this checkout, and by those of another one.

    .venv/bin/python -m bench.attempts_per_verdict [OTHER] [--bundles FOLDER] [--out FILE]

Nothing is run. Each report of `bench/reading` is played from its recorded attempts: the first attempt shows
the first recorded result, and so on in turns, until the rules ask for no more. A cell that tests for the
source of a variation shows what the plain cell shows if that never varies, else the first result each time.
FOLDER has runs that `samehere reproduce --bundle` wrote by the rules of OTHER: their attempts are taken in
the order in which they ran. OTHER is a checkout whose rules are compared, by the interpreter of this one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# The settings of cells that test for the source of a variation.
CURES = frozenset({"fix", "deterministic", "threads"})
# Ends a play that the rules would never end.
MOST = 300


def play(
    claim: Any, script: Any, target: Any, shown: Sequence[Any], plain: Sequence[Any] | None
) -> list[Any]:
    """The results that a job takes, if its attempts show these in turns."""
    from app.judging.verdict.attempts_needed import next_attempts
    from app.targets.planning.plan import DEFAULT_REPEATS, RepeatPlan

    plan = RepeatPlan(DEFAULT_REPEATS)
    more = {} if plain is None or "plain" not in (next_attempts.__kwdefaults__ or ()) else {"plain": plain}
    results: list[Any] = []
    while len(results) < MOST and next_attempts(claim, script, target, results, plan, **more):
        at = len(results)
        results.append(shown[at % len(shown)].model_copy(update={"attempt_id": f"{at:03}"}))
    return results


def reports() -> Iterator[dict[str, Any]]:
    """The attempts and the verdict of each cell of the recorded reports."""
    from app.judging.cause.cures import varies
    from app.judging.verdict.job import judge_job
    from app.targets.planning.cause_tests import cause_tests
    from app.targets.planning.plan import DEFAULT_REPEATS, RepeatPlan
    from bench.reading.material import TARGET, all_sets, scripts_to_run

    plan = RepeatPlan(DEFAULT_REPEATS)
    for each in all_sets():
        recorded = each.results()
        for report in each.reports:
            claim = report.reading.claim
            for script in scripts_to_run(report.reading):
                shown = recorded.get(script.digest, [])
                if not shown:
                    continue
                name = f"{report.set}/{report.name}/{script.digest[7:19]}"
                plain = play(claim, script, TARGET, shown, None)
                verdict = judge_job(claim, script, TARGET, plain, plan=plan).verdict
                yield {"cell": name, "of": "plain", "attempts": len(plain), "verdict": verdict}
                for device, settings in cause_tests(claim, script):
                    if not CURES.intersection(settings) or device not in {None, TARGET.device}:
                        continue
                    target = TARGET.model_copy(update={"settings": settings})
                    same = shown if not varies(plain) else shown[:1]
                    played = play(claim, script, target, same, plain)
                    verdict = judge_job(claim, script, target, played, plan=plan).verdict
                    yield {
                        "cell": f"{name}/{target.label()}",
                        "of": "cause",
                        "attempts": len(played),
                        "verdict": None if "fix" in settings else verdict,
                    }


def bundles(folder: Path) -> Iterator[dict[str, Any]]:
    """The same for the cells of runs that were written into files."""
    from app.intake.read import read
    from app.judging.verdict.job import evidence_of, judge_job
    from app.limits import NO_READ_LIMITS
    from app.runs.exchange.read_bundle import NO_LIMITS, read_bundle
    from app.targets.planning.plan import RepeatPlan

    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        bundle = read_bundle(path.read_bytes(), limits=NO_LIMITS)
        if bundle.run.plan.exact:
            continue
        report, plan = bundle.report, RepeatPlan(bundle.run.plan.at_most)
        reading = read(
            report.text, form=report.form, claim=report.claim, title=report.title, limits=NO_READ_LIMITS
        )
        taken: dict[tuple[str, str], list[Any]] = {}
        # Plain cells first: those that test them for a cause look at their results.
        for job in sorted(bundle.jobs, key=lambda job: bool(CURES.intersection(job.target.settings))):
            shown = evidence_of([each.result for each in job.attempts if each.result is not None])
            if not shown or job.target.settings.keys() & {"trace", "compile"}:
                continue
            script = reading.script_of(job.script)
            settings = {name: value for name, value in job.target.settings.items() if name not in CURES}
            plain_target = job.target.model_copy(update={"settings": settings})
            is_cause = bool(CURES.intersection(job.target.settings))
            plain = taken.get((job.script, plain_target.label())) if is_cause else None
            results = play(reading.claim, script, job.target, shown, plain)
            taken[job.script, job.target.label()] = results
            judgement = judge_job(reading.claim, script, job.target, results, plan=plan)
            yield {
                "cell": f"{path.stem}/{job.script[7:19]}/{job.target.label()}",
                "of": "cause" if is_cause else "plain",
                "attempts": len(results),
                "verdict": None if "fix" in job.target.settings else judgement.verdict,
            }


def measure(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """All cells by the rules of the checkout that Python imports."""
    return [*reports(), *(cell for folder in folders for cell in bundles(folder))]


def measure_elsewhere(checkout: Path, folders: Sequence[Path]) -> list[dict[str, Any]]:
    """The same by the rules of another checkout. This file is run there, so that both play alike."""
    command = [sys.executable, "-c", _ELSEWHERE, str(Path(__file__)), *map(str, folders)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    ended = subprocess.run(command, cwd=checkout, env=environment, check=True, stdout=subprocess.PIPE)
    found: list[dict[str, Any]] = json.loads(ended.stdout)
    return found


_ELSEWHERE = """
import json, runpy, sys
from pathlib import Path
bench = runpy.run_path(sys.argv[1])
print(json.dumps(bench["measure"]([Path(each) for each in sys.argv[2:]])))
"""


def summary(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Attempts in all, the cells with another number, and those with another verdict."""
    old = {cell["cell"]: cell for cell in before}
    pairs = [(old[cell["cell"]], cell) for cell in after if cell["cell"] in old]
    found: dict[str, Any] = {}
    for kind in ("plain", "cause"):
        of_kind = [pair for pair in pairs if pair[1]["of"] == kind]
        found[kind] = {
            "cells": len(of_kind),
            "attempts_before": sum(one["attempts"] for one, _ in of_kind),
            "attempts_after": sum(other["attempts"] for _, other in of_kind),
        }
    changed = Counter(
        f"{one['attempts']} to {other['attempts']}"
        for one, other in pairs
        if one["attempts"] != other["attempts"]
    )
    return {
        **found,
        "changed": dict(sorted(changed.items())),
        "other_verdicts": [
            {"cell": other["cell"], "before": one["verdict"], "after": other["verdict"]}
            for one, other in pairs
            if one["verdict"] != other["verdict"]
        ],
    }


def main() -> None:
    """Measure, print, and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("other", nargs="?", type=Path, help="a checkout with other rules")
    parser.add_argument(
        "--bundles", type=Path, action="append", default=[], help="a folder with written runs"
    )
    parser.add_argument("--out", type=Path, help="a file for the figures")
    arguments = parser.parse_args()
    folders = [folder.resolve() for folder in (ROOT / "tests" / "recordings" / "bundles", *arguments.bundles)]
    after = measure(folders)
    before = after if arguments.other is None else measure_elsewhere(arguments.other.resolve(), folders)
    figures = {"measured_at": datetime.now(UTC).isoformat(timespec="seconds"), **summary(before, after)}
    text = json.dumps(figures, indent=1)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(f"{text}\n")


if __name__ == "__main__":
    main()
