"""The verdicts of inputs that want a card, with the card taken at the start and at the first touch, in turns.

    .venv/bin/python bench/card_gate.py OUT --inputs FOLDER [--order off on on off on off] [--device cpu]

FOLDER has `cases/` (`*.py` and `expected.json`), `kinds/` and `reports/`. Each turn is a service of its own
with all inputs at once, in an order of their own: with one place for each card, where the card is taken at
the start (`off`), or with eight, where it is taken at the first touch (`on`). OUT/gate.json is stored after
each turn. `unequal` has the inputs whose verdicts differ between turns.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cards import HERE, OVER, Service, serving, warm_up
from main_path import machine

from worker.cards.nvml import find_gpus
from worker.sandbox.isolation import private_mounts

PLACES = {"off": "1", "on": "8"}


def inputs_of(folder: Path) -> dict[str, dict[str, Any]]:
    """All cases by name, the kinds with an answer for a card, and the reports whose scripts name one."""
    expected = json.loads((folder / "cases" / "expected.json").read_text())
    found: dict[str, dict[str, Any]] = {}
    for name, case in expected.items():
        if not name.startswith("_"):
            script = (folder / "cases" / f"{name}.py").read_text()
            found[f"case {name}"] = {"script": script, **({"claim": case["claim"]} if case["claim"] else {})}
    for name, kind in json.loads((folder / "kinds" / "right.json").read_text()).items():
        if kind.get("accept_on_cuda"):
            found[f"kind {name}"] = {"report": (folder / "kinds" / name).read_text()}
    for path in sorted((folder / "reports").glob("*.json")):
        report = json.loads(path.read_text())
        if any("cuda" in each["code"] for each in report["right"]["scripts"]):
            found[f"report {path.stem}"] = {"report": f"# {report['title']}\n\n{report['body']}"}
    return found


def turn_of(
    service: Service, inputs: dict[str, dict[str, Any]], device: str, repeats: int, seconds: float
) -> dict[str, Any]:
    """One turn: all inputs at once. Inputs that are not over in time have no verdict."""
    names = random.sample(sorted(inputs), len(inputs))
    began = time.monotonic()
    targets = [{"device": device}]
    ids = {
        name: service.submit({**inputs[name], "targets": targets, "repeats": repeats, "title": name})
        for name in names
    }
    verdicts: dict[str, str] = {}
    while len(verdicts) < len(ids) and time.monotonic() < began + seconds:
        for name in ids.keys() - verdicts.keys():
            run = service.get(f"/runs/{ids[name]}")
            if run["state"] in OVER:
                verdicts[name] = run["verdict"]
        time.sleep(0.3)
    return {
        "seconds": round(time.monotonic() - began, 1),
        "order": names,
        "open": sorted(ids.keys() - verdicts.keys()),
        "verdicts": dict(sorted(verdicts.items())),
    }


def unequal(turns: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The verdicts of each input that are not the same in all turns that have one, in the turns' order."""
    names = sorted({name for turn in turns for name in turn["verdicts"]})
    seen = {name: [turn["verdicts"][name] for turn in turns if name in turn["verdicts"]] for name in names}
    return {name: verdicts for name, verdicts in seen.items() if len(set(verdicts)) > 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--inputs", type=Path, required=True)
    parser.add_argument("--order", nargs="+", choices=sorted(PLACES), default=["off", "on"] * 3)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=240, help="the longest time of a turn")
    parser.add_argument("--toolchains", type=Path, default=HERE / ".samehere" / "toolchains")
    arguments = parser.parse_args()
    private_mounts.enter()
    inputs = inputs_of(arguments.inputs)
    turns: list[dict[str, Any]] = []
    for which in arguments.order:
        with serving(HERE, arguments.toolchains, SAMEHERE_CARD_PLACES=PLACES[which]) as service:
            warm_up(service, arguments.device)
            turn = turn_of(service, inputs, arguments.device, arguments.repeats, arguments.seconds)
        turns.append({"gate": which, **turn})
        facts = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "card": [card.model for card in find_gpus()],
            "inputs": len(inputs),
            "unequal": unequal(turns),
            "turns": turns,
        }
        (arguments.out / "gate.json").write_text(json.dumps(facts, indent=1) + "\n")
        print(which, turn["seconds"], len(turn["verdicts"]), turn["open"], facts["unequal"], flush=True)


if __name__ == "__main__":
    main()
