"""How many attempts a minute a node gives with one card and with two.

    .venv/bin/python bench/two_cards.py [--rounds 2] [--seconds 200] [--out bench/results/two_cards.json]

The attempts are those of `card_places.py`: they import torch and compute for a moment on the card. With one
place for each card and with four, both numbers of cards take turns. On a machine with fewer cards, harmless
device nodes stand for them, and the result says so.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from card_places import Bench, Measured
from main_path import keep, machine

from worker.cards.nvml import find_gpus
from worker.sandbox.isolation import private_mounts

# The places for each card, and the attempts for each place.
PLACES = {1: 6, 4: 4}


def measure(benches: dict[int, Bench], *, rounds: int, seconds: float) -> dict[str, Any]:
    """Take turns until the rounds or the seconds are over."""
    ways: dict[tuple[int, int], Measured] = {}
    on_cards: dict[tuple[int, int], Counter[int]] = {}
    for bench in benches.values():
        # The first attempt records the environment.
        bench.run_pool(1, 1, script=bench.script.replace("TOUCH", ""), gated=False)
    until = time.monotonic() + seconds
    for number in range(rounds):
        steps = [(cards, places) for places in PLACES for cards in benches]
        for step in steps if number % 2 == 0 else reversed(steps):
            cards, places = step
            bench, count = benches[cards], PLACES[places] * places * cards
            script = bench.script.replace("TOUCH", "")
            took, results = bench.run_pool(places, count, script=script, gated=places > 1)
            way = ways.setdefault(step, Measured())
            way.runs.append((count, took))
            way.outputs |= {result.observation.stdout_digest for result in results}
            way.waits += [
                waited for result in results if (waited := result.observation.card_waited_seconds) is not None
            ]
            on_cards.setdefault(step, Counter()).update(
                card.index for result in results for card in result.observation.cards
            )
        if time.monotonic() + (time.monotonic() - until + seconds) / (number + 1) > until:
            break
    named = {
        f"{cards} card{'s' * (cards > 1)}, {places} place{'s' * (places > 1)} each": {
            **way.as_json(),
            "attempts_by_card": dict(sorted(on_cards[cards, places].items())),
        }
        for (cards, places), way in ways.items()
    }
    rates = {
        step: 60 * sum(n for n, _ in way.runs) / sum(s for _, s in way.runs) for step, way in ways.items()
    }
    return {
        "ways": named,
        **{
            f"2 cards / 1 card, {places} place{'s' * (places > 1)} each": round(
                rates[2, places] / rates[1, places], 2
            )
            for places in PLACES
        },
        "outputs_are_equal": len(set().union(*(way.outputs for way in ways.values()))) == 1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=200.0, help="no new round begins after this time")
    parser.add_argument("--out", type=Path, default=Path("bench/results/two_cards.json"))
    arguments = parser.parse_args()
    private_mounts.enter()
    stand_in = len(find_gpus()) < 2
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        benches = {cards: Bench(Path(folder, str(cards)), stand_in=stand_in, cards=cards) for cards in (1, 2)}
        result = {
            "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "cards": [card.model for card in benches[2].cards.cards()],
            **measure(benches, rounds=arguments.rounds, seconds=arguments.seconds),
        }
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
