"""Runs one attempt from a paused interpreter, or gives the reason why it must start cold."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from worker.contract import Reason, Result
from worker.machine.settings import NodeSettings
from worker.observation.harness_report import read_report
from worker.sandbox import Ending, Gate, Sandbox, SandboxJob, SandboxResult
from worker.toolchains import Toolchain
from worker.warm.audit import Audit
from worker.warm.eligibility import why_cold
from worker.warm.pool import HASH_SEED, Loan, NotWarmError, WarmPool

# The exit status of a script's process that the tripwire ended; `worker/harness/tripwire.py` has the same
# number. The script may have filled the report channel, so that the line `tripped` is lost.
TRIPPED = 121
_log = structlog.get_logger(__name__)
# Previews that are stored until a cold attempt of their script comes.
_MOST_PREVIEWS = 16


@dataclass(frozen=True, slots=True)
class WarmRun:
    """The result of a job that started warm, and its hash seed, which other jobs may share."""

    result: SandboxResult
    hash_seed: str


class WarmStarts:
    """The warm starts of one node process."""

    def __init__(self, pool: WarmPool, audit: Audit) -> None:
        self._pool = pool
        self._audit = audit
        # The last jobs that could start warm, one with cards and one without, with their toolchains; the
        # newest comes last. Places prepare interpreters for jobs like them.
        self._latest: dict[bool, tuple[SandboxJob, Toolchain]] = {}
        self._previews: OrderedDict[tuple[str, str], Result] = OrderedDict()

    @property
    def latest(self) -> tuple[SandboxJob, Toolchain] | None:
        """The last job that could start warm, and its toolchain."""
        return next(reversed(list(self._latest.values())), None)

    def remember(self, job: SandboxJob, toolchain: Toolchain) -> None:
        """Prepare the next interpreters for jobs like this one, and like the last one of the other kind."""
        has_cards = bool(job.devices)
        self._latest = {kind: other for kind, other in self._latest.items() if kind != has_cards}
        self._latest[has_cards] = (job, toolchain)

    def why_cold(self, script: str, *, toolchain: Toolchain, variables: Mapping[str, str]) -> Reason | None:
        """The reason against a warm start that is known before the attempt, or None."""
        reason = why_cold(script, toolchain=toolchain.facts, variables=variables)
        if reason is None and self._audit.distrusts(script, toolchain.build_id):
            return Reason(
                code="audit",
                detail="on this node, a warm start of this script once had other results than a cold one",
            )
        return reason

    def run(
        self,
        job: SandboxJob,
        sandbox: Sandbox,
        *,
        toolchain: Toolchain,
        cancelled: threading.Event,
        gate: Gate | None = None,
        only_ready: bool = False,
    ) -> WarmRun | Reason:
        """Run a job warm, in the slot's thread, or give the reason why it must start cold.

        A job that the tripwire ended is discarded; it left no traces. `only_ready`: don't start an
        interpreter now.
        """
        try:
            with self._pool.lend(sandbox, job, build=toolchain.build_id, only_ready=only_ready) as loan:
                result = _run(loan, sandbox, cancelled, gate)
        except NotWarmError as error:
            if not only_ready:
                _log.warning("not_warm", detail=str(error), slot=sandbox.slot)
            return Reason(
                code="unavailable", detail="no paused interpreter was available; the node's log says why"
            )
        if result.ending is Ending.EXITED and (
            result.exit_status == TRIPPED or read_report(result.report).tripped
        ):
            return Reason(
                code="tripwire",
                detail="while it ran, the script did something that a warm start is too late for",
            )
        return WarmRun(result, loan.job.variables[HASH_SEED])

    def prepare(self, sandbox: Sandbox, *, ending: Callable[[], bool]) -> None:
        """Prepare interpreters for more jobs like the latest ones, in the slot's thread between two jobs.

        The newest comes first. Stops waiting when `ending` returns True.
        """
        for job, toolchain in reversed(list(self._latest.values())):
            try:
                self._pool.prepare(sandbox, job, build=toolchain.build_id, ending=ending)
            except NotWarmError as error:
                _log.debug("not_prepared", detail=str(error), slot=sandbox.slot)
            if ending():
                return

    def is_to_audit(self) -> bool:
        """Whether to run this warm attempt cold as well."""
        return self._audit.is_due()

    def audit(self, warm: Result, cold: Result, *, script: str, toolchain: Toolchain) -> Result:
        """The warm result if the cold one agrees, else the cold one."""
        if self._audit.agree(warm, cold):
            return warm
        _log.warning("warm_start_disagreed", attempt_id=warm.attempt_id)
        self._audit.record_disagreement(script, toolchain.build_id)
        return cold.model_copy(
            update={"start_reason": Reason(code="audit", detail="a warm start of it had other results")}
        )

    def store_preview(self, warm: Result, *, script: str, toolchain: Toolchain) -> None:
        """Store a preview, if it is in the sample, until a cold attempt of the script comes."""
        if not self._audit.is_due():
            return
        self._previews[script, toolchain.build_id] = warm
        if len(self._previews) > _MOST_PREVIEWS:
            self._previews.popitem(last=False)

    def audit_preview(self, cold: Result, *, script: str, toolchain: Toolchain) -> None:
        """Compare a cold attempt with the stored preview of the same script, if there is one."""
        warm = self._previews.pop((script, toolchain.build_id), None)
        if warm is not None:
            self.audit(warm, cold, script=script, toolchain=toolchain)

    def close(self) -> None:
        self._pool.close()


def _run(loan: Loan, sandbox: Sandbox, cancelled: threading.Event, gate: Gate | None) -> SandboxResult:
    """Run the job. Raises NotWarmError if it did not start, so that its interpreter ends."""
    result = sandbox.run(loan.job, cancelled=cancelled, backend=loan.zygote, gate=gate)
    if result.ending is Ending.SETUP_FAILED:
        raise NotWarmError(result.detail)
    return result


def make_warm_starts(settings: NodeSettings) -> WarmStarts | None:
    """The warm starts that the node's settings ask for; None if they switch them off."""
    if not settings.warm:
        return None
    pool = WarmPool(
        memory_bytes=settings.warm_memory_bytes, jobs=settings.warm_jobs, seconds=settings.warm_seconds
    )
    return WarmStarts(pool, Audit(settings.cache_folder / "warm-distrusted", share=settings.warm_audit_share))
