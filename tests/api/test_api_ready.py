"""A service with a node of its own is ready once that node is known: what is submitted before could not be
planned.
"""

from __future__ import annotations

import time

import pytest
from running_web import web_of
from stage import Stage

pytestmark = pytest.mark.service


def test_ready_waits_for_the_services_own_node(stage: Stage) -> None:
    stage.node("other")
    with web_of(stage, awaited_node="local") as web:
        answer = web.client.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["code"] == "no_node"
        assert int(answer.headers["retry-after"]) > 0
        stage.node("local")
        assert web.client.get("/readyz").status_code == 200


def test_ready_waits_once(stage: Stage) -> None:
    """A node that goes later is no reason to refuse what its return will run."""
    with web_of(stage, awaited_node="local", node_absence_seconds=0.5) as web:
        # Only now, since the web may take longer to start than a node may be away.
        stage.node("local")
        assert web.client.get("/readyz").status_code == 200
        time.sleep(0.6)
        assert web.client.get("/readyz").status_code == 200


def test_ready_without_a_node_of_its_own(stage: Stage) -> None:
    with web_of(stage) as web:
        assert web.client.get("/readyz").status_code == 200
