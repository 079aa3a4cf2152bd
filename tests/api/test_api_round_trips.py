"""A submission has a budget of round trips: to the database, as the protocol itself counts them, and to the
broker. Each one is a switch of processes, and on a busy machine that is what a submission waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from api.web_client import Web, serving
from redis.connection import AbstractConnection
from sqlalchemy import event, text

from app.clock import now
from app.embedded.postgres import EmbeddedPostgres
from app.settings import ServiceSettings
from app.storage.broker import WAKE_UP
from app.storage.models import AttemptRow, EventRow, JobRow, ReportRow, ReportSearchRow, RunRow, ScriptRow
from app.storage.new_rows import NewRows
from app.storage.queries.queue import queue_position

# BEGIN, what it is planned with, all its rows, COMMIT.
BESIDE_A_LONG_QUEUE = 4
# And the state of the queue, and its first attempts.
ALONE = 6
# The event and the wake-up of the dispatcher go together.
BROKER = 1
# The statements of Postgres prepare themselves after this many uses.
WARM = 8


@contextmanager
def round_trips(web: Web, folder: Path) -> Iterator[Callable[[], int]]:
    """How often the server got a turn meanwhile: it ends each with ReadyForQuery. Ask when it is over."""
    engine = web.application.state.web.engine
    trace = folder / "trace"
    with trace.open("w") as file:

        def begin(connection: psycopg.Connection[Any], *_more: object) -> None:
            connection.pgconn.trace(file.fileno())

        def end(connection: psycopg.Connection[Any], *_more: object) -> None:
            connection.pgconn.untrace()

        event.listen(engine, "checkout", begin)
        event.listen(engine, "reset", end)
        try:
            yield lambda: trace.read_text().count("ReadyForQuery")
        finally:
            event.remove(engine, "checkout", begin)
            event.remove(engine, "reset", end)


@contextmanager
def broker_trips(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """What is sent to the broker meanwhile."""
    sent: list[bytes] = []
    plain = AbstractConnection.send_packed_command

    def send(connection: Any, command: Any, **options: Any) -> None:
        sent.append(b"".join(command) if isinstance(command, list) else command)
        plain(connection, command, **options)

    with monkeypatch.context() as patch:
        patch.setattr(AbstractConnection, "send_packed_command", send)
        yield sent


def warm(web: Web) -> None:
    """Several submissions; the wake-up of the dispatcher is sent already."""
    web.stage.node("n")
    for number in range(WARM):
        web.post(script=f"print({number})\n", awaited=False)
    web.stage.broker.redis.set(WAKE_UP, 1)


@pytest.mark.parametrize(
    ("most_runs", "headers", "most"),
    [
        (100, {}, ALONE),
        (1, {}, BESIDE_A_LONG_QUEUE),
        (1, {"Idempotency-Key": "k"}, BESIDE_A_LONG_QUEUE + 1),
    ],
)
def test_a_submission_keeps_its_budget(
    settings: ServiceSettings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *,
    most_runs: int,
    headers: dict[str, str],
    most: int,
) -> None:
    monkeypatch.setattr(queue_position, "MOST_RUNS", most_runs)
    monkeypatch.setattr(queue_position, "LONG_QUEUE_SECONDS", 60.0)
    with serving(settings) as web:
        warm(web)
        with round_trips(web, tmp_path) as trips, broker_trips(monkeypatch) as sent:
            body = {"script": "print('new')\n", "awaited": False}
            answer = web.client.post("/api/v1/runs", json=body, headers=headers)
        assert answer.status_code == 202, answer.text
        assert answer.json()["jobs"][0]["waiting"]["position"] > 0
        # The measure sees something: there is no submission without BEGIN and COMMIT.
        assert 4 <= trips() <= most
        assert len(sent) == BROKER, sent


def test_the_measure_sees_a_further_round_trip(settings: ServiceSettings, tmp_path: Path) -> None:
    counts = []
    with serving(settings) as web:
        for statements in (1, 2, 3):
            sessions = web.application.state.web.sessions
            with round_trips(web, tmp_path) as trips, sessions.begin() as session:
                for number in range(statements):
                    session.execute(text(f"SELECT {number}"))
            counts.append(trips())
    # With BEGIN and COMMIT; before the first one the schema is checked.
    assert counts[1:] == [4, 5]


def test_all_rows_of_a_submission_are_there(settings: ServiceSettings) -> None:
    # A word with what JSON, Postgres and the statement could take for theirs.
    script = "print('\\u0000 %s %(report)s \\\\ \"é\" {}')  # \u2028 \U0001f600\n"
    with serving(settings) as web:
        web.stage.node("n")
        run = web.post(script=script, title="a % b", repeats=3, awaited=False)
        with web.stage.session() as session:
            row = session.get(RunRow, run["id"])
            assert row is not None
            assert (row.state, row.last_event, row.submitter, row.trigger) == ("queued", 1, None, "imported")
            assert row.request_id
            report = session.get(ReportRow, row.report_id)
            assert report is not None
            assert (report.title, report.labels, report.is_canary) == ("a % b", [], False)
            assert report.text == script
            assert session.get(ReportSearchRow, report.id) is not None
            assert session.get(EventRow, (run["id"], 1)) is not None
            [job] = session.query(JobRow).filter_by(run_id=run["id"])
            stored = session.get(ScriptRow, job.script_digest)
            assert stored is not None
            assert stored.text == script
            attempts = session.query(AttemptRow).filter_by(job_id=job.id).all()
            assert [attempt.state for attempt in attempts] == ["queued"] * 3
            assert all(attempt.counted and attempt.lease_no == 0 for attempt in attempts)
        found = web.client.get("/api/v1/reports", params={"q": "print"}).json()
        assert [item["id"] for item in found["items"]] == [run["report"]["id"]]


def test_rows_with_different_columns_keep_what_the_database_knows(settings: ServiceSettings) -> None:
    with serving(settings) as web:
        web.stage.node("n")
        run = web.post(awaited=False)
        common = {"run_id": run["id"], "kind": "again", "ids": {}, "created_at": now()}
        rows = NewRows()
        rows.add(EventRow(number=8, **common), EventRow(number=9, transaction=7, **common))
        with web.stage.session() as session:
            rows.write(session)
            session.commit()
        with web.stage.session() as session:
            first, second = (session.get(EventRow, (run["id"], number)) for number in (8, 9))
            assert first is not None
            assert second is not None
            # The first one has the number of its transaction, which only the database knew.
            assert first.transaction > 7
            assert second.transaction == 7


def test_a_connection_that_the_server_closed_a_moment_ago_is_replaced(
    settings: ServiceSettings, postgres: EmbeddedPostgres
) -> None:
    with serving(settings) as web:
        web.stage.node("n")
        web.post()
        name = (settings.reveal_database_url() or "").partition("@/")[2].partition("?")[0]
        with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
            closed = connection.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s", [name]
            ).fetchone()
        assert closed is not None
        assert closed[0] > 0
        # At once: no connection has been unused for long.
        assert web.post(script="print('after')\n")["state"] == "queued"
