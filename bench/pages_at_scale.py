"""Every page and list over 1 000 000 attempts against 10 000, between requests for one small page.

    .venv/bin/python bench/pages_at_scale.py [--homes DIR] [--requests 100] [--large 1000000]
        [--only WORDS] [--out bench/results/pages_at_scale.json]

Each data set (`bench/scale_data.py`) has its own service. A page is measured in rounds. In a round each side
gets some requests for the page, with one for a fixed small page (`/sign-in`) after each: what the small page
takes says how noisy the machine is just then. `p95_ms` is over the rounds whose small pages were fastest, one
half of them; `ratio` is the median over all rounds of the ratio of both sides. Requests leave at their time
whatever became of earlier ones (open loop), and are timed from then. Each reads another report, run or
attempt, drawn at random. With --homes the data stays there and is used again.

The ratio is that of the data, and not of what a page shows: both sides fill the same pages. So most reports
of the smaller side have one cell (`bench/scale_sizes.py`), which makes 678 of them out of 10 000 attempts,
with 145 changes. With the sizes of the larger side it would have 119 reports and two changes. The reports,
runs and cells that are asked for one by one have the same size on both sides, and each side draws from as
many. `entries` is how many entries of a list each side shows. Queries that the smaller side does not fill
all the same are also asked over REST with a limit that both sides fill (`SHORT`).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg
from main_path import database_url, free_port, keep, machine
from scale_data import fill
from scale_kept import stamp

from app.embedded.postgres import EmbeddedPostgres
from app.serve.database import migrate

SIZES = {"small": 10_000, "large": 1_000_000}
RATE = 20.0
# The rounds of a page. Half of them, the quieter ones, count for the percentile.
ROUNDS = 10
SMALL_PAGE = "/sign-in"
# The address of a page, with the kind of its id in braces.
PAGES = {
    "home": "/",
    "group": "/attention/still_broken",
    "changes": "/changes",
    "changes, unexplained": "/changes?kind=regressed&group=unexplained&toolchain=newest",
    "changes, all kinds": "/changes?kind=",
    "changes, as a feed": "/changes.atom",
    "changes, as Markdown": "/changes.md",
    "reports": "/reports",
    "reports, far down": "/reports?cursor={far_down}",
    "report": "/reports/{report}",
    "report with 40 runs": "/reports/{busiest}",
    "report with 400 cells": "/reports/{widest}",
    "report, as Markdown": "/reports/{report}.md",
    "report, as a picture": "/reports/{report}.svg",
    "report with 40 runs, as a picture": "/reports/{busiest}.svg",
    "heat map of 400 cells": "/reports/{widest}/map",
    "run": "/runs/{run}",
    "heat map of a run": "/runs/{run}/map",
    "run, what changes": "/runs/{run}/fragment",
    "attempt": "/attempts/{attempt}",
    "cell": "/jobs/{job}",
    "cell, to repeat": "/jobs/{job}/repeat.py",
    "text of a report": "/reports/{report}/text",
    "compare, kept": "/compare?id={comparison}",
    "compare, any two": "/compare?baseline={attempt}&candidate={attempt}",
    "compare, as Markdown": "/compare.md?baseline={attempt}&candidate={attempt}",
    "nodes": "/nodes",
    "GET acts": "/api/v1/acts",
    "GET changes": "/api/v1/changes",
    "GET reports": "/api/v1/reports",
    "GET reports, far down": "/api/v1/reports?cursor={far_down}",
    "GET reports by address": "/api/v1/reports?source_url={url}",
    "GET report": "/api/v1/reports/{report}",
    "GET matrix": "/api/v1/reports/{report}/matrix",
    "GET runs": "/api/v1/runs",
    "GET run": "/api/v1/runs/{run}",
    "GET run, in brief": "/api/v1/runs/{run}?view=brief",
    "GET bundle": "/api/v1/runs/{run}/bundle",
    "GET events": "/api/v1/runs/{run}/events",
    "GET attempt": "/api/v1/attempts/{attempt}",
    "GET comparison": "/api/v1/comparisons/{comparison}",
    "GET nodes": "/api/v1/nodes",
    "GET toolchains": "/api/v1/toolchains",
    "GET presets": "/api/v1/presets",
}
QUERIES = {
    "one word": "logdet",
    "a word in all": "torch",
    "no such word": "xylophone",
    "a phrase": '"No CUDA GPUs are available"',
    "without a word": "-torch",
    "hardware": "h200",
    "verdict": "verdict:reproduced",
    "without a verdict": "-verdict:reproduced",
    "device": "device:cuda",
    "toolchain": "toolchain:torch>=2.11",
    "one cell": "verdict:reproduced device:cuda toolchain:torch>=2.11",
    "no such cell": "verdict:not_reproduced toolchain:torch<2.2 device:cuda node:lab-h100-1",
    "exception": "exception:RuntimeError device:cpu",
    "cause": "cause:nondeterministic_kernel",
    "changed": "changed:regressed changed:last-year",
    "attention": "attention:needs_human",
    "submitted": "submitted:<2025-03-01 verdict:reproduced",
    "many terms": (
        "verdict:reproduced device:cuda toolchain:torch>=2.11 changed:last-year -exception:KeyError logdet"
    ),
}


def asked_for(path: str, query: str) -> str:
    """The address of a search."""
    return f"{path}q={httpx2.QueryParams({'q': query})['q']}"


# Lists that the smaller side can't fill, with as many entries as it has.
SHORT = {
    "GET changes, two": "/api/v1/changes?limit=2",
    **{
        f"GET search: {name}, seven": asked_for("/api/v1/reports?limit=7&", QUERIES[name])
        for name in ("a phrase", "without a word", "exception", "cause", "attention")
    },
}
# A row of a list begins with a link.
ENTRY = re.compile(rb'<th scope="row"><a |<entry>|<li><a dir="auto" href="/reports/')
IDS = {
    "report": (
        "SELECT report_id FROM run WHERE (SELECT count(*) FROM job WHERE run_id = run.id) = 4"
        " ORDER BY md5(report_id) LIMIT 500"
    ),
    "far_down": (
        "SELECT id FROM (SELECT id FROM report ORDER BY id OFFSET 60) AS newer ORDER BY md5(id) LIMIT 500"
    ),
    "busiest": "SELECT id FROM report ORDER BY id LIMIT 1",
    "widest": "SELECT id FROM report ORDER BY id OFFSET 1 LIMIT 1",
    "run": (
        "SELECT id FROM run WHERE (SELECT count(*) FROM job WHERE run_id = run.id) = 4"
        " ORDER BY md5(id) LIMIT 500"
    ),
    "attempt": "SELECT id FROM attempt TABLESAMPLE SYSTEM (2) LIMIT 2000",
    "job": (
        "SELECT id FROM job WHERE (SELECT count(*) FROM job other WHERE other.run_id = job.run_id) = 4"
        " ORDER BY md5(id) LIMIT 2000"
    ),
    "comparison": "SELECT baseline || '-' || candidate FROM comparison ORDER BY md5(baseline) LIMIT 500",
    "url": "SELECT source_url FROM report ORDER BY md5(id) LIMIT 500",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A service, and the ids for its pages."""

    url: str
    service: psutil.Process
    ids: dict[str, list[str]]
    rng: random.Random

    def cpu_seconds(self) -> float:
        """The processor seconds of all processes of the service: web, database and the rest."""
        used = 0.0
        for process in [self.service, *self.service.children(recursive=True)]:
            # A process that ended since it was listed is counted with its parent.
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                used += times.user + times.system + times.children_user + times.children_system
        return used

    def address(self, page: str) -> str:
        for kind, known in self.ids.items():
            while f"{{{kind}}}" in page:
                page = page.replace(f"{{{kind}}}", self.rng.choice(known), 1)
        return self.url + page


