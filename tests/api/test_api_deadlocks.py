"""Two acts that wait for each other: Postgres ends one of them, and whoever sent it is told to send it
again; nothing is half done.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import psycopg
import pytest
from api.web_client import Web

from app.embedded.postgres import EmbeddedPostgres
from app.settings import ServiceSettings

ACT = {"reason": "the fan is broken"}
Send = Callable[[httpx2.Client, str], httpx2.Response]
SEND: dict[str, tuple[Send, str]] = {
    "withdraw": (
        lambda client, report: client.post(f"/api/v1/reports/{report}/withdraw", json=ACT),
        "application/problem+json",
    ),
    "quarantine": (
        lambda client, _: client.post(
            "/api/v1/quarantines", json={**ACT, "kind": "node", "name": "n", "since": "2026-01-01T00:00:00Z"}
        ),
        "application/problem+json",
    ),
    "withdraw by form": (
        lambda client, report: client.post(f"/reports/{report}/withdraw", data=ACT),
        "text/html",
    ),
}


@pytest.fixture
def connection_string(postgres: EmbeddedPostgres, settings: ServiceSettings) -> str:
    """The superuser's; it may set how soon a deadlock is detected."""
    name = (settings.reveal_database_url() or "").partition("@/")[2].partition("?")[0]
    return postgres.admin_url.replace("/postgres?", f"/{name}?")


@pytest.mark.parametrize("act", SEND)
def test_who_is_ended_by_a_deadlock_is_told_to_send_it_again(
    web: Web, connection_string: str, act: str
) -> None:
    send, media_type = SEND[act]
    first = web.finish(web.post()["id"])
    report = first["report"]["id"]
    second = web.finish(web.client.post(f"/api/v1/reports/{report}/runs", json={}).json()["id"])
    with psycopg.connect(connection_string) as other, ThreadPoolExecutor(1) as pool:
        # It looks for no deadlock itself, so it is the web's transaction that is ended.
        other.execute("SET deadlock_timeout = '60s'")
        other.execute("SELECT id FROM run WHERE id = %s FOR UPDATE", (second["id"],))
        answer = pool.submit(send, web.client, report)
        _await_a_waiting_lock(connection_string)
        # The ring: the web holds the first run and waits for the second.
        other.execute("SELECT id FROM run WHERE id = %s FOR UPDATE", (first["id"],))
        told = answer.result(20)
        other.rollback()
    assert (told.status_code, told.headers["content-type"].partition(";")[0]) == (503, media_type)
    assert 0 < int(told.headers["retry-after"]) <= 5
    assert "Someone else is changing the same thing" in told.text
    if media_type != "text/html":
        assert told.json()["code"] == "busy"
    kept = web.client.get(f"/api/v1/reports/{report}").json()
    assert (kept["withdrawn_at"], kept["acts"]) == (None, [])
    assert web.client.get("/api/v1/quarantines").json()["items"] == []
    # The same again does it.
    assert send(web.client, report).status_code in {200, 201, 303}


def _await_a_waiting_lock(connection_string: str) -> None:
    with psycopg.connect(connection_string, autocommit=True) as look:
        for _ in range(500):
            if look.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
                return
            look.execute("SELECT pg_sleep(0.02)")
    raise AssertionError("nobody waits for a lock")
