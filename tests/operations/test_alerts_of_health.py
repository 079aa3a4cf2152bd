"""The health of recorder and beat is what they did a moment ago, not whether a server answers."""

from __future__ import annotations

import socket
import time

from stage import Stage

from app.storage.broker import ALIVE
from app.tasks.celery_app import Service, _give_sign_of_life
from app.tasks.health import SILENCE_SECONDS, problem_of


def test_a_recorder_is_healthy_after_it_reached_both_servers(stage: Stage) -> None:
    service = Service(
        celery=stage.broker.celery,
        settings=stage.settings,
        engine=stage.engine,
        broker=stage.broker,
        factory=stage.factory,
        senders={},
    )
    assert "no sign of life" in (problem_of(stage.settings, "recorder") or "")
    _give_sign_of_life(service)
    assert problem_of(stage.settings, "recorder") is None
    assert "beat" in (problem_of(stage.settings, "beat") or "")
    long_ago = time.time() - SILENCE_SECONDS - 5
    stage.broker.redis.hset(ALIVE, f"recorder@{socket.gethostname()}", str(long_ago))
    assert "silent" in (problem_of(stage.settings, "recorder") or "")
