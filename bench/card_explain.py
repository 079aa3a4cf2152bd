"""Explains labelled scripts on a card, some at a time, by a service of this tree.

    .venv/bin/python bench/card_explain.py OUT [--only NAME ...] [--repeats 1] [--at-once 6] [--seconds 400]

OUT gets the bundle of each run that ended, and `answers.json`: its dossier, the seconds until its end, and
its attempts. `bench/evidence/explained` has the scripts, with answers that were written before any of them
ran. Without a card the same runs on the CPU alone, which only tries the bench.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Any

from cards import HERE, OVER, Service, serving, warm_up

from worker.cards.nvml import find_gpus
from worker.sandbox.isolation import private_mounts

EXPLAINED = HERE / "bench" / "evidence" / "explained"
# These need several attempts of a cell: their repeats differ.
VARYING = {"scatter_add_many_to_few", "grid_sample_backward", "half_of_a_buffer"}
_LOOK_SECONDS = 0.5


def submit(service: Service, path: Path, repeats: int) -> str:
    """Start the run that explains a script, as `samehere explain --server` does."""
    more = {} if path.stem in VARYING else {"repeats": repeats}
    return service.submit({"script": path.read_text(), "preset": "explain", "title": path.stem, **more})


def answer(service: Service, run: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The dossier of a run, and its attempts with their times."""
    dossier = service.get(f"/reports/{run['report']['id']}/explain")
    attempts = []
    for job in run["jobs"]:
        for attempt in job["attempts"]:
            seen = service.get(f"/attempts/{attempt['id']}")["observation"] or {}
            attempts.append(
                {
                    "device": job["target"]["device"],
                    "settings": job["target"]["settings"],
                    "kind": attempt["kind"],
                    "start": attempt["start"],
                    "outcome": attempt["outcome"],
                    **{name: seen.get(name) for name in ("wall_seconds", "card_seconds")},
                }
            )
    return {
        "seconds": round(seconds, 1),
        **{name: dossier[name] for name in ("defect", "cause", "unknown", "questions")},
        "attempts": attempts,
    }


def explain(
    service: Service, paths: list[Path], out: Path, *, repeats: int, at_once: int, seconds: float
) -> None:
    """Submit scripts, and store each run once it has ended. What has not ended in time is left out."""
    began = time.monotonic()
    # A compiler needs the card for longest.
    later = sorted(paths, key=lambda path: ("torch.compile" in path.read_text(), path.stem))
    waiting: dict[str, str] = {}
    answers: dict[str, Any] = {}
    while (waiting or later) and time.monotonic() < began + seconds:
        while later and len(waiting) < at_once:
            path = later.pop(0)
            waiting[path.stem] = submit(service, path, repeats)
        for name, run_id in list(waiting.items()):
            run = service.get(f"/runs/{run_id}")
            if run["state"] not in OVER:
                continue
            del waiting[name]
            answers[name] = answer(service, run, time.monotonic() - began)
            bundle = service.get(f"/runs/{run_id}/bundle")
            (out / f"{name}.explain.json").write_text(json.dumps(bundle))
            (out / "answers.json").write_text(json.dumps(answers, indent=1))
            given = answers[name]
            print(f"{given['seconds']:6.1f} s {name}: {given['defect']}, {given['cause']}", flush=True)
        time.sleep(_LOOK_SECONDS)
    print(
        f"{time.monotonic() - began:6.1f} s; not ended: {sorted(waiting)}; not begun: {len(later)}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", help="only the scripts with these names")
    parser.add_argument("--repeats", type=int, default=1, help="attempts of each cell")
    parser.add_argument("--at-once", type=int, default=6, help="runs that are under way at the same time")
    parser.add_argument("--seconds", type=float, default=400.0, help="how long to wait for all of them")
    parser.add_argument("--places", type=int, default=10, help="attempts under way for each card")
    parser.add_argument("--toolchains", type=Path, required=True, help="the folder of the toolchains")
    arguments = parser.parse_args()
    private_mounts.enter()
    paths = sorted(
        path
        for path in (EXPLAINED / "scripts").glob("*.py")
        if not arguments.only or path.stem in arguments.only
    )
    arguments.out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if find_gpus() else "cpu"
    variables = {"SAMEHERE_CARD_PLACES": str(arguments.places), "SAMEHERE_CARD_SHARING": "true"}
    with serving(HERE, arguments.toolchains, **variables) as service:
        warm_up(service, device)
        explain(
            service,
            paths,
            arguments.out,
            repeats=arguments.repeats,
            at_once=arguments.at_once,
            seconds=arguments.seconds,
        )
        shutil.copy(service.log, arguments.out / "serve.log")


if __name__ == "__main__":
    main()
