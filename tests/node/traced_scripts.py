"""Dossiers of small scripts. All are traced at once, in forks of one process that has imported torch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from app.judging.cause.out_of_sight import leaves_sight
from app.judging.cause.own_parts import own_parts
from app.judging.dossier.build import build_dossier
from app.judging.dossier.document import Dossier, DossierCell
from worker.contract.trace import Trace
from worker.toolchains import ToolchainStore

ROOT = Path(__file__).parents[2]
HARNESS = ROOT / "worker" / "harness"
Explain = Callable[[str], Dossier]


def dossiers_of(scripts: Mapping[str, str], toolchains: Path, toolchain: str, folder: Path) -> Explain:
    """The dossier of a script by its name."""
    found = ToolchainStore(toolchains).find(toolchain)
    assert found is not None
    files = {name: folder / f"{at}.py" for at, name in enumerate(scripts)}
    for name, file in files.items():
        file.write_text(scripts[name])
    program = ROOT / "bench" / "evidence" / "direct.py"
    subprocess.run(
        [found.python, program, HARNESS, folder / "rows", *files.values()], check=True, capture_output=True
    )
    rows = {row["name"]: row for row in map(json.loads, (folder / "rows").read_text().splitlines())}

    def dossier(name: str) -> Dossier:
        row = rows[files[name].stem]
        assert "failed" not in row, row["failed"]
        seen = {"stdout": row["stdout"], "attempts": 1, "outputs": 1}
        trace = Trace.model_validate(row["trace"])
        cells = [DossierCell(label="cpu", **seen), DossierCell(label="on", trace=trace, **seen)]
        return build_dossier(
            cells, leaves_sight=leaves_sight(scripts[name]), own_parts=own_parts(scripts[name])
        )

    return dossier
