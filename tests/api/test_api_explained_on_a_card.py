"""Scripts that `samehere serve` explained on an H200 are explained here as is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from api.web_client import Web

ROOT = Path(__file__).parents[2]
EXPLAINED = ROOT / "bench" / "evidence" / "explained"
BUNDLES = ROOT / "tests" / "recordings" / "bundles" / "h200-december"
LABELS: dict[str, dict[str, Any]] = json.loads((EXPLAINED / "labels.json").read_text())


def test_each_script_has_a_label_and_a_recording() -> None:
    assert set(LABELS) == {path.stem for path in (EXPLAINED / "scripts").glob("*.py")}
    assert set(LABELS) == {path.name.partition(".")[0] for path in BUNDLES.iterdir()}


@pytest.mark.parametrize("name", sorted(LABELS))
def test_its_answers_are_those_that_were_written_before_it_ran(web: Web, name: str) -> None:
    answer = web.client.post(
        "/api/v1/bundles",
        content=(BUNDLES / f"{name}.explain.json").read_bytes(),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 201, answer.text
    report = answer.json()["report"]
    script = next(part["script"] for part in report["scripts"])
    assert script.strip() == (EXPLAINED / "scripts" / f"{name}.py").read_text().strip()
    dossier = web.client.get(f"/api/v1/reports/{report['id']}/explain").json()
    operation = next(each["answer"] for each in dossier["questions"] if each["letter"] == "C")
    right = LABELS[name]
    assert dossier["defect"] in right["defect"]
    assert dossier["cause"] in right["cause"]
    assert not right["operation"] or operation in right["operation"]
    assert any(label.startswith("cuda@") for label in dossier["cells"])
    if name == "grid_sample_backward":
        assert "no deterministic form of grid_sampler_2d_backward_cuda" in dossier["cause_sentence"]
