"""A thousand listeners on one run, and on the stream of all events: what pages cost beside them.

    PYTHONPATH=. .venv/bin/python bench/listeners.py [--listeners 1000] [--out bench/results/listeners.json]

The bench starts its own service in a temporary home. Pages are fetched one after the other: without
listeners, with them, and without them again. Meanwhile a submission every half a second makes events. Only
ratios within one run can be compared. The processor seconds are those of the web process alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psutil
from main_path import keep, machine, start_service, toolchain

PAGES = 200
PAUSE_SECONDS = 0.5
NOWHERE = {"device": "cuda", "gpus": 16}


async def start_run(client: httpx2.AsyncClient, text: str) -> str:
    """A run that ends at once, since no node has its target."""
    return await start(client, f"print({text!r})\n", NOWHERE, repeats=1)


async def start_long_run(client: httpx2.AsyncClient, toolchain: str) -> str:
    """A run that goes on and sleeps."""
    target = {"device": "cpu", "toolchain": toolchain}
    return await start(client, "import time\ntime.sleep(50)\n", target, repeats=30)


async def start(client: httpx2.AsyncClient, script: str, target: dict[str, Any], *, repeats: int) -> str:
    body = {"script": script, "claim": "prints 1", "targets": [target], "repeats": repeats}
    answer = await client.post("/api/v1/runs", json=body)
    return str(answer.raise_for_status().json()["id"])


class Listeners:
    """Open streams that read what comes. `events` counts what all of them have received."""

    def __init__(self) -> None:
        self.open = self.refused = self.events = 0

    async def listen(self, url: str, path: str, opened: asyncio.Semaphore) -> None:
        parts = urlsplit(url)
        async with opened:
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
            status = await reader.readline()
        if b" 200 " not in status:
            self.refused += 1
            writer.close()
            return
        self.open += 1
        try:
            while line := await reader.readline():
                self.events += line.startswith(b"event:")
        finally:
            self.open -= 1
            writer.close()


async def listen_all(url: str, path: str, count: int) -> None:
    """Open `count` streams, and say so; say how many events came, whenever a line comes in."""
    listeners, at_once = Listeners(), asyncio.Semaphore(20)
    tasks = [asyncio.create_task(listeners.listen(url, path, at_once)) for _ in range(count)]
    for _ in range(1200):
        if listeners.open + listeners.refused >= count:
            break
        await asyncio.sleep(0.1)
    while True:
        print(json.dumps([listeners.open, listeners.refused, listeners.events]), flush=True)
        if not await asyncio.to_thread(sys.stdin.readline):
            break
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class OtherProcess:
    """The listeners in a process of their own, so that they do not delay the pages that are measured."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.open = self.refused = self.events = 0

    async def look(self, *, ask: bool = True) -> None:
        assert self._process.stdin is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        if ask:
            self._process.stdin.write(b"\n")
        self.open, self.refused, self.events = json.loads(await self._process.stdout.readline())


@asynccontextmanager
async def listening(url: str, path: str, count: int) -> AsyncIterator[OtherProcess]:
    """`count` streams, all of them open."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        __file__,
        *("--listen", url, path, "--listeners", str(count)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    other = OtherProcess(process)
    try:
        await other.look(ask=False)
        yield other
    finally:
        process.stdin.close()  # type: ignore[union-attr]
        await process.wait()


@asynccontextmanager
async def submitting(client: httpx2.AsyncClient) -> AsyncIterator[None]:
    """A submission every PAUSE_SECONDS."""

    async def go_on() -> None:
        while True:
            await start_run(client, str(time.monotonic_ns()))
            await asyncio.sleep(PAUSE_SECONDS)

    task = asyncio.create_task(go_on())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def web_seconds(service: psutil.Process) -> float:
    """The processor seconds of the web process of a service."""
    web = next(each for each in service.children(recursive=True) if "app.serve.web" in each.cmdline())
    times = web.cpu_times()
    return times.user + times.system


async def pages(client: httpx2.AsyncClient, run: str, service: psutil.Process) -> dict[str, float]:
    """Milliseconds of pages: the first page, a run's page and a run in brief, in turn."""
    paths = ("/", f"/runs/{run}", f"/api/v1/runs/{run}?view=brief")
    taken = []
    start, used = time.monotonic(), web_seconds(service)
    for number in range(PAGES):
        began = time.perf_counter()
        (await client.get(paths[number % len(paths)])).raise_for_status()
        taken.append(1000 * (time.perf_counter() - began))
    ordered = sorted(taken)
    seconds = time.monotonic() - start
    return {
        "median_ms": round(ordered[PAGES // 2], 1),
        "p99_ms": round(ordered[int(0.99 * PAGES)], 1),
        "seconds": round(seconds, 2),
        "web_cpu_seconds": round(web_seconds(service) - used, 2),
    }


async def measure(url: str, count: int, name: str, service: psutil.Process) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx2.AsyncClient(base_url=url, timeout=60))
        run = await start_long_run(client, name)
        await stack.enter_async_context(submitting(client))
        await pages(client, run, service)  # the first ones import and compile templates
        result: dict[str, Any] = {}
        for phase, path in (("one_run", f"/api/v1/runs/{run}/events"), ("all_events", "/api/v1/events")):
            before = await pages(client, run, service)
            async with listening(url, path, count) as listeners:
                opened, events, began = listeners.open, listeners.events, time.monotonic()
                beside = await pages(client, run, service)
                seconds = time.monotonic() - began
                await listeners.look()
                a_second = (listeners.events - events) / seconds
            after = await pages(client, run, service)
            without = (before["p99_ms"] + after["p99_ms"]) / 2
            result[phase] = {
                "open": opened,
                "refused": listeners.refused,
                "events_a_second": round(a_second, 1),
                "without": [before, after],
                "beside": beside,
                "p99_ratio": round(beside["p99_ms"] / without, 2),
            }
        return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listeners", type=int, default=1000)
    parser.add_argument("--listen", nargs=2, metavar=("URL", "PATH"), help="the other process")
    parser.add_argument("--out", type=Path, default=Path("bench/results/listeners.json"))
    arguments = parser.parse_args()
    if arguments.listen:
        asyncio.run(listen_all(*arguments.listen, arguments.listeners))
        return
    found = toolchain()
    with tempfile.TemporaryDirectory(prefix="listeners-", ignore_cleanup_errors=True) as folder:
        process, url = start_service(Path(folder), Path(found["python"]).parents[2])
        try:
            load = os.getloadavg()
            result = asyncio.run(
                measure(url, arguments.listeners, found["name"], psutil.Process(process.pid))
            )
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    report = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            **machine(),
            "load_before": load,
            "load_after": os.getloadavg(),
        },
        "listeners": arguments.listeners,
        "pages_of_a_phase": PAGES,
        **result,
    }
    keep(report, arguments.out)


if __name__ == "__main__":
    main()
