"""How well dossiers see what rounding decides: `python -m bench.evidence.decisions [--wrong] [--json]`.

Traces the scripts of `decisions.json` on this machine's first toolchain, which takes half a minute.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from app.judging.cause.out_of_sight import leaves_sight
from app.judging.cause.own_parts import own_parts
from app.judging.dossier.build import build_dossier
from app.judging.dossier.document import Dossier, DossierCell
from bench.evidence.material import HARNESS, HERE, first_toolchain
from worker.contract.trace import Trace

PARTS = ("first", "second", "third")


def scripts() -> list[dict[str, str]]:
    """The scripts with their right answers, and the answers at first sight."""
    rows: list[dict[str, str]] = json.loads((HERE / "decisions.json").read_text())
    return rows


def dossiers(rows: list[dict[str, str]]) -> list[Dossier]:
    """The dossier of each script."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{at}.py" for at in range(len(rows))]
        for file, row in zip(files, rows, strict=True):
            file.write_text(row["script"])
        out = Path(folder) / "rows"
        program = [str(first_toolchain()), str(HERE / "direct.py"), str(HARNESS), str(out)]
        subprocess.run([*program, *map(str, files)], check=True, stderr=subprocess.DEVNULL)
        traced = [json.loads(line) for line in out.read_text().splitlines()]
    return [dossier_of(row["script"], each) for row, each in zip(rows, traced, strict=True)]


def dossier_of(script: str, row: dict[str, Any]) -> Dossier:
    seen: dict[str, Any] = {"stdout": row["stdout"], "attempts": 1, "outputs": 1}
    trace = Trace.model_validate(row["trace"])
    cells = [DossierCell(label="cpu", **seen), DossierCell(label="cpu:trace=on", trace=trace, **seen)]
    return build_dossier(cells, leaves_sight=leaves_sight(script), own_parts=own_parts(script))


def count(right: str, answer: str) -> str:
    """How an answer counts."""
    if answer == right:
        return "right"
    return {"no": "wrongly cleared", "yes": "false alarms"}.get(answer, "silences")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.evidence.decisions", description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="name the scripts with a wrong answer")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = scripts()
    answers = [str(each.defect) for each in dossiers(rows)]
    table = {
        part: {
            "scripts": sum(row["part"] == part for row in rows),
            "at first sight": Counter(
                count(row["defect"], row["first_sight"]) for row in rows if row["part"] == part
            ),
            "today": Counter(
                count(row["defect"], answer)
                for row, answer in zip(rows, answers, strict=True)
                if row["part"] == part
            ),
        }
        for part in PARTS
    }
    print(json.dumps(table, indent=1) if options.json else "\n".join(f"{k}: {v}" for k, v in table.items()))
    for row, answer in zip(rows, answers, strict=True) if options.wrong else ():
        if answer != row["defect"]:
            sys.stdout.write(f"  {row['part']}, {row['kind']}, {row['name']}: {answer}, {row['why']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
