"""The GitHub App of a stage, before a stand-in of GitHub."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from github_stand_in import APP, SECRET, Event, StandIn
from sqlalchemy import select, update
from stage import Stage, result

from app.clock import now
from app.judging.judgement import Verdict
from app.runs.github.receive import Receipt, take_event
from app.runs.github.work import GithubWork
from app.runs.maintenance.overrule import overrule_report
from app.settings import ServiceSettings
from app.storage.models import GithubDeliveryRow, GithubThreadRow, ReportRow
from worker.contract import Observation, Outcome

ISSUE = """It raises an error:

```python
raise RuntimeError('boom')
```

RuntimeError: boom
"""
HEAD = "0123456789abcdef0123456789abcdef01234567"
REPOSITORIES = """
[repositories."Octo/Numbers"]
presets = ["quick", "version"]
"""
CHECKS = 'base = "nightly"\nhead = "pr-{sha}"\n'


class App:
    """The App of a stage, and GitHub."""

    def __init__(self, stage: Stage, hub: StandIn, folder: Path) -> None:
        (folder / "key.pem").write_bytes(hub.pem())
        (folder / "secret").write_text(SECRET + "\n")
        self.list = folder / "repositories.toml"
        self.list.write_text(REPOSITORIES)
        facts: dict[str, Any] = {
            "github_app": APP,
            "github_key_file": folder / "key.pem",
            "github_secret_file": folder / "secret",
            "github_repositories": self.list,
            "github_url": hub.url,
            "public_url": "https://samehere.example",
        }
        self.stage, self.hub = stage, hub
        self.settings = ServiceSettings(
            database_url=stage.settings.reveal_database_url(),
            broker_url=stage.settings.reveal_broker_url(),
            **facts,
        )
        self.work = GithubWork(stage.factory, self.settings)

    def take(self, event: Event) -> Receipt:
        body, headers = event
        with self.stage.session() as session:
            return take_event(session, body, headers, settings=self.settings)

    def round(self, event: Event | None = None) -> None:
        """All that is due, now that the waits are over."""
        if event is not None:
            assert self.take(event).taken
        earlier = now() - timedelta(seconds=1)
        with self.stage.session() as session:
            for table in (GithubDeliveryRow, GithubThreadRow):
                session.execute(update(table).values(next_at=earlier))
        for _ in range(20):
            if not self.work.step():
                return
        raise AssertionError("the work does not end")

    def finish(self, outcomes: dict[str, Outcome] | None = None) -> None:
        """Let the nodes do all attempts: by toolchain, else with the claimed error."""
        for _ in range(20):
            for node in ("n", "m"):
                self.stage.beat(node)
            attempts = self.stage.dispatch()
            if not attempts:
                return
            for attempt in attempts:
                toolchain = attempt.toolchain
                node = "m" if toolchain.startswith("pr-") else "n"
                self.stage.start(attempt, node=node)
                outcome = (outcomes or {}).get(toolchain, Outcome.RAISED)
                fine = None if outcome is Outcome.RAISED else Observation(exit_status=0)
                self.stage.say(result(attempt, node=node, outcome=outcome, observation=fine))

    def overrule(self, verdict: Verdict) -> None:
        """A maintainer has another word on the one report."""
        with self.stage.session() as session:
            report_id = session.scalars(select(ReportRow.id)).one()
            overrule_report(session, report_id, verdict, reason="@octo see #1", who="ada")

    @property
    def outcomes(self) -> list[str | None]:
        with self.stage.session() as session:
            rows = session.scalars(select(GithubDeliveryRow).order_by(GithubDeliveryRow.created_at))
            return [row.outcome for row in rows]

    @property
    def states(self) -> list[str]:
        with self.stage.session() as session:
            return [row.state for row in session.scalars(select(GithubThreadRow))]
