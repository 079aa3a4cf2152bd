"""One attempt from a paused interpreter, or the reason why it has to start cold."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from worker.contract import Reason, Result
from worker.machine.settings import NodeSettings
from worker.observation.harness_report import read_report
from worker.sandbox import Ending, Sandbox, SandboxJob, SandboxResult
from worker.toolchains import Toolchain
from worker.warm.audit import Audit
from worker.warm.eligibility import why_cold
from worker.warm.pool import HASH_SEED, Loan, NotWarmError, WarmPool

# As in the harness: of the script's own process. Its report may be lost in what the script wrote there.
TRIPPED = 121
_log = structlog.get_logger(__name__)
# Previews that wait to be compared with a cold attempt.
_MOST_KEPT = 16


@dataclass(frozen=True, slots=True)
class WarmRun:
    """What became of a job that did start warm, and the hash seed that it shared with others."""

    result: SandboxResult
    hash_seed: str


class WarmStarts:
    """One per node process."""

    def __init__(self, pool: WarmPool, audit: Audit) -> None:
        self._pool = pool
        self._audit = audit
        # A job like the last one that could have started warm, and its toolchain: what a slot has ready for the next one.
        self.latest: tuple[SandboxJob, Toolchain] | None = None
        self._shown: OrderedDict[tuple[str, str], Result] = OrderedDict()

    def why_cold(self, script: str, *, toolchain: Toolchain, variables: Mapping[str, str]) -> Reason | None:
        """What stands against a warm start, as far as it is known before; None when nothing does."""
        reason = why_cold(script, toolchain=toolchain.facts, variables=variables)
        if reason is None and self._audit.distrusts(script, toolchain.build_id):
            return Reason(
                code="audit",
                detail="on this node a warm start of this script once showed something else than a cold one",
            )
        return reason

    def run(
        self,
        job: SandboxJob,
        sandbox: Sandbox,
        *,
        toolchain: Toolchain,
        cancelled: threading.Event,
        only_ready: bool = False,
    ) -> WarmRun | Reason:
        """In the slot's thread. A run that turned out to differ from a cold one is discarded: it left nothing behind."""
        try:
            with self._pool.lend(sandbox, job, build=toolchain.build_id, only_ready=only_ready) as loan:
                result = _run(loan, sandbox, cancelled)
        except NotWarmError as error:
            if not only_ready:
                _log.warning("not_warm", detail=str(error), slot=sandbox.slot)
            return Reason(
                code="unavailable", detail="no paused interpreter could be had; the node's log says why"
            )
        if result.ending is Ending.EXITED and (
            result.exit_status == TRIPPED or read_report(result.report).tripped
        ):
            return Reason(
                code="tripwire",
                detail="while it ran, the script did what a warm start would have been too late for",
            )
        return WarmRun(result, loan.job.variables[HASH_SEED])

    def prepare(self, sandbox: Sandbox, *, ending: Callable[[], bool]) -> None:
        """In the slot's thread, between two jobs: have an interpreter ready for another job like the latest, unless it is `ending`."""
        if self.latest is None:
            return
        job, toolchain = self.latest
        try:
            self._pool.prepare(sandbox, job, build=toolchain.build_id, ending=ending)
        except NotWarmError as error:
            _log.debug("not_prepared", detail=str(error), slot=sandbox.slot)

    def is_to_audit(self) -> bool:
        return self._audit.is_due()

    def audit(self, warm: Result, cold: Result, *, script: str, toolchain: Toolchain) -> Result:
        """The warm result where a cold one agrees, else the cold one."""
        if self._audit.agree(warm, cold):
            return warm
        _log.warning("warm_start_disagreed", attempt_id=warm.attempt_id)
        self._audit.note(script, toolchain.build_id)
        return cold.model_copy(
            update={"start_reason": Reason(code="audit", detail="a warm start of it showed something else")}
        )

    def keep_for_audit(self, warm: Result, *, script: str, toolchain: Toolchain) -> None:
        """A preview is not held up by an audit: it is compared with a cold attempt of the script that comes after it."""
        if not self._audit.is_due():
            return
        self._shown[script, toolchain.build_id] = warm
        if len(self._shown) > _MOST_KEPT:
            self._shown.popitem(last=False)

    def audit_kept(self, cold: Result, *, script: str, toolchain: Toolchain) -> None:
        """Compare a cold attempt with the preview of the same script, where one is to be audited."""
        warm = self._shown.pop((script, toolchain.build_id), None)
        if warm is not None:
            self.audit(warm, cold, script=script, toolchain=toolchain)

    def close(self) -> None:
        self._pool.close()


def _run(loan: Loan, sandbox: Sandbox, cancelled: threading.Event) -> SandboxResult:
    """Raise NotWarmError when the program did not start, so that the interpreter is not used again."""
    result = sandbox.run(loan.job, cancelled=cancelled, backend=loan.zygote)
    if result.ending is Ending.SETUP_FAILED:
        raise NotWarmError(result.detail)
    return result


def make_warm_starts(settings: NodeSettings) -> WarmStarts | None:
    """As the node's settings say; None where they say not at all."""
    if not settings.warm:
        return None
    pool = WarmPool(
        memory_bytes=settings.warm_memory_bytes, jobs=settings.warm_jobs, seconds=settings.warm_seconds
    )
    return WarmStarts(pool, Audit(settings.cache_folder / "warm-distrusted", share=settings.warm_audit_share))
