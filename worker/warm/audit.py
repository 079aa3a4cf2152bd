"""A sample of warm attempts is run cold as well; where the two ever disagreed, this node starts that script cold from then on."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

from worker.contract import Result

_PARTS = 1_000_000
# Of ours, not of the script: no disagreement.


class Audit:
    """Several processes may share one folder; what is in it stays."""

    def __init__(self, folder: Path, *, share: float) -> None:
        self._folder = folder
        self._share = share

    def is_due(self) -> bool:
        """Whether this attempt is of the sample: unpredictable, since the script's author could else be prepared."""
        return secrets.randbelow(_PARTS) < self._share * _PARTS

    def distrusts(self, script: str, build_id: str) -> bool:
        return self._path(script, build_id).exists()

    def agree(self, warm: Result, cold: Result) -> bool:
        """An attempt without a seed never agrees with another: it loses its warm starts, and nothing else."""
        if not (warm.outcome.is_evidence and cold.outcome.is_evidence):
            return True
        return _shown(warm) == _shown(cold)

    def note(self, script: str, build_id: str) -> None:
        """They disagreed."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path(script, build_id).touch()

    def _path(self, script: str, build_id: str) -> Path:
        return (
            self._folder
            / hashlib.sha256(f"{build_id}\0{script}".encode("utf-8", "surrogatepass")).hexdigest()
        )


def _shown(result: Result) -> tuple[object, ...]:
    seen = result.observation
    return (
        result.outcome,
        seen.exit_status,
        seen.signal,
        seen.exception,
        seen.stdout_digest,
        seen.stderr_digest,
    )
