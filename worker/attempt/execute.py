"""Runs one attempt in a sandbox, cold or warm, and gives its result."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from worker.attempt.identity import Identity
from worker.attempt.refusal import RefusedError, check_attempt, operator_reason
from worker.attempt.result import make_result, read_result
from worker.attempt.sandbox_job import apply_target, make_job
from worker.cards.hold import CardHold
from worker.cards.witness import Witness
from worker.contract import (
    Attempt,
    AttemptKind,
    Environment,
    Gpu,
    Outcome,
    Reason,
    Result,
    Start,
)
from worker.contract.names import CARD_NOT_FREE
from worker.contract.target_settings import HASH_SEED, AppliedSettings, SettingError, check_in_force
from worker.environment import EnvironmentRecorder
from worker.environment.capture import ProbeFailedError
from worker.machine import attempt_variables
from worker.sandbox import Answer, Gate, Sandbox, SandboxJob, SandboxResult
from worker.sandbox.isolation import gpu
from worker.toolchains import CancelledError, Toolchain, ToolchainError, ToolchainStore
from worker.toolchains.default_choice import choose_default, store_default
from worker.toolchains.demand import MissingPackageError, OnDemand
from worker.warm import WarmRun, WarmStarts

_log = structlog.get_logger(__name__)
# The pause between two looks whether cards are free.
_TRY_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class _ReadyAttempt:
    """An attempt with all that it needs to run. `cards` is the number of cards that it was granted."""

    attempt: Attempt
    sandbox: Sandbox
    cancelled: threading.Event
    job: SandboxJob
    toolchain: Toolchain
    cards: int
    environment: Environment
    hash_seed: str
    witness: Witness | None
    # The cards that it gets at its first touch of them. None if it has them already, or has none.
    hold: CardHold | None

    def watch_cards(self) -> AbstractContextManager[None]:
        if self.witness is None:
            return nullcontext()
        return self.witness.watch(None if self.hold is None else self.hold.taken)

    def make_gate(self) -> Gate | None:
        """The gate of one run of the job."""
        if self.hold is None:
            return None
        return Gate(gpu.nodes(self.job.devices), self.hold, most_seconds=self.hold.most_seconds)


class Executor:
    """Runs attempts for all slots of a process. Each slot brings its own sandbox.

    `variables` are set in every attempt. Without `warm` every attempt starts cold, and without `on_demand` no
    toolchain is built for an attempt. `note` is the file that names the last toolchain for the next start of
    the node.
    """

    def __init__(
        self,
        identity: Identity,
        toolchains: ToolchainStore,
        environments: EnvironmentRecorder,
        *,
        variables: Mapping[str, str] | None = None,
        warm: WarmStarts | None = None,
        note: Path | None = None,
        on_demand: OnDemand | None = None,
    ) -> None:
        self._identity = identity
        self._variables = variables or {}
        self._toolchains = toolchains
        self._environments = environments
        self._warm = warm
        self._note = note
        self._on_demand = on_demand

    def execute(
        self,
        attempt: Attempt,
        sandbox: Sandbox,
        *,
        granted: Sequence[Gpu],
        cancelled: threading.Event,
        witness: Witness | None = None,
        hold: CardHold | None = None,
    ) -> Result:
        """Run the attempt on the granted cards. An attempt that can't be set up has the outcome SETUP_FAILED.

        `witness` watches the granted cards. Without one, only the attempt's own processes report where they
        computed. With `hold`, the attempt gets the cards at its first touch of them.
        """
        try:
            check_attempt(attempt, sandbox, granted=granted)
            self._build_toolchain(attempt, cancelled)
            with self._toolchains.use(attempt.toolchain) as toolchain:
                return self._execute(
                    attempt,
                    sandbox,
                    toolchain,
                    granted=granted,
                    cancelled=cancelled,
                    witness=witness,
                    hold=hold,
                )
        except CancelledError:
            return self.without_run(
                attempt, Outcome.CANCELLED, Reason(code="cancelled", detail="Somebody stopped it.")
            )
        except RefusedError as refusal:
            return self.without_run(attempt, Outcome.SETUP_FAILED, refusal.reason)

    def without_run(self, attempt: Attempt, outcome: Outcome, reason: Reason) -> Result:
        """The result of an attempt whose script never started."""
        return make_result(self._identity, attempt, outcome, reason)

    def prepare(self, sandbox: Sandbox, *, ending: Callable[[], bool]) -> None:
        """Prepare the next warm start until `ending` is true. Called between attempts, by the slot."""
        if self._warm is None:
            return
        first = self._first_job() if self._warm.latest is None else None
        if first is None:
            self._warm.prepare(sandbox, ending=ending)
            return
        self._warm.remember(*first)
        # This starts the imports of an interpreter and does not wait for their end.
        self._warm.prepare(sandbox, ending=lambda: True)
        # Meanwhile record the environment: a node that had no attempt yet has nothing else to do.
        job, toolchain = first
        try:
            self._environments.record(job, sandbox, toolchain=toolchain, granted=())
        except ProbeFailedError as error:
            # The first attempt tries again, and names this as its reason if it fails too.
            _log.warning("probe_failed", detail=str(error))
        self._warm.prepare(sandbox, ending=ending)

    def _first_job(self) -> tuple[SandboxJob, Toolchain] | None:
        """The job to prepare for before the first attempt: of the noted toolchain or the newest torch."""
        toolchain = choose_default(self._toolchains, note=self._note)
        if toolchain is None:
            return None
        attempt = Attempt(attempt_id="", script="", toolchain=toolchain.name)
        variables = {**self._variables, HASH_SEED: "0"}
        return make_job(attempt, toolchain, harness={}, granted=(), variables=variables), toolchain

    def _build_toolchain(self, attempt: Attempt, cancelled: threading.Event) -> None:
        """Build the toolchain if it is built on demand.

        A preview does not wait for that. Raises RefusedError.
        """
        if self._on_demand is None or attempt.kind is AttemptKind.PREVIEW:
            return
        try:
            self._on_demand.provide(attempt.toolchain, cancelled=cancelled)
        except MissingPackageError as error:
            raise RefusedError(operator_reason("missing_package", str(error))) from error
        except ToolchainError as error:
            raise RefusedError(operator_reason("toolchain_failed", str(error))) from error

    def _execute(
        self,
        attempt: Attempt,
        sandbox: Sandbox,
        toolchain: Toolchain | None,
        *,
        granted: Sequence[Gpu],
        cancelled: threading.Event,
        witness: Witness | None,
        hold: CardHold | None,
    ) -> Result:
        if toolchain is None:
            raise RefusedError(operator_reason("unknown_toolchain", "This node does not have the toolchain."))
        applied = apply_target(attempt, sandbox, toolchain)
        # Unless the target fixes it, the seed is random. It is recorded so that a result that depends on hash
        # order can be repeated.
        hash_seed = applied.variables.get(HASH_SEED) or str(1 + secrets.randbelow(2**32 - 1))
        # The target's settings win over the operator's variables.
        variables = {**self._variables, **applied.variables, HASH_SEED: hash_seed}
        job = make_job(attempt, toolchain, harness=applied.harness, granted=granted, variables=variables)
        job = replace(job, gated=hold is not None)
        self._remember_job(job, toolchain, applied)
        cold_reason = self._why_cold(attempt, toolchain, applied)
        if cold_reason is not None and attempt.kind is AttemptKind.PREVIEW:
            return self._without_preview(attempt, cold_reason)
        ready = _ReadyAttempt(
            attempt,
            sandbox,
            cancelled,
            job,
            toolchain,
            len(granted),
            self._record_environment(
                attempt, job, sandbox, toolchain, granted=granted, hold=hold, cancelled=cancelled
            ),
            hash_seed,
            witness,
            hold,
        )
        if attempt.start is not Start.WARM or self._warm is None or cold_reason is not None:
            return self._run_cold(ready, reason=cold_reason)
        if attempt.kind is AttemptKind.PREVIEW:
            return self._run_preview(ready, self._warm)
        return self._run_warm(ready, self._warm)

    def _record_environment(
        self,
        attempt: Attempt,
        job: SandboxJob,
        sandbox: Sandbox,
        toolchain: Toolchain,
        *,
        granted: Sequence[Gpu],
        hold: CardHold | None,
        cancelled: threading.Event,
    ) -> Environment:
        """The environment of the job, with the operator's variables.

        Raises RefusedError, also if one of the target's settings is not in force in it, and CancelledError.
        """

        def is_known() -> bool:
            return self._environments.knows(job, toolchain=toolchain, granted=granted)

        if hold is not None and not is_known():
            # The probe uses the cards. Take them before the wait for another probe, whose attempt may have
            # cards and wait for nothing more.
            _await_cards(hold, cancelled, unless=is_known)
        try:
            environment = self._environments.record(job, sandbox, toolchain=toolchain, granted=granted)
            check_in_force(attempt.settings, environment)
        except ProbeFailedError as error:
            raise RefusedError(operator_reason("probe_failed", str(error))) from error
        except SettingError as error:
            raise RefusedError(error.reason) from error
        finally:
            if hold is not None:
                # The imports of the attempt itself need no card.
                hold.put_back()
        return {**attempt_variables.environment_fields(self._variables), **environment}

    def _run_cold(self, ready: _ReadyAttempt, *, reason: Reason | None = None) -> Result:
        """`reason` says why an attempt that asked for a warm start has a cold one."""
        with ready.watch_cards():
            sandbox_result = ready.sandbox.run(ready.job, cancelled=ready.cancelled, gate=ready.make_gate())
        result = self._read(ready, sandbox_result, hash_seed=ready.hash_seed)
        if self._warm is not None:
            self._warm.audit_preview(result, script=ready.attempt.script, toolchain=ready.toolchain)
        return result if reason is None else result.model_copy(update={"start_reason": reason})

    def _run_warm(self, ready: _ReadyAttempt, warm: WarmStarts) -> Result:
        """Run an attempt from a paused interpreter, or cold if that is not possible.

        It may share its card. The driver then lists the processes of others on it too, so only its own
        processes say where they computed.
        """
        alone, hold = ready, ready.hold
        if hold is not None and hold.share():
            ready = replace(ready, witness=None)
        with ready.watch_cards():
            run = warm.run(
                ready.job,
                ready.sandbox,
                toolchain=ready.toolchain,
                cancelled=ready.cancelled,
                gate=ready.make_gate(),
            )
        result = run if isinstance(run, Reason) else self._read_warm(ready, run)
        is_cold_next = isinstance(result, Reason) or warm.is_to_audit()
        if hold is not None and is_cold_next:
            # The cold start has the card alone.
            hold.end_sharing()
        if isinstance(result, Reason):
            return self._run_cold(alone, reason=result)
        if is_cold_next:
            cold_result = self._run_cold(alone)
            return warm.audit(result, cold_result, script=ready.attempt.script, toolchain=ready.toolchain)
        return result

    def _run_preview(self, ready: _ReadyAttempt, warm: WarmStarts) -> Result:
        """Run a preview in an interpreter that is ready. No preview without one, or if it takes long.

        It may share its card, as it never counts.
        """
        if ready.hold is not None and ready.hold.share():
            ready = replace(ready, witness=None)
        with ready.watch_cards():
            run = warm.run(
                ready.job,
                ready.sandbox,
                toolchain=ready.toolchain,
                cancelled=ready.cancelled,
                gate=ready.make_gate(),
                only_ready=True,
            )
        if isinstance(run, Reason):
            return self._without_preview(ready.attempt, run)
        result = self._read_warm(ready, run)
        if result.outcome is Outcome.TIMED_OUT:
            return self._without_preview(
                ready.attempt,
                Reason(code="takes_long", detail="The script runs longer than a preview may take."),
            )
        warm.store_preview(result, script=ready.attempt.script, toolchain=ready.toolchain)
        return result

    def _read_warm(self, ready: _ReadyAttempt, run: WarmRun) -> Result:
        result = self._read(ready, run.result, hash_seed=run.hash_seed)
        is_shared = ready.hold is not None and ready.hold.is_shared
        observation = result.observation.model_copy(update={"card_shared": is_shared})
        return result.model_copy(update={"start": Start.WARM, "observation": observation})

    def _read(self, ready: _ReadyAttempt, result: SandboxResult, *, hash_seed: str) -> Result:
        return read_result(
            self._identity,
            ready.attempt,
            result,
            cards=ready.cards,
            witness=ready.witness,
            hash_seed=hash_seed,
            environment=ready.environment,
        )

    def _why_cold(self, attempt: Attempt, toolchain: Toolchain, applied: AppliedSettings) -> Reason | None:
        """The reason against a warm start. None if the attempt may start warm, or did not ask for it."""
        if attempt.start is not Start.WARM:
            return None
        if self._warm is None:
            return operator_reason("switched_off", "This node has no warm starts.")
        if "trace" in applied.harness:
            return Reason(code="settings", detail="operations are traced from the import of torch on")
        if "fix" in attempt.settings:
            return Reason(code="settings", detail="the target fixes a source of variation from the start on")
        return self._warm.why_cold(attempt.script, toolchain=toolchain, variables=applied.variables)

    def _without_preview(self, attempt: Attempt, reason: Reason) -> Result:
        """A preview that can't start warm is not run: a counted attempt would be as fast."""
        result = self.without_run(attempt, Outcome.SETUP_FAILED, reason)
        return result.model_copy(update={"start_reason": reason})

    def _remember_job(self, job: SandboxJob, toolchain: Toolchain, applied: AppliedSettings) -> None:
        """Prepare the next warm start for a job like this one, if such a job can start warm."""
        if self._warm is None or toolchain.facts.torch is None or applied.variables:
            return
        before = self._warm.latest
        if self._note is not None and (before is None or before[1].name != toolchain.name):
            store_default(self._note, toolchain)
        self._warm.remember(replace(job, files={}), toolchain)


def _await_cards(hold: CardHold, cancelled: threading.Event, *, unless: Callable[[], bool]) -> None:
    """Wait until an attempt has its cards, or needs them no longer.

    Raises CancelledError, and RefusedError if it can't have them.
    """
    began = time.monotonic()
    while (answer := hold.touch()) is Answer.WAIT and time.monotonic() - began < hold.most_seconds:
        if unless():
            hold.leave()
            return
        if cancelled.wait(_TRY_SECONDS):
            hold.leave()
            raise CancelledError
    if answer is not Answer.OPEN:
        hold.leave()
        raise RefusedError(
            operator_reason(CARD_NOT_FREE, "The GPU was not free while the environment was to be recorded.")
        )
