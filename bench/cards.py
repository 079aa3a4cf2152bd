"""Verdicts a minute that one card gives, through the whole service: before and now, in turns on one machine.

    .venv/bin/python bench/cards.py [--part service attempts] [--old TREE] [--out bench/results/cards.json]

`service`: ten reports of ten kinds (`card_reports.py`), then twenty more with the new code alone; a report
that comes while twenty wait; card-seconds for each verdict. "Before" is the tree of an old commit (`--old`),
or without one this code with one attempt for each card at a time, and no warm repeats.

`attempts`: attempts a minute by hand with the card's lock from the first touch, and through a node's slots
with one place for each card, with eight, and with eight and warm starts. And what the gate adds to an import
of torch.

Without a card, `--device cpu` tries the bench itself; its figures then say nothing about cards.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from card_places import Bench
from card_reports import bodies
from main_path import free_port, keep, machine

from worker.cards.nvml import find_gpus
from worker.sandbox.isolation import private_mounts

HERE = Path(__file__).parents[1]
BEFORE = {"SAMEHERE_CARD_PLACES": "1", "SAMEHERE_WARM_REPEATS": "false", "SAMEHERE_WARM": "false"}
OVER = {"finished", "cancelled"}
LATE = "import torch\nprint((torch.ones(3, device='{cuda}') * 2).sum().item())\n"


class Service:
    """A running service of one tree, and its REST interface."""

    def __init__(self, url: str, log: Path) -> None:
        self.log = log
        self._client = httpx2.Client(base_url=url, timeout=60)
        self._api = "/api/v1"

    def get(self, path: str) -> Any:
        answer = self._client.get(self._api + path)
        answer.raise_for_status()
        return answer.json()

    def submit(self, body: dict[str, object]) -> str:
        answer = self._client.post(self._api + "/runs", json=body)
        if answer.is_error:
            raise SystemExit(f"{answer.status_code}: {answer.text[:500]}")
        return str(answer.json()["id"])

    def await_node(self, *, cards: bool) -> None:
        """Wait until the node is there, with its cards checked."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                nodes = self.get("/nodes")["items"]
            except httpx2.HTTPError:
                nodes = []
            if nodes and (not cards or all(gpu["state"] == "sound" for gpu in nodes[0]["gpus"])):
                return
            time.sleep(0.2)
        raise SystemExit("the node or its cards are not ready")

    def await_end(
        self, run_ids: dict[str, str], *, seconds: float
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """The runs by name, once all are over, and the seconds until each had an attempt with an outcome."""
        began = time.monotonic()
        over: dict[str, Any] = {}
        answered: dict[str, float] = {}
        while len(over) < len(run_ids):
            for name in run_ids.keys() - over.keys():
                run = self.get(f"/runs/{run_ids[name]}")
                if name not in answered and has_answer(run):
                    answered[name] = round(time.monotonic() - began, 1)
                if run["state"] in OVER:
                    over[name] = run
            if time.monotonic() > began + seconds:
                raise SystemExit(f"not over after {seconds} s: {sorted(set(run_ids) - set(over))}")
            time.sleep(0.2)
        return over, answered

    def first_answer(self, run_id: str, *, seconds: float) -> float:
        """Seconds until the run has the first attempt with an outcome, a preview or a counted one."""
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            run = self.get(f"/runs/{run_id}")
            if has_answer(run):
                return time.monotonic() - began
            time.sleep(0.1)
        raise SystemExit("there was no answer")

    def card_seconds(self, runs: dict[str, Any]) -> float | None:
        """The time that attempts had the card. None if the node does not say it."""
        total = 0.0
        for run in runs.values():
            for attempt in (each for job in run["jobs"] for each in job["attempts"]):
                seen = self.get(f"/attempts/{attempt['id']}")["observation"] or {}
                if seen.get("card_seconds") is None:
                    return None
                total += seen["card_seconds"]
        return total


def has_answer(run: dict[str, Any]) -> bool:
    """Whether an attempt of a run has an outcome, a preview or a counted one."""
    return any(attempt["outcome"] for job in run["jobs"] for attempt in job["attempts"])


@contextmanager
def serving(tree: Path, toolchains: Path, **variables: str) -> Iterator[Service]:
    """A service of a tree in a home of its own, which ends with the block."""
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        port = free_port()
        own = {
            "SAMEHERE_HOME": folder,
            "SAMEHERE_TOOLCHAINS": str(toolchains),
            "SAMEHERE_LOCKS": f"{folder}/locks",
            "SAMEHERE_CANARY_SECONDS": "0",
            "PYTHONPATH": str(tree),
        }
        with (home / "serve.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "app.cli", "serve", "--port", str(port)],
                env=os.environ | own | variables,
                cwd=tree,
                stdout=log,
                stderr=log,
            )
        try:
            service = Service(f"http://127.0.0.1:{port}", home / "serve.log")
            service.await_node(cards=bool(find_gpus()))
            yield service
        except SystemExit:
            sys.stderr.write((home / "serve.log").read_text()[-3000:])
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


def warm_up(service: Service, device: str) -> None:
    """Run one report, so that the environment is recorded and the interpreters are ready."""
    body = {"script": LATE.replace("{cuda}", device), "targets": [{"device": device}]}
    service.await_end({"warm-up": service.submit(body)}, seconds=200)
    time.sleep(8)


def ten(service: Service, device: str, mark: str) -> dict[str, Any]:
    """Ten reports at once: verdicts a minute, and what they were."""
    began = time.monotonic()
    ids = {name: service.submit(body) for name, body in bodies(device, mark).items()}
    runs, answered = service.await_end(ids, seconds=400)
    seconds = time.monotonic() - began
    attempts = [each for run in runs.values() for job in run["jobs"] for each in job["attempts"]]
    card_seconds = service.card_seconds(runs)
    return {
        "seconds": round(seconds, 2),
        "verdicts_a_minute": round(60 * len(runs) / seconds, 2),
        "attempts": len(attempts),
        "attempts_a_minute": round(60 * len(attempts) / seconds, 2),
        "warm": sum(each["start"] == "warm" for each in attempts),
        "previews": sum(each["kind"] == "preview" for each in attempts),
        "first_answers_after_seconds": sorted(answered.values()),
        "seconds_of_each": {name.removesuffix(f" {mark}"): seconds_of(run) for name, run in runs.items()},
        "cold_although_warm_was_asked": sorted(
            {each["start_reason"]["code"] for each in attempts if each.get("start_reason")}
        ),
        "card_seconds_a_verdict": None if card_seconds is None else round(card_seconds / len(runs), 3),
        "verdicts": {name.removesuffix(f" {mark}"): run["verdict"] for name, run in runs.items()},
    }


def seconds_of(run: dict[str, Any]) -> float | None:
    """The time from the submission of a run to its end."""
    begin, end = run.get("created_at"), run.get("finished_at")
    if not begin or not end:
        return None
    return round((datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds(), 1)


def crowd(service: Service, device: str) -> dict[str, Any]:
    """Twenty reports at once, and one that comes while they wait."""
    began = time.monotonic()
    reports = {**bodies(device, "crowd one"), **bodies(device, "crowd two")}
    ids = {name: service.submit(body) for name, body in reports.items()}
    time.sleep(2)
    script = f"# late\n{LATE}".replace("{cuda}", device)
    late = service.submit({"script": script, "targets": [{"device": device}]})
    first = service.first_answer(late, seconds=120)
    answer_kinds = answers_so_far(service, late)
    runs, _ = service.await_end({**ids, "late": late}, seconds=300)
    seconds = time.monotonic() - began
    return {
        "seconds": round(seconds, 2),
        "verdicts_a_minute": round(60 * len(runs) / seconds, 2),
        "first_answer_while_twenty_wait_seconds": round(first, 2),
        "that_answer_was": answer_kinds,
        "verdicts": [[name.partition(" crowd")[0], run["verdict"]] for name, run in runs.items()],
    }


def answers_so_far(service: Service, run_id: str) -> list[str]:
    """The kinds of the attempts of a run that have an outcome."""
    jobs = service.get(f"/runs/{run_id}")["jobs"]
    return [attempt["kind"] for job in jobs for attempt in job["attempts"] if attempt["outcome"]]


def measure_service(arguments: argparse.Namespace, keep_part: Callable[[dict[str, Any]], None]) -> None:
    old, device, places = arguments.old, arguments.device, str(arguments.places)
    before = {} if old else BEFORE
    result: dict[str, Any] = {"before_is": old.name if old else "one place, no warm repeats", "turns": []}
    for turn in range(arguments.rounds):
        facts = {}
        with serving(old or HERE, arguments.old_toolchains or arguments.toolchains, **before) as service:
            warm_up(service, device)
            facts["before"] = ten(service, device, f"old {turn}")
            result["turns"].append(facts)
            keep_part(result)
        sharing = str(arguments.sharing).lower()
        with serving(
            HERE, arguments.toolchains, SAMEHERE_CARD_PLACES=places, SAMEHERE_CARD_SHARING=sharing
        ) as service:
            warm_up(service, device)
            facts["now"] = ten(service, device, f"new {turn}")
            facts["ratio"] = round(
                facts["now"]["verdicts_a_minute"] / facts["before"]["verdicts_a_minute"], 2
            )
            facts["verdicts_are_equal"] = facts["now"]["verdicts"] == facts["before"]["verdicts"]
            keep_part(result)
            if turn == arguments.rounds - 1:
                result["twenty_more"] = crowd(service, device)
    expected = result["turns"][-1]["now"]["verdicts"]
    crowd_verdicts = result["twenty_more"].pop("verdicts")
    result["twenty_more"]["verdicts_are_those_of_ten"] = all(
        expected.get(name, verdict) == verdict for name, verdict in crowd_verdicts
    )
    keep_part(result)


def measure_attempts(
    rounds: int, imports: int, keep_part: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Attempts a minute of one usual script, in turns. What is measured is kept after each of them."""

    def ways_of(bench: Bench) -> dict[str, Any]:
        return {name: way.as_json() for name, way in bench.measured.items() if not name.startswith("import")}

    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        bench = Bench(Path(folder), stand_in=not find_gpus())
        script = bench.script.replace("TOUCH", "")
        bench.run_pool(1, 1, script=script, gated=False)
        steps = (
            lambda: bench.by_node(1, 4),
            lambda: bench.by_hand(8, 24),
            lambda: bench.by_node(8, 24),
            lambda: bench.by_node(8, 32, warm=True),
            lambda: bench.by_node(8, 48, warm=True, sharing=True),
        )
        for number in range(rounds):
            for step in steps if number % 2 == 0 else reversed(steps):
                step()
                keep_part({"ways": ways_of(bench)})
        for number in range(imports):
            # Each pair begins with the other one.
            for gated in (False, True) if number % 2 == 0 else (True, False):
                bench.import_alone(gated=gated)
            keep_part({"ways": ways_of(bench), **gate_on_import(bench)})
    ways = ways_of(bench)
    rates = {name: way["attempts_a_minute"] for name, way in ways.items()}
    return {
        "ways": ways,
        "by the gate alone": round(rates["node, 8 places"] / rates["node, 1 place"], 2),
        "with warm starts": round(rates["node, 8 places, warm"] / rates["node, 1 place"], 2),
        "with warm starts on a shared card": round(
            rates["node, 8 places, warm, card shared"] / rates["node, 1 place"], 2
        ),
        "of eight at once by hand": round(rates["node, 8 places"] / rates["by hand, 8 at once"], 2),
        "outputs_are_equal": len(set().union(*(way["outputs"] for way in ways.values()))) == 1,
        **gate_on_import(bench),
    }


def gate_on_import(bench: Bench) -> dict[str, Any]:
    """The imports through the gate against the others of the same pair: mean and its standard error.

    Empty without imports.
    """
    names = [f"import, {word} the gate" for word in ("without", "with")]
    if not all(name in bench.measured for name in names):
        return {}
    measured = [bench.measured[name] for name in names]
    found: dict[str, Any] = {}
    for unit, (plain, gated) in {
        "wall_seconds": [[seconds for _, seconds in way.runs] for way in measured],
        "cpu_seconds": [way.cpu_seconds for way in measured],
    }.items():
        ratios = [one / other - 1 for one, other in zip(gated, plain, strict=True)]
        found[unit] = {
            "without": round(statistics.median(plain), 4),
            "with": round(statistics.median(gated), 4),
            "of_medians": round(statistics.median(gated) / statistics.median(plain) - 1, 4),
            "mean_of_pairs": round(statistics.fmean(ratios), 4),
            "standard_error": round(statistics.stdev(ratios) / len(ratios) ** 0.5, 4) if ratios[1:] else None,
            "pairs": len(ratios),
        }
    return {"gate_on_import": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", nargs="*", default=["service", "attempts"], choices=["service", "attempts"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--imports", type=int, default=8, help="pairs of imports of torch")
    parser.add_argument("--places", type=int, default=8, help="attempts under way for each card")
    parser.add_argument("--sharing", action="store_true", help="let attempts share a card, in the new code")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--toolchains", type=Path, help="the folder of the toolchains")
    parser.add_argument("--old", type=Path, help="the tree of an old commit")
    parser.add_argument("--old-toolchains", type=Path, help="the folder of its toolchains, if another")
    parser.add_argument("--out", type=Path, default=Path("bench/results/cards.json"))
    arguments = parser.parse_args()
    private_mounts.enter()
    cards = find_gpus()
    result: dict[str, Any] = {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "card": cards[0].model if cards else "none",
    }

    def keep_part(name: str, measured: dict[str, Any]) -> None:
        result[name] = measured
        keep(result, arguments.out)

    # What is measured is kept at once, since the time on a card may end before the bench does.
    if "service" in arguments.part:
        measure_service(arguments, partial(keep_part, "service"))
    if "attempts" in arguments.part:
        keep_part(
            "attempts", measure_attempts(arguments.rounds, arguments.imports, partial(keep_part, "attempts"))
        )


if __name__ == "__main__":
    main()
