"""Reads a stream of events over HTTP, as a browser does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx2
from running_web import Web
from sqlalchemy import text
from stage import Stage

WAIT_SECONDS = 20.0


@dataclass
class Follower:
    """Reads a stream in a thread of its own, as a browser does."""

    lines: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def read(self, url: str, headers: dict[str, str]) -> None:
        with httpx2.stream("GET", url, headers=headers, timeout=60) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                self.lines.append(line)
        self.ended.set()

    def values(self, name: str) -> list[str]:
        return [line.removeprefix(f"{name}: ") for line in list(self.lines) if line.startswith(f"{name}: ")]

    def wait_for(self, kind: str) -> None:
        wait_until(lambda: kind in self.values("event"))


@contextmanager
def following(web: Web, run_id: str, **headers: str) -> Iterator[Follower]:
    follower = Follower()
    url = f"{web.url}/api/v1/runs/{run_id}/events"
    thread = threading.Thread(target=follower.read, args=(url, headers), daemon=True)
    thread.start()
    yield follower
    assert follower.ended.wait(WAIT_SECONDS), follower.lines
    thread.join(5)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def held_sessions(stage: Stage) -> int:
    """Connections that sit in a transaction."""
    with stage.session() as session:
        counted = text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"  # noqa: E501
        )
        return int(session.scalar(counted) or 0)
