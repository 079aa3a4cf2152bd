"""Says if a node is alive, for the health check of its container or unit."""

from __future__ import annotations

import redis
from pydantic import ValidationError

from worker.contract import Heartbeat
from worker.contract.names import heartbeat_key
from worker.machine.broker import connect
from worker.machine.settings import NodeSettings


def problem_of(settings: NodeSettings) -> str | None:
    """The reason why the node of these settings counts as dead; None if its heartbeat is on the broker."""
    broker = connect(settings.reveal_broker_url())
    try:
        beat = broker.get(heartbeat_key(settings.node_name))
    except redis.RedisError as error:
        return f"the broker does not answer ({type(error).__name__})"
    finally:
        broker.close()
    if beat is None:
        return f"the broker has no heartbeat of the node {settings.node_name}"
    try:
        Heartbeat.model_validate_json(str(beat))
    except ValidationError:
        return f"the heartbeat of the node {settings.node_name} can't be read"
    return None
