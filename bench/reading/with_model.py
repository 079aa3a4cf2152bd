"""What a model's answers change: each report judged by the rules alone, and with the recorded answer.

    .venv/bin/python -m bench.reading.with_model [--set NAME] [--json]

The answers are in `answers/SET/NAME.json`, as the model gave them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from app.errors import InputError
from app.intake.read import may_ask_model, with_answer
from bench.reading.material import HERE, Report, ReportSet, all_sets
from bench.reading.measure import NO_ATTEMPTS, Outcome, at_least, outcome_of
from worker.contract import Result

ANSWERS = HERE / "answers"


@dataclass(frozen=True)
class Pair:
    """A report judged without and with a model's answer. `dropped` counts parts that do not stand in it."""

    rules: Outcome
    model: Outcome
    dropped: int = 0
    refused: bool = False

    @property
    def became(self) -> str:
        """`better`, `worse` or `same`, by whether the verdict is an acceptable one."""
        if self.rules.is_right == self.model.is_right:
            return "same"
        return "better" if self.model.is_right else "worse"


def pairs(reports: ReportSet) -> Iterator[Pair]:
    """The reports of a set that have an answer and attempts."""
    attempts = reports.results()
    for report in reports.reports:
        path = ANSWERS / reports.name / f"{Path(report.name).stem}.json"
        if path.exists():
            pair = _pair(report, path.read_text(), attempts)
            if pair.rules.verdict != NO_ATTEMPTS:
                yield pair


def _pair(report: Report, answer: str, attempts: Mapping[str, list[Result]]) -> Pair:
    rules = outcome_of(report, attempts)
    if not may_ask_model(report.reading):
        return Pair(rules, rules)
    try:
        reading = with_answer(report.reading, answer, text=report.text)
    except InputError:
        return Pair(rules, rules, refused=True)
    dropped = len(reading.model.dropped) if reading.model else 0
    return Pair(rules, outcome_of(replace(report, reading=reading), attempts), dropped)


def figures(found: list[Pair]) -> dict[str, str | int | list[str]]:
    """The rates of both ways over the same reports, and the reports whose verdict changed."""
    of = len(found)
    return {
        "reports": of,
        "right by the rules": at_least(sum(each.rules.is_right for each in found), of),
        "right with the model": at_least(sum(each.model.is_right for each in found), of),
        "wrong not_reproduced by the rules": sum(each.rules.is_wrong_no for each in found),
        "wrong not_reproduced with the model": sum(each.model.is_wrong_no for each in found),
        "wrong reproduced by the rules": sum(each.rules.is_wrong_yes for each in found),
        "wrong reproduced with the model": sum(each.model.is_wrong_yes for each in found),
        "left open by the rules": sum(each.rules.is_open for each in found),
        "left open with the model": sum(each.model.is_open for each in found),
        "answers refused": sum(each.refused for each in found),
        "parts dropped": sum(each.dropped for each in found),
        "changed": [
            f"{each.rules.report}: {each.rules.verdict} -> {each.model.verdict} ({each.became})"
            for each in found
            if each.rules.verdict != each.model.verdict
        ],
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.reading.with_model", description=__doc__)
    parser.add_argument("--set", action="append", help="only this set; may be repeated")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sets = [each for each in all_sets() if not options.set or each.name in options.set]
    found = {each.name: list(pairs(each)) for each in sets}
    shown = {name: figures(each) for name, each in found.items() if each}
    shown["all"] = figures([pair for each in found.values() for pair in each])
    if options.json:
        print(json.dumps(shown, indent=1))
        return 0
    for name, of_set in shown.items():
        print(name)
        for what, value in of_set.items():
            lines = value if isinstance(value, list) else [str(value)]
            print(*(f"  {what:36} {line}" for line in lines), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
