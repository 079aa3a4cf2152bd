"""Checks a sample of warm attempts against cold ones.

If they disagree, this node always starts that script cold.
"""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

from worker.contract import Result

_PARTS = 1_000_000


class Audit:
    """The record of disagreements, in a folder that several processes may share.

    `share`: the part of warm attempts to check, from 0 to 1.
    """

    def __init__(self, folder: Path, *, share: float) -> None:
        self._folder = folder
        self._share = share

    def is_due(self) -> bool:
        """Whether to check this attempt. Random, so that a script's author can't prepare for it."""
        return secrets.randbelow(_PARTS) < self._share * _PARTS

    def distrusts(self, script: str, build_id: str) -> bool:
        """Whether warm and cold attempts of the script have disagreed in this build of a toolchain."""
        return self._path(script, build_id).exists()

    def agree(self, warm: Result, cold: Result) -> bool:
        """Whether two attempts of a script had the same output and end; True if one shows nothing.

        Without a seed, two attempts may differ anyway: such a script only loses its warm starts.
        """
        if not (warm.outcome.is_evidence and cold.outcome.is_evidence):
            return True
        return _visible_facts(warm) == _visible_facts(cold)

    def record_disagreement(self, script: str, build_id: str) -> None:
        """Start the script cold from now on in this build of a toolchain."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path(script, build_id).touch()

    def _path(self, script: str, build_id: str) -> Path:
        return (
            self._folder
            / hashlib.sha256(f"{build_id}\0{script}".encode("utf-8", "surrogatepass")).hexdigest()
        )


def _visible_facts(result: Result) -> tuple[object, ...]:
    observation = result.observation
    return (
        result.outcome,
        observation.exit_status,
        observation.signal,
        observation.exception,
        observation.stdout_digest,
        observation.stderr_digest,
    )
