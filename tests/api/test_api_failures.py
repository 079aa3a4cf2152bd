"""Failures behind the web: a commit, the database, the broker.

Nothing is half done, and no 202 is answered for a request that was not stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from celery.exceptions import Reject
from pydantic import SecretStr
from running_web import serve, web_of
from sqlalchemy import text
from stage import CLAIM, SCRIPT, Stage

from app.embedded.postgres import EmbeddedPostgres
from app.ids import new_id
from app.settings import ServiceSettings
from app.storage.migrate import downgrade, upgrade
from app.storage.models import NodeRow, RunRow
from app.tasks import celery_app
from worker.contract import Hello, Level
from worker.contract.names import TASK_FROM_NODE

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
            "/api/v1/runs",
            "/api/v1/nodes",
            f"/api/v1/runs/{new_id()}",
            f"/api/v1/runs/{new_id()}/events",
        ):
            unavailable(client.get(path), "database_unavailable")
        unavailable(client.post("/api/v1/runs", json=BODY), "database_unavailable")
        assert "samehere_database_up 0.0" in client.get("/metrics").text
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
            serve(ServiceSettings(database_url=SecretStr(url), broker_url=SecretStr(broker_url))) as address,
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


@pytest.mark.parametrize("is_empty", [True, False], ids=["empty", "older"])
def test_a_database_with_an_older_schema_is_named(
    database: str, empty_database: str, broker_url: str, *, is_empty: bool
) -> None:
    downgrade(database)
    url = empty_database if is_empty else database
    with (
        serve(ServiceSettings(database_url=SecretStr(url), broker_url=SecretStr(broker_url))) as address,
        httpx2.Client(base_url=address, timeout=20) as client,
    ):
        for path in (
            "/readyz",
            "/metrics",
            "/api/v1/runs",
            "/api/v1/nodes",
            f"/api/v1/runs/{new_id()}/events",
        ):
            unavailable(client.get(path), "not_migrated")
        unavailable(client.post("/api/v1/runs", json=BODY), "not_migrated")
        for path in ("/", "/reports", "/nodes", f"/runs/{new_id()}"):
            page = client.get(path)
            assert page.status_code == 503
            assert "does not have the schema of this version" in page.text
        # It serves as soon as somebody has migrated it.
        upgrade(url)
        assert client.get("/api/v1/runs").status_code == 200


def test_a_recorder_on_an_older_schema_keeps_the_messages_of_nodes(
    database: str, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(celery_app, "RETRY_SECONDS", 0)
    service = celery_app.build(
        ServiceSettings(database_url=SecretStr(database), broker_url=SecretStr(broker_url))
    )
    record = service.celery.tasks[TASK_FROM_NODE]
    hello = Hello(node="n", instance="i", slots=1, level=Level.NAMESPACES).model_dump(mode="json")
    try:
        downgrade(database, "base")
        with pytest.raises(Reject) as rejected:
            record(hello)
        assert rejected.value.requeue
        upgrade(database)
        record(hello)
        with service.factory.begin() as session:
            assert session.get_one(NodeRow, "n").instance == "i"
    finally:
        service.engine.dispose()
        service.broker.close()
