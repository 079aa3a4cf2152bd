"""Failures behind the web: a commit, the database, the broker.

Nothing is half done, and no 202 is answered for a request that was not stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from pydantic import SecretStr
from running_web import serve, web_of
from sqlalchemy import text
from stage import CLAIM, SCRIPT, Stage

from app.embedded.postgres import EmbeddedPostgres
from app.ids import new_id
from app.settings import ServiceSettings
from app.storage.migrate import upgrade
from app.storage.models import RunRow

BODY = {"script": SCRIPT, "claim": CLAIM}
# A commit that fails: the check is put off to the end of the transaction.
FAILING_COMMIT = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE =
'{code}'; END $$; CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON run DEFERRABLE INITIALLY DEFERRED FOR EACH
ROW EXECUTE FUNCTION refuse();
"""


def unavailable(answer: httpx2.Response, code: str) -> None:
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json()["code"] == code


@pytest.mark.parametrize(
    ("code", "status"),
    [("23514", 500), ("57P01", 503), ("40001", 503)],
    ids=["check", "shutdown", "serialisation"],
)
def test_a_commit_that_fails_is_not_a_202(stage: Stage, code: str, status: int) -> None:
    stage.node("n")
    with stage.session() as session:
        session.execute(text(FAILING_COMMIT.format(code=code)))
    stage.broker.redis.flushall()
    with web_of(stage) as web:
        answer = web.client.post("/api/v1/runs", json=BODY)
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert "location" not in answer.headers
        page = web.client.post("/", data={"text": SCRIPT, "claim": CLAIM})
        assert page.status_code == status
        assert page.headers["content-type"].startswith("text/html")
    assert stage.count(RunRow) == 0
    assert stage.broker.redis.keys("*") == []


@pytest.fixture
def nowhere(home: Path) -> Iterator[str]:
    """A web whose database and broker are away."""
    url = f"postgresql://samehere@/samehere?host={home}"
    with serve(ServiceSettings(database_url=url, broker_url=f"redis+socket://{home}/socket")) as address:
        yield address


def test_without_a_database_everything_says_so(nowhere: str) -> None:
    with httpx2.Client(base_url=nowhere, timeout=20) as client:
        assert client.get("/healthz").json() == {"status": "alive"}
        for path in (
            "/readyz",
            "/metrics",
            "/api/v1/runs",
            "/api/v1/nodes",
            f"/api/v1/runs/{new_id()}",
            f"/api/v1/runs/{new_id()}/events",
        ):
            unavailable(client.get(path), "database_unavailable")
        unavailable(client.post("/api/v1/runs", json=BODY), "database_unavailable")
        page = client.get("/")
        assert (page.status_code, page.headers["content-type"].partition(";")[0]) == (503, "text/html")
        assert page.headers["retry-after"]
        assert "database does not answer" in page.text
        assert client.get("/static/app.css").status_code == 200


def test_a_database_that_goes_away_and_comes_back(home: Path, broker_url: str) -> None:
    server = EmbeddedPostgres(home)
    url = server.start()
    upgrade(url)
    try:
        with (
            serve(ServiceSettings(database_url=url, broker_url=broker_url)) as address,
            httpx2.Client(base_url=address, timeout=20) as client,
        ):
            kept = client.post("/api/v1/runs", json=BODY).json()["id"]
            server.stop()
            unavailable(client.post("/api/v1/runs", json=BODY), "database_unavailable")
            unavailable(client.get(f"/api/v1/runs/{kept}"), "database_unavailable")
            assert server.start() == url
            assert client.get(f"/api/v1/runs/{kept}").status_code == 200
            assert client.post("/api/v1/runs", json=BODY).status_code == 202
            assert len(client.get("/api/v1/runs").json()["items"]) == 2
    finally:
        server.stop()


def test_without_a_broker_a_submission_is_kept(stage: Stage) -> None:
    stage.node("n")
    with web_of(stage, broker_url=SecretStr("redis+socket:///nonexistent/socket")) as web:
        answer = web.client.post("/api/v1/runs", json=BODY)
        assert answer.status_code == 202
        assert web.client.get(answer.headers["location"]).json()["state"] == "queued"
        [node] = web.client.get("/api/v1/nodes").json()["items"]
        assert node["state"] == "unknown"
        unavailable(web.client.get("/readyz"), "broker_unavailable")
        assert web.client.get("/nodes").status_code == 200
    assert len(stage.dispatch()) > 0


def test_a_database_without_tables_is_not_ready(empty_database: str, broker_url: str) -> None:
    with (
        serve(ServiceSettings(database_url=empty_database, broker_url=broker_url)) as address,
        httpx2.Client(base_url=address, timeout=20) as client,
    ):
        unavailable(client.get("/readyz"), "not_migrated")
        answer = client.post("/api/v1/runs", json=BODY)
        assert answer.status_code in {500, 503}
        assert "relation" not in answer.text
