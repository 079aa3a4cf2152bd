"""Run a folder of scripts with known answers: `python -m tests.cases DIR [--on "cuda deterministic"]`.

The folder holds `expected.json`: for each script its claim (or null) and the right verdicts by target.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASE_SECONDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer for one script on one target."""

    name: str
    on: str
    verdict: str
    accepted: list[str]
    detail: str
    seconds: float

    @property
    def right(self) -> bool:
        return self.verdict in self.accepted


def target_of(words: str) -> str:
    """`cuda gpus=2 cpu-isa=avx2` as a target of the command line."""
    device, *rest = words.split()
    gpus = next((word.partition("=")[2] for word in rest if word.startswith("gpus=")), "")
    settings = ",".join(word for word in rest if not word.startswith("gpus="))
    return device + (f"*{gpus}" if gpus else "") + (f":{settings}" if settings else "")


def ask(
    folder: Path, name: str, case: dict[str, Any], *, on: str, options: list[str], out: Path | None
) -> Answer:
    command = [
        sys.executable,
        "-m",
        "app.cli",
        "reproduce",
        str(folder / f"{name}.py"),
        "--json",
        "--target",
        target_of(on),
        *options,
    ]
    if case["claim"] is not None:
        command += ["--claim", case["claim"]]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=CASE_SECONDS)
    seconds = time.monotonic() - start
    if not done.stdout:
        return Answer(
            name=name,
            on=on,
            verdict="-",
            accepted=case["accept"][on],
            detail=done.stderr[-300:],
            seconds=seconds,
        )
    run = json.loads(done.stdout)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{name}@{on.replace(' ', '+')}.json").write_text(done.stdout)
    return Answer(
        name=name,
        on=on,
        verdict=str(run["verdict"]),
        accepted=case["accept"][on],
        detail=detail_of(run),
        seconds=seconds,
    )


def detail_of(run: dict[str, Any]) -> str:
    job = run["jobs"][0] if run["jobs"] else {"matched": 0, "of": 0, "reason": None, "attempts": []}
    reason = (job["reason"] or {}).get("code", "")
    outcomes = sorted({attempt["outcome"] for attempt in job["attempts"] if attempt["outcome"]})
    return f"{job['matched']} of {job['of']} {reason} {','.join(outcomes)} cause={run['cause']}"


def answers(
    folder: Path, *, on: list[str], names: list[str], options: list[str], out: Path | None
) -> Iterator[Answer]:
    expected = json.loads((folder / "expected.json").read_text())
    cases = {name: case for name, case in expected.items() if isinstance(case, dict) and "accept" in case}
    for name, case in cases.items():
        for key in on:
            if key in case["accept"] and (not names or name in names):
                yield ask(folder, name, case, on=key, options=options, out=out)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.cases", description="Verdicts against the right ones."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only these scripts")
    parser.add_argument(
        "--on", action="append", help="a target as expected.json names it; again for more; default: cpu"
    )
    parser.add_argument("--out", type=Path, help="a folder for the run documents")
    parser.add_argument("--server", help="address of a running service")
    chosen = parser.parse_args(arguments)
    wrong = total = 0
    options = ["--server", chosen.server] if chosen.server else []
    for answer in answers(
        chosen.folder, on=chosen.on or ["cpu"], names=chosen.names, options=options, out=chosen.out
    ):
        total += 1
        wrong += not answer.right
        mark = "right" if answer.right else f"WRONG, right would be {' or '.join(answer.accepted)}"
        sys.stdout.write(
            f"{answer.name:24} {answer.on:20} {answer.verdict:16} {mark:8} "
            f"{answer.seconds:6.1f} s  {answer.detail}\n"
        )
        sys.stdout.flush()
    sys.stdout.write(f"{total - wrong} of {total} right\n")
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())
