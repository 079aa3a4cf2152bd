"""Computes the digests of streams and values ourselves where a node sent them whole."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from worker.contract import CapturedValue, Observation


def with_digests(observation: Observation) -> Observation:
    """The observation with computed digests.

    Those of cut streams and values stay: only the node has seen all of them.
    """
    update: dict[str, Any] = {"values": [_with_digest(value) for value in observation.values]}
    for stream in ("stdout", "stderr"):
        text = getattr(observation, stream)
        data = text.encode(errors="replace")
        # A sign that can't be stored, of one byte, became a mark of three.
        more = len(data) - getattr(observation, f"{stream}_bytes")
        if 0 <= more <= 2 * text.count("\ufffd"):
            prefix = "sha256:" if getattr(observation, f"{stream}_digest").startswith("sha256:") else ""
            update[f"{stream}_digest"] = prefix + hashlib.sha256(data).hexdigest()
    return observation.model_copy(update=update)


def _with_digest(value: CapturedValue) -> CapturedValue:
    """The value with a computed digest. Data that is no base64 is removed."""
    try:
        data = base64.b64decode(value.data, validate=True)
    except ValueError:
        return value.model_copy(update={"data": ""})
    return (
        value.model_copy(update={"digest": f"sha256:{hashlib.sha256(data).hexdigest()}"}) if data else value
    )
