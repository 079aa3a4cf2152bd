"""Scripts that were traced on a card, with their labels, judged again: `python -m bench.evidence --card`.

Each was run on an H200 with torch 2.11, without a sandbox, in forks of one process: plain on both devices,
traced on both, and with the settings that its causes ask for. No service judged these runs, so causes that a
run shows by its other cells are not among the labels.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

from app.intake.code.uninitialised_memory import uses_uninitialised_memory
from app.judging.dossier.build import build_dossier
from app.judging.dossier.document import Dossier, DossierCell
from app.targets.planning.cause_tests import compiles
from bench.evidence.material import HERE, Answer, Case, answer_from, cases_in
from worker.contract.trace import Trace

CARD = HERE / "card"
# Recorded before something was mended in the tracing that these show; judged again they stay as they were.
RECORDED_BEFORE = {
    "recurrent_layer": "cuDNN's layers with TF32 were called unexplained",
    "solve_hilbert": "two copies of a reference without digits were close by chance",
}


def card_cases() -> list[Case]:
    """The scripts with the answers that are right, written down before any of them was run."""
    return cases_in(CARD, ("card",))


def recorded_cells() -> Mapping[str, list[dict[str, Any]]]:
    """The cells of each script, by its name: device, settings, what was printed, and the trace."""
    found: dict[str, list[dict[str, Any]]] = json.loads(
        gzip.decompress((CARD / "recorded.json.gz").read_bytes())
    )
    return found


def _cell(row: Mapping[str, Any]) -> DossierCell:
    settings: dict[str, str] = row["settings"]
    return DossierCell(
        label=":".join([row["device"], *(f"{name}={value}" for name, value in settings.items())]),
        device=row["device"],
        settings=frozenset(settings),
        layer=settings.get("compile", ""),
        graphs=row.get("graphs"),
        failure=row.get("failure", ""),
        stdout=row["stdouts"][0],
        attempts=row["attempts"],
        outputs=len(row["stdouts"]),
        trace=Trace.model_validate(row["trace"]) if "trace" in row else None,
    )


def card_dossier(case: Case, rows: list[dict[str, Any]]) -> Dossier:
    """The dossier of a script as of today's rules."""
    text = case.script
    return build_dossier(
        [_cell(row) for row in rows],
        compiles=compiles(text),
        takes_memory=uses_uninitialised_memory(text),
    )


def card_answers() -> Mapping[str, Answer]:
    """The answers of what is recorded, with what a trace on the card costs."""
    recorded = recorded_cells()
    answers = {}
    for case in card_cases():
        on_card = [row for row in recorded[case.name] if row["device"] == "cuda"]
        plain = next((row["seconds"] for row in on_card if not row["settings"]), None)
        traced = next((row["seconds"] for row in on_card if "trace" in row), None)
        answers[case.name] = answer_from(card_dossier(case, recorded[case.name]), plain, traced)
    return answers
