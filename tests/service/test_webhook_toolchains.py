"""Fixed in X: one message for each open report that a new toolchain fixes or regresses, and silence else."""

from __future__ import annotations

import json
from typing import Any

from numpy_versions import finish, report, say_hello, send
from sqlalchemy import select
from stage import Stage

from app.runs.maintenance.triage import close_report
from app.runs.submission.scheduled_reruns import rerun_round
from app.runs.webhooks.subscriptions import add_webhook
from app.storage.models import WebhookDeliveryRow

BROKEN = {"1.26.4": False, "2.0.0": False, "2.1.0": True, "2.2.0": False}


def subscribe(stage: Stage, *events: str) -> None:
    with stage.session() as session:
        add_webhook(
            session,
            "https://bot.example/",
            owner=None,
            events=events,
            scheme="hmac",
            settings=stage.settings,
        )


def events(stage: Stage) -> list[dict[str, Any]]:
    with stage.session() as session:
        rows = session.scalars(select(WebhookDeliveryRow).order_by(WebhookDeliveryRow.id))
        return [json.loads(row.body) for row in rows]


def bring(stage: Stage, *versions: str) -> None:
    """A node offers one more version; the service reruns the reports and the node does the work."""
    say_hello(stage, *versions)
    rerun_round(stage.factory, settings=stage.settings)
    finish(stage, BROKEN)


def test_a_version_that_regresses_and_one_that_fixes_are_one_message_each(stage: Stage) -> None:
    subscribe(stage, "report.fixed", "report.regressed")
    say_hello(stage, "1.26.4", "2.0.0")
    report_id = send(stage, "2.0.0")
    finish(stage, BROKEN)
    bring(stage, "1.26.4", "2.0.0")
    assert events(stage) == []
    bring(stage, "1.26.4", "2.0.0", "2.1.0")
    (event,) = events(stage)
    assert event["type"] == "report.regressed"
    facts = event["data"]
    assert (facts["report"], facts["package"], facts["older"], facts["newer"]) == (
        report_id,
        "numpy",
        "2.0.0",
        "2.1.0",
    )
    bring(stage, "1.26.4", "2.0.0", "2.1.0", "2.2.0")
    assert [event["type"] for event in events(stage)] == ["report.regressed", "report.fixed"]
    assert events(stage)[1]["data"]["newer"] == "2.2.0"
    # The same toolchain from another node is no news.
    say_hello(stage, "1.26.4", "2.0.0", "2.1.0", "2.2.0", node="n2")
    rerun_round(stage.factory, settings=stage.settings)
    assert len(events(stage)) == 2


def test_a_closed_report_and_a_run_of_the_submitter_are_no_news(stage: Stage) -> None:
    subscribe(stage, "report.fixed", "report.regressed")
    say_hello(stage, "2.0.0", "2.1.0")
    report_id = send(stage, "2.0.0", "2.1.0")
    finish(stage, BROKEN)
    assert report(stage, report_id).verdict == "reproduced"
    with stage.session() as session:
        close_report(session, report_id, duplicate_of=None, reason="done", who="ada")
    bring(stage, "2.0.0", "2.1.0", "2.2.0")
    assert events(stage) == []


def test_a_changed_verdict_is_news_of_its_own(stage: Stage) -> None:
    subscribe(stage, "report.changed")
    say_hello(stage, "2.0.0")
    report_id = send(stage, "2.0.0")
    finish(stage, BROKEN)
    assert events(stage) == []
    bring(stage, "2.0.0", "2.1.0")
    assert [(event["data"]["report"], event["data"]["after"]) for event in events(stage)] == [
        (report_id, "reproduced")
    ]
