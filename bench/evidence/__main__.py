"""How well dossiers tell defects from harmless differences: `python -m bench.evidence`.

    .venv/bin/python -m bench.evidence [--part tuned | --card] [--blind] [--wrong] [--json]
                                       [--record] [--runs]

`--record` first traces the scripts again, on this machine's first toolchain; `--runs` also runs those whose
answer needs other cells, on a node. Otherwise what is recorded is judged again, which takes seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from bench.evidence.card import card_answers, card_cases
from bench.evidence.material import HERE, PARTS, answers, cases, record
from bench.evidence.measure import Outcome, outcomes, rates
from bench.main_path import machine


def first_sight() -> dict[str, Any]:
    """The score when nothing had been mended by these scripts yet."""
    found: dict[str, Any] = json.loads((HERE / "first_sight.json").read_text())
    return found


def _say_wrong(every: list[Outcome]) -> None:
    for each in every:
        if each.is_right:
            continue
        case, answer = each.case, each.answer
        right = "/".join(sorted(case.defects)), "/".join(sorted(map(str, case.causes)))
        print(
            f"  {case.name}: {answer.defect}, {answer.cause}, {answer.operation}; "
            f"right is {right[0]}, {right[1]}, {'/'.join(sorted(case.operations)) or 'any operation'}"
        )
        for gap in answer.unknown[:2]:
            print(f"      {gap}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.evidence", description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be repeated")
    parser.add_argument("--card", action="store_true", help="the scripts that were traced on a card")
    parser.add_argument("--only", action="append", help="only the script with this name; may be repeated")
    parser.add_argument("--blind", action="store_true", help="only scripts of the blind writer")
    parser.add_argument("--wrong", action="store_true", help="name the scripts with a wrong answer")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--record", action="store_true", help="trace the scripts first")
    parser.add_argument("--runs", action="store_true", help="and run those that need other cells")
    options = parser.parse_args()
    parts = ("card",) if options.card else options.part or PARTS
    given = card_cases() if options.card else cases(parts)
    every = [
        case
        for case in given
        if (case.blind or not options.blind) and (not options.only or case.name in set(options.only))
    ]
    if (options.record or options.runs) and not options.card:
        began = time.monotonic()
        for name in record(every, runs=options.runs):
            sys.stderr.write(f"{time.monotonic() - began:6.0f} s {name}\n")
    results = outcomes(every, card_answers() if options.card else answers(every))
    figures = {part: rates([each for each in results if each.case.part == part]) for part in parts}
    of_blind = [each for each in results if each.case.blind]
    blind = {part: rates([each for each in of_blind if each.case.part == part]) for part in parts}
    if options.json:
        facts = {"machine": machine(), "parts": figures, "blind": blind, "at first sight": first_sight()}
        print(json.dumps(facts, indent=1))
        return 0
    for part, found in figures.items():
        print(f"{part}: {sum(each.case.part == part for each in results)} scripts")
        for what, rate in found.items():
            print(f"  {what:26} {rate}")
    if options.wrong:
        _say_wrong(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