@contextmanager
def serving(home: Path) -> Iterator[Side]:
    port = free_port()
    own = {"SAMEHERE_HOME": str(home), "SAMEHERE_LOCKS": str(home / "locks")}
    # Without a node, a canary fails, and so would the service.
    own["SAMEHERE_CANARY_SECONDS"] = "0"
    with (home / "serve.log").open("wb") as log:
        argv = [sys.executable, "-P", "-m", "app.cli", "serve", "--no-node", "--port", str(port)]
        process = subprocess.Popen(argv, env=os.environ | own, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        await_ready(url, home)
        with psycopg.connect(database_url(home)) as database:
            ids = {
                kind: [row[0] for row in database.execute(query).fetchall()] for kind, query in IDS.items()
            }
        yield Side(url=url, service=psutil.Process(process.pid), ids=ids, rng=random.Random(1))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def draw_from_as_many(small: Side, large: Side) -> None:
    """Cut the ids, so that what is read again, and may be cached, is the same share on both sides."""
    for kind in IDS:
        most = min(len(small.ids[kind]), len(large.ids[kind]))
        for side in (small, large):
            del side.ids[kind][most:]


def await_ready(url: str, home: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            if httpx2.get(f"{url}/readyz").status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.2)
    sys.exit((home / "serve.log").read_text()[-3000:])


def entries(answer: httpx2.Response) -> int:
    """The entries of a list; 0 for something else."""
    if "json" in answer.headers.get("content-type", ""):
        body = answer.json()
        return len(body.get("items", [])) if isinstance(body, dict) else 0
    return len(ENTRY.findall(answer.content))


async def _asked(client: httpx2.AsyncClient, address: str, due: float) -> tuple[float, httpx2.Response]:
    await asyncio.sleep(max(0.0, due - time.perf_counter()))
    answer = await client.get(address)
    if answer.status_code not in {200, 204}:
        sys.exit(f"{address}: {answer.status_code} {answer.text[:500]}")
    return time.perf_counter() - due, answer


async def _round(address: Callable[[], str], count: int) -> list[tuple[float, httpx2.Response]]:
    """Send requests, each at its time; the seconds and answer of each."""
    headers = {"Last-Event-ID": "9"}
    # The service is timed, so no work of this process may delay the requests.
    gc.collect()
    gc.disable()
    async with httpx2.AsyncClient(
        timeout=60, headers=headers, limits=httpx2.Limits(max_connections=100)
    ) as client:
        began = time.perf_counter() + 0.05
        return await asyncio.gather(
            *(_asked(client, address(), began + number / RATE) for number in range(count))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One side in one round: the seconds of the requests and of the small page, and the largest answers."""

    seconds: list[float]
    small_page: list[float]
    most_bytes: int
    most_entries: int

    @property
    def noise(self) -> float:
        return statistics.median(self.small_page)


def p95(seconds: list[float]) -> float:
    """The 95th percentile, in milliseconds."""
    return round(1000 * sorted(seconds)[int(0.95 * (len(seconds) - 1))], 1)


def one_round(side: Side, page: str, count: int) -> Round:
    """Requests for the page and for the small one, in turns."""
    turns = iter([side.address(page), f"{side.url}{SMALL_PAGE}"] * count)
    found = asyncio.run(_round(lambda: next(turns), 2 * count))
    return Round(
        seconds=[taken for taken, _ in found[::2]],
        small_page=[taken for taken, _ in found[1::2]],
        most_bytes=max(len(answer.content) for _, answer in found[::2]),
        most_entries=max(entries(answer) for _, answer in found[::2]),
    )


def figures(rounds: list[Round]) -> dict[str, float]:
    """The figures of one side."""
    quieter = sorted(rounds, key=lambda one: one.noise)[: max(1, len(rounds) // 2)]
    return {
        "p50_ms": round(1000 * statistics.median(second for one in quieter for second in one.seconds), 1),
        "p95_ms": p95([second for one in quieter for second in one.seconds]),
        "p95_of_all_rounds_ms": p95([second for one in rounds for second in one.seconds]),
        "small_page_p50_ms": round(1000 * statistics.median(one.noise for one in quieter), 1),
        "kilobytes": round(max(one.most_bytes for one in rounds) / 1000, 1),
        "entries": max(one.most_entries for one in rounds),
    }


def measure_page(sides: dict[str, Side], page: str, requests: int) -> dict[str, Any]:
    """Measure both sides in turns, after a few requests that don't count."""
    rounds: dict[str, list[Round]] = {name: [] for name in sides}
    used = dict.fromkeys(sides, 0.0)
    for side in sides.values():
        one_round(side, page, 2)
    for _ in range(ROUNDS):
        for name, side in sides.items():
            before = side.cpu_seconds()
            rounds[name].append(one_round(side, page, max(1, requests // ROUNDS)))
            used[name] += side.cpu_seconds() - before
    pairs = [
        statistics.median(large.seconds) / statistics.median(small.seconds)
        for small, large in zip(rounds["small"], rounds["large"], strict=True)
    ]
    asked = 2 * ROUNDS * max(1, requests // ROUNDS)
    return {
        **{
            name: {**figures(of_side), "cpu_ms_with_the_small_page": round(2000 * used[name] / asked, 1)}
            for name, of_side in rounds.items()
        },
        "ratio": round(statistics.median(pairs), 2),
    }


def measure(homes: Path, sizes: dict[str, int], requests: int, only: str) -> dict[str, Any]:
    data = {
        name: fill(homes / name, attempts)
        for name, attempts in sizes.items()
        if not (homes / name / "postgres").exists()
    }
    for name in sizes:
        if name not in data:
            server = EmbeddedPostgres(homes / name)
            url = server.start()
            try:
                migrate(url)
                stamp(url)
            finally:
                server.stop()
    searches = {f"search: {name}": asked_for("/reports?", words) for name, words in QUERIES.items()}
    pages = {**PAGES, **searches, **SHORT}
    results = {}
    load = os.getloadavg()[0]
    with serving(homes / "small") as small, serving(homes / "large") as large:
        draw_from_as_many(small, large)
        for name, page in pages.items():
            if only in name:
                results[name] = measure_page({"small": small, "large": large}, page, requests)
                print(f"{name:32} {results[name]}", file=sys.stderr, flush=True)
    return {
        "at": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "load_before_and_after": [load, os.getloadavg()[0]],
        "requests_a_second": RATE,
        "requests_a_page": requests,
        "rounds_a_page": ROUNDS,
        "attempts": sizes,
        "data": data,
        "pages": results,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--homes", type=Path)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--large", type=int, default=SIZES["large"], help="attempts of the larger side")
    parser.add_argument("--only", default="", help="pages with this in their names")
    parser.add_argument("--out", type=Path, default=Path("bench/results/pages_at_scale.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as folder:
        Path(folder).chmod(0o755)
        result = measure(
            arguments.homes or Path(folder),
            {**SIZES, "large": arguments.large},
            arguments.requests,
            arguments.only,
        )
    keep(result, arguments.out)


if __name__ == "__main__":
    main()
