"""How well reports are read and judged, from recorded attempts: `python -m bench.reading`.

    .venv/bin/python -m bench.reading [--set NAME] [--each 5] [--wrong] [--json] [--record]

`--record` first runs the scripts that have no recorded attempts, on the first toolchain of this machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from app.judging.judgement import SIGHTINGS, Verdict
from bench.reading.material import HERE, ReportSet, all_sets, record
from bench.reading.measure import NO_ATTEMPTS, Negative, Outcome, at_most, negatives, outcome_of, rates


def first_sights() -> list[dict[str, Any]]:
    """The scores at first sight, in the order in which they were taken, the bad ones too."""
    found: list[dict[str, Any]] = json.loads((HERE / "first_sight.json").read_text())
    return found


def first_sight_of(name: str) -> str:
    """The score of a set when nobody had mended anything by it yet; empty if none is known."""
    score = next((each for each in first_sights() if each["set"] == name), None)
    return "" if score is None else _score(score)


def _score(score: dict[str, Any]) -> str:
    def known(key: str) -> str:
        return "unknown" if score[key] is None else at_most(score[key], score["of"])

    return (
        f"{score['right']} of {score['of']} right, wrong not_reproduced {known('wrong_not_reproduced')}, "
        f"wrong reproduced {known('wrong_reproduced')}"
    )


def negative_rates(found: Sequence[Negative]) -> dict[str, str]:
    """The rates of the generated negatives: none of them happens, and no script has the point of a claim."""
    bare = [each for each in found if not each.has_anchor]
    return {
        "wrong reproduced": at_most(sum(each.verdict in SIGHTINGS for each in found), len(found)),
        "not_reproduced without an anchor": at_most(
            sum(each.verdict is Verdict.NOT_REPRODUCED for each in bare), len(bare)
        ),
    }


def _outcomes(reports: ReportSet) -> list[Outcome]:
    attempts = reports.results()
    return [outcome_of(report, attempts) for report in reports.reports]


def _measure(sets: Sequence[ReportSet], each: int) -> tuple[dict[str, list[Outcome]], list[Negative]]:
    outcomes = {reports.name: _outcomes(reports) for reports in sets}
    every = [report for reports in sets for report in reports.reports]
    attempts = {digest: results for reports in sets for digest, results in reports.results().items()}
    return outcomes, list(negatives(every, attempts, each)) if each else []


def _print(
    outcomes: dict[str, list[Outcome]], wrong_yes: Sequence[Negative], figures: dict[str, Any]
) -> None:
    for name, found in figures["sets"].items():
        print(f"{name}: {len(outcomes[name])} reports")
        for what, rate in found.items():
            print(f"  {what:30} {rate}")
    for what, rate in figures["negatives"].items():
        print(f"negatives: {what:34} {rate}")
    for each in wrong_yes:
        print(f"  {each.verdict}: the claim of {each.claim_of} with the script of {each.script_of}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.reading", description=__doc__)
    parser.add_argument("--set", action="append", help="only this set; may be repeated")
    parser.add_argument("--each", type=int, default=5, help="generated negatives for each claim; 0 for none")
    parser.add_argument("--wrong", action="store_true", help="name the reports with a wrong verdict")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--record", action="store_true", help="run what has no recorded attempts first")
    options = parser.parse_args()
    sets = [reports for reports in all_sets() if not options.set or reports.name in options.set]
    if options.record:
        # The attempts of the kinds are recorded by `python -m tests.kinds`.
        for reports in sets:
            if reports.name != "kinds":
                record(reports)
    outcomes, found = _measure(sets, options.each)
    every = [outcome for each in outcomes.values() for outcome in each]
    figures: dict[str, Any] = {
        "sets": {
            name: {**rates(each), "at first sight": first_sight_of(name)} for name, each in outcomes.items()
        },
        "negatives": negative_rates(found),
        "no attempts": sorted(each.report for each in every if each.verdict == NO_ATTEMPTS),
    }
    outcomes["all"], figures["sets"]["all"] = every, rates(every)
    if options.json:
        print(json.dumps(figures, indent=1))
        return 0
    _print(outcomes, [each for each in found if each.verdict in SIGHTINGS] if options.wrong else [], figures)
    for name in figures["no attempts"]:
        print(f"no attempts of {name}: --record runs its script")
    for each in every if options.wrong else ():
        if not each.is_right:
            print(f"  {each.report}: {each.verdict}, right is {', '.join(sorted(each.accept))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
