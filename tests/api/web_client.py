"""The application in this process, before a real database and a real broker, with a stage on which tests
play the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from stage import Stage, result

from app.main import create_app
from app.runs.maintenance.tokens import Scope, create
from app.settings import ServiceSettings
from worker.contract import Outcome

BASE = "http://localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """A client, and what stands behind it."""

    application: FastAPI
    client: TestClient
    stage: Stage

    def token(self, *scopes: Scope) -> dict[str, str]:
        """The headers of a new token."""
        with self.stage.session() as session:
            made = create(session, name="test", scopes=scopes)
        return {"Authorization": f"Bearer {made.secret}"}

    def post(self, **body: Any) -> dict[str, Any]:
        """Submit; the run."""
        answer = self.client.post(
            "/api/v1/runs",
            json={"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom", **body},
        )
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def finish(self, run_id: str, *, outcome: Outcome = Outcome.RAISED, **more: Any) -> dict[str, Any]:
        """Let the node `n` do all attempts of all runs; the run."""
        for _ in range(10):
            self.stage.beat("n")
            attempts = self.stage.dispatch()
            if not attempts:
                break
            for attempt in attempts:
                self.stage.start(attempt, node="n")
                self.stage.say(result(attempt, node="n", outcome=outcome, **more))
        return dict(self.client.get(f"/api/v1/runs/{run_id}").json())


@contextmanager
def serving(settings: ServiceSettings) -> Iterator[Web]:
    """The application with these settings."""
    stage = Stage(settings)
    application = create_app(settings)
    try:
        with TestClient(application, base_url=BASE) as client:
            yield Web(application=application, client=client, stage=stage)
    finally:
        stage.close()
