"""After kill -9 of any process, a run of thirty attempts ends with thirty results and a verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from chaos_service import Whole, assert_thirty, eventually, one_job, thirty_jobs
from running_service import is_ready

pytestmark = [pytest.mark.service, pytest.mark.sandbox]

PARTS = {
    "node": "worker node",
    "recorder": "app.tasks worker",
    "broker": "valkey-server",
    "database": "bin/postgres",
    "web": "app.serve.web",
    "beat": "app.tasks beat",
}


def _until_the_middle(whole: Whole, run_id: str) -> None:
    whole.until_recorded(run_id, 5)
    assert whole.recorded(run_id) < 25


@pytest.mark.parametrize(
    ("part", "body"),
    [
        ("node", thirty_jobs),
        ("node", one_job),
        ("recorder", thirty_jobs),
        ("broker", thirty_jobs),
        ("database", one_job),
    ],
)
def test_a_part_is_killed_in_the_middle(whole: Whole, part: str, body: Callable[[], dict[str, Any]]) -> None:
    run_id = whole.submit(body())
    _until_the_middle(whole, run_id)
    whole.kill(PARTS[part])
    assert_thirty(whole, run_id)
    assert eventually(lambda: is_ready(whole.url), seconds=60)


def test_web_and_beat_are_killed_in_the_middle(whole: Whole) -> None:
    run_id = whole.submit(thirty_jobs())
    _until_the_middle(whole, run_id)
    whole.kill(PARTS["web"])
    whole.kill(PARTS["beat"])
    assert_thirty(whole, run_id)
