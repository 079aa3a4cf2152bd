"""The target and the reason of single jobs, as the run object of their run has them.

All that reads jobs without their run object (matrix, history, attempts, comparisons) reads them here, so that
no words of a bundle get beside our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from app.runs.run_object.contributed_names import plain_names, plain_reason, rename_toolchain
from app.storage.queries import runs as queries
from app.targets.target import Target
from worker.contract import Reason
from worker.contract.stored_message import read_stored


class Cells:
    """Reads the jobs of some runs. `run_ids` may name runs of our own nodes too."""

    def __init__(self, session: Session, run_ids: Iterable[str]) -> None:
        by_run: dict[str, list[str]] = {}
        for run_id, toolchain in queries.contributed_toolchains(session, set(run_ids)):
            by_run.setdefault(run_id, []).append(toolchain)
        # The names of a run depend on all its jobs. Runs of our own nodes have none.
        self._names = {run_id: plain_names(toolchains) for run_id, toolchains in by_run.items()}

    def target(self, run_id: str, stored: Mapping[str, Any]) -> Target:
        """The target of a job of this run. `stored` is its JSON data."""
        return rename_toolchain(Target.model_validate(stored), self._names.get(run_id, {}))

    def reason(self, run_id: str, stored: Any) -> Reason | None:
        """The reason of a job or an attempt of this run. `stored` is its JSON data, None without a reason."""
        reason = None if stored is None else read_stored(Reason, stored)
        return plain_reason(reason) if run_id in self._names else reason
