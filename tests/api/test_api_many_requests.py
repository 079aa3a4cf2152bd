"""Many requests at once, with few connections: all are answered, and none waits for another one forever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from api.web_client import Web, serving
from sqlalchemy import Connection, Engine, event, text

from app.runs.submission import submit
from app.settings import ServiceSettings
from app.storage.lasting_pool import LastingPool
from app.storage.queries.queue import queue_position
from app.storage.session import make_engine

REQUESTS = 40


@pytest.fixture
def narrow(settings: ServiceSettings) -> Iterator[Web]:
    """A service with four connections and four threads."""
    with serving(settings.model_copy(update={"database_pool_size": 2})) as web:
        web.stage.node("n")
        yield web


def test_more_submissions_at_once_than_connections(narrow: Web) -> None:
    def send(number: int) -> int:
        return narrow.client.post("/api/v1/runs", json={"script": f"print({number})\n"}).status_code

    with ThreadPoolExecutor(REQUESTS) as threads:
        assert set(threads.map(send, range(REQUESTS))) == {202}
    items = narrow.client.get("/api/v1/runs?limit=200").json()["items"]
    assert len(items) == REQUESTS


# A page reads who looks in one step and its content in another; it holds its connection between them.
@pytest.mark.parametrize("path", ["/runs/{run}", "/api/v1/runs/{run}?view=brief"])
def test_more_readers_at_once_than_connections(narrow: Web, path: str) -> None:
    address = path.format(run=narrow.post()["id"])
    headers = narrow.token("read", "maintain")

    def read(number: int) -> int:
        # A token costs a connection of its own, before the request has one.
        return narrow.client.get(address, headers=headers if number % 2 else {}).status_code

    with ThreadPoolExecutor(REQUESTS) as threads:
        assert set(threads.map(read, range(REQUESTS))) == {200}


@pytest.fixture
def engine(settings: ServiceSettings) -> Iterator[Engine]:
    engine = make_engine(settings.model_copy(update={"database_pool_size": 2}))
    yield engine
    engine.dispose()


def server_process(connection: Connection) -> int:
    return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())


def use_at_once(engine: Engine, number: int) -> set[int]:
    """Use so many connections at the same time; the processes of Postgres behind them."""
    connections = [engine.connect() for _ in range(number)]
    processes = {server_process(connection) for connection in connections}
    for connection in connections:
        connection.close()
    return processes


def test_connections_of_a_busy_time_are_used_again(engine: Engine) -> None:
    busy = use_at_once(engine, 4)
    assert len(busy) == 4
    assert use_at_once(engine, 4) == busy


def test_connections_that_nobody_needs_for_a_while_are_closed(engine: Engine) -> None:
    pool = engine.pool
    assert isinstance(pool, LastingPool)
    use_at_once(engine, 4)
    pool.keep_seconds = 0.0
    for _ in range(6):
        use_at_once(engine, 1)
    assert pool.checkedin() == 2
    assert pool.checkedout() == 0
    # As many as before can be open again, and a new pool has the same limits.
    assert len(use_at_once(engine, 4)) == 4
    engine.dispose()
    renewed = engine.pool
    assert isinstance(renewed, LastingPool)
    assert (renewed.lasting, renewed.size()) == (2, 4)


def test_the_limit_of_runs_that_nobody_awaits_holds_beside_a_long_queue(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_position, "MOST_RUNS", 1)
    monkeypatch.setattr(queue_position, "LONG_QUEUE_SECONDS", 60.0)
    monkeypatch.setattr(submit, "_MANY_PLACES", 4)
    with serving(settings.model_copy(update={"unawaited_runs": 20})) as web:
        web.stage.node("n")
        statements = Counter[str]()

        @event.listens_for(web.application.state.web.engine, "before_cursor_execute")
        def _note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            statements["counts"] += " AS unawaited" in statement or statement.startswith("SELECT count")

        def send(number: int) -> int:
            body = {"script": f"print({number})\n", "awaited": False}
            return web.client.post("/api/v1/runs", json=body).status_code

        statuses = [send(number) for number in range(24)]
    assert statuses == [202] * 20 + [409] * 4
    # The first ones are counted while the queue is short, and the last ones near the limit.
    assert 14 <= statements["counts"] < 20
