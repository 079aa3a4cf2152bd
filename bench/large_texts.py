"""Processor time of reading a megabyte of text, by its kind, and how it grows when the text doubles.

.venv/bin/python bench/large_texts.py [--rounds 3] [--out bench/results/large_texts.json]

`against_markdown` is the time as a multiple of what the Markdown parser alone takes for the same lines: the
speed of a machine is in both.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from main_path import machine
from markdown_it import MarkdownIt

from app.intake.read import read
from app.limits import ReadLimits
from tests.large_texts import KINDS, REPORT, text_of
from worker.contract import KIB, MIB

LIMITS = ReadLimits(script_bytes=256 * KIB, report_bytes=2 * MIB)
# A character may have several bytes.
SIZES = (MIB // 2, MIB)


def least_seconds(call: Callable[[], object], rounds: int) -> float:
    """The processor time of the fastest of some calls: foreign load only ever adds time."""
    least = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        call()
        least = min(least, time.process_time() - started)
    return least


def figures(kind: str, rounds: int) -> dict[str, object]:
    """The figures of one kind of text."""
    half, whole = (text_of(kind, size) for size in SIZES)
    half_seconds, seconds = (
        least_seconds(lambda text=text: read(text, form="report", limits=LIMITS), rounds)  # type: ignore[misc]
        for text in (half, whole)
    )
    markdown = least_seconds(lambda: MarkdownIt("commonmark").disable("inline").parse(whole), rounds)
    return {
        "characters": len(whole),
        "seconds": round(seconds, 3),
        "seconds_per_megabyte": round(seconds * MIB / len(whole), 3),
        "growth_when_doubled": round(seconds / half_seconds, 2) if len(whole) > len(half) else None,
        "against_markdown": round(seconds / markdown, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("bench/results/large_texts.json"))
    arguments = parser.parse_args()
    # What is imported and compiled with the first reading counts for none.
    read(REPORT, form="report", limits=LIMITS)
    result = {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "kinds": {kind: figures(kind, arguments.rounds) for kind in KINDS},
    }
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
