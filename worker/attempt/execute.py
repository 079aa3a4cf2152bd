"""One attempt to one result: refuse what this node can't do, run the rest in the sandbox, say what was seen."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from worker.cards.nvml import device_nodes
from worker.cards.witness import Witness
from worker.contract import (
    CONTRACT_VERSION,
    Attempt,
    AttemptKind,
    Environment,
    ExceptionFacts,
    Gpu,
    Level,
    Limits,
    Observation,
    Outcome,
    Reason,
    Result,
    Start,
    WhoCanAct,
)
from worker.contract.target_settings import AppliedSettings, SettingError, apply_settings
from worker.contract.text import storable_text
from worker.environment import EnvironmentRecorder
from worker.environment.capture import ProbeFailedError
from worker.harness import HARNESS_CONFIG_PATH, REPORT_FD_PLACEHOLDER, harness_sources
from worker.machine import attempt_variables
from worker.observation.harness_report import HarnessReport, read_report
from worker.observation.outcomes import judge_ending, signal_name
from worker.observation.tracebacks import read_traceback
from worker.sandbox import Sandbox, SandboxJob, SandboxResult, Stream
from worker.toolchains import CancelledError, Toolchain, ToolchainError, ToolchainStore
from worker.toolchains.default_choice import note_usual, usual
from worker.toolchains.demand import MissingPackageError, OnDemand
from worker.warm import WarmRun, WarmStarts

SCRIPT_PATH = "/home/u/script.py"
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Identity:
    """Which node speaks, and which start of it."""

    node: str
    instance: str


@dataclass(frozen=True, slots=True)
class _Ready:
    """An attempt with all that it needs to run."""

    attempt: Attempt
    sandbox: Sandbox
    cancelled: threading.Event
    job: SandboxJob
    toolchain: Toolchain
    granted: int
    environment: Environment
    hash_seed: str
    witness: Witness | None

    def looking(self) -> AbstractContextManager[None]:
        return nullcontext() if self.witness is None else self.witness.looking()


class RefusedError(Exception):
    """The attempt can't be set up here."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.detail)
        self.reason = reason


class Executor:
    """Shared by the slots of a process; each brings its own sandbox."""

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
        """`note` is where the toolchain that was used last is kept for the next start."""
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
    ) -> Result:
        """`witness` is of the granted cards; without one only the processes of the attempt say what computed on them."""
        try:
            self._check(attempt, sandbox, granted=granted)
            self._provide(attempt, cancelled)
            with self._toolchains.use(attempt.toolchain) as toolchain:
                return self._execute(
                    attempt, sandbox, toolchain, granted=granted, cancelled=cancelled, witness=witness
                )
        except CancelledError:
            return self.without_run(
                attempt, Outcome.CANCELLED, Reason(code="cancelled", detail="Somebody stopped it.")
            )
        except RefusedError as refused:
            return self.without_run(attempt, Outcome.SETUP_FAILED, refused.reason)

    def without_run(self, attempt: Attempt, outcome: Outcome, reason: Reason) -> Result:
        """The result of an attempt whose script never started."""
        return Result(
            node=self._identity.node,
            instance=self._identity.instance,
            attempt_id=attempt.attempt_id,
            lease_no=attempt.lease_no,
            kind=attempt.kind,
            start=Start.COLD,
            outcome=outcome,
            reason=reason,
        )

    def prepare(self, sandbox: Sandbox, *, ending: Callable[[], bool]) -> None:
        """Between two attempts, in the slot's thread: what the next warm start needs is there before it."""
        if self._warm is None:
            return
        first = self._first() if self._warm.latest is None else None
        if first is None:
            self._warm.prepare(sandbox, ending=ending)
            return
        self._warm.latest = first
        self._warm.prepare(sandbox, ending=lambda: True)
        # Beside the imports: before its first attempt nothing else happens on a node.
        job, toolchain = first
        try:
            self._environments.record(job, sandbox, toolchain=toolchain, granted=())
        except ProbeFailedError as error:
            # Said as the reason of the first attempt, if it fails then as well.
            _log.warning("probe_failed", detail=str(error))
        self._warm.prepare(sandbox, ending=ending)

    def _first(self) -> tuple[SandboxJob, Toolchain] | None:
        """Before any attempt: a job for the toolchain that was used last in an earlier life, else the newest torch."""
        toolchain = usual(self._toolchains, note=self._note)
        if toolchain is None:
            return None
        attempt = Attempt(attempt_id="", script="", toolchain=toolchain.name)
        return _job(
            attempt, toolchain, harness={}, granted=(), variables={**self._variables, "PYTHONHASHSEED": "0"}
        ), toolchain

    def _provide(self, attempt: Attempt, cancelled: threading.Event) -> None:
        """Have it built where that is what the node does; no preview waits for that."""
        if self._on_demand is None or attempt.kind is AttemptKind.PREVIEW:
            return
        try:
            self._on_demand.provide(attempt.toolchain, cancelled=cancelled)
        except MissingPackageError as error:
            raise RefusedError(_operator("missing_package", str(error))) from error
        except ToolchainError as error:
            raise RefusedError(_operator("toolchain_failed", str(error))) from error

    def _execute(
        self,
        attempt: Attempt,
        sandbox: Sandbox,
        toolchain: Toolchain | None,
        *,
        granted: Sequence[Gpu],
        cancelled: threading.Event,
        witness: Witness | None,
    ) -> Result:
        if toolchain is None:
            raise RefusedError(_operator("unknown_toolchain", "This node does not have the toolchain."))
        applied = _apply(attempt, sandbox, toolchain)
        # Drawn and recorded, so that an order that hangs on it can be had again.
        hash_seed = str(1 + secrets.randbelow(2**32 - 1))
        # What the target asks for wins over what the operator sets.
        variables = {**self._variables, **applied.variables, "PYTHONHASHSEED": hash_seed}
        job = _job(attempt, toolchain, harness=applied.harness, granted=granted, variables=variables)
        self._remember(job, toolchain, applied)
        stays_cold = self._why_cold(attempt, toolchain, applied)
        if stays_cold is not None and attempt.kind is AttemptKind.PREVIEW:
            return self._not_shown(attempt, stays_cold)
        try:
            found = self._environments.record(job, sandbox, toolchain=toolchain, granted=granted)
        except ProbeFailedError as error:
            raise RefusedError(
                Reason(code="probe_failed", detail=str(error), who_can_act=WhoCanAct.OPERATOR)
            ) from error
        environment = {**attempt_variables.recorded(self._variables), **found}
        ready = _Ready(
            attempt, sandbox, cancelled, job, toolchain, len(granted), environment, hash_seed, witness
        )
        if attempt.start is not Start.WARM or self._warm is None or stays_cold is not None:
            return self._cold(ready, why=stays_cold)
        return (
            self._previewed(ready, self._warm)
            if attempt.kind is AttemptKind.PREVIEW
            else self._warmed(ready, self._warm)
        )

    def _cold(self, ready: _Ready, *, why: Reason | None = None) -> Result:
        with ready.looking():
            seen = ready.sandbox.run(ready.job, cancelled=ready.cancelled)
        result = self._result(ready, seen, hash_seed=ready.hash_seed)
        if self._warm is not None:
            self._warm.audit_kept(result, script=ready.attempt.script, toolchain=ready.toolchain)
        return result if why is None else result.model_copy(update={"start_reason": why})

    def _warmed(self, ready: _Ready, warm: WarmStarts) -> Result:
        with ready.looking():
            tried = warm.run(ready.job, ready.sandbox, toolchain=ready.toolchain, cancelled=ready.cancelled)
        if isinstance(tried, Reason):
            return self._cold(ready, why=tried)
        result = self._of_warm(ready, tried)
        if warm.is_to_audit():
            return warm.audit(
                result, self._cold(ready), script=ready.attempt.script, toolchain=ready.toolchain
            )
        return result

    def _previewed(self, ready: _Ready, warm: WarmStarts) -> Result:
        """From an interpreter that is there, and within the time of a preview: else there is none."""
        with ready.looking():
            tried = warm.run(
                ready.job,
                ready.sandbox,
                toolchain=ready.toolchain,
                cancelled=ready.cancelled,
                only_ready=True,
            )
        if isinstance(tried, Reason):
            return self._not_shown(ready.attempt, tried)
        result = self._of_warm(ready, tried)
        if result.outcome is Outcome.TIMED_OUT:
            return self._not_shown(
                ready.attempt,
                Reason(code="takes_long", detail="The script runs longer than a preview may take."),
            )
        warm.keep_for_audit(result, script=ready.attempt.script, toolchain=ready.toolchain)
        return result

    def _of_warm(self, ready: _Ready, tried: WarmRun) -> Result:
        result = self._result(ready, tried.result, hash_seed=tried.hash_seed)
        return result.model_copy(update={"start": Start.WARM})

    def _why_cold(self, attempt: Attempt, toolchain: Toolchain, applied: AppliedSettings) -> Reason | None:
        if attempt.start is not Start.WARM:
            return None
        if self._warm is None:
            return _operator("switched_off", "This node has no warm starts.")
        if "trace" in applied.harness:
            return Reason(code="settings", detail="operations are traced from the import of torch on")
        return self._warm.why_cold(attempt.script, toolchain=toolchain, variables=applied.variables)

    def _not_shown(self, attempt: Attempt, reason: Reason) -> Result:
        """A preview that would be no more than another cold attempt is none."""
        return self.without_run(attempt, Outcome.SETUP_FAILED, reason).model_copy(
            update={"start_reason": reason}
        )

    def _remember(self, job: SandboxJob, toolchain: Toolchain, applied: AppliedSettings) -> None:
        """What ran last is what is made ready for the next one."""
        if self._warm is None or toolchain.facts.torch is None or applied.variables:
            return
        before = self._warm.latest
        if self._note is not None and (before is None or before[1].name != toolchain.name):
            note_usual(self._note, toolchain)
        self._warm.latest = (replace(job, files={}), toolchain)

    def _check(self, attempt: Attempt, sandbox: Sandbox, *, granted: Sequence[Gpu]) -> None:
        """What no toolchain changes. Raise RefusedError."""
        if attempt.contract != CONTRACT_VERSION:
            raise RefusedError(
                _operator("unknown_contract", f"This node speaks version {CONTRACT_VERSION} of the contract.")
            )
        if not sandbox.level.satisfies(attempt.required_level):
            raise RefusedError(
                _operator(
                    "level_too_weak",
                    f"This node isolates at level {sandbox.level}; {attempt.required_level} is required.",
                )
            )
        needed = attempt.cards_needed
        if len(granted) < needed:
            code = "too_few_gpus" if needed > 1 else "no_gpu"
            raise RefusedError(_operator(code, f"The target asks for {needed} GPU(s); this node has fewer."))

    def _result(self, ready: _Ready, result: SandboxResult, *, hash_seed: str) -> Result:
        attempt = ready.attempt
        report = read_report(result.report)
        # What runs in the script's process may say anything; it can't have used a card that it was not given.
        devices = [
            device
            for device in report.devices
            if device == "cpu" or device in {f"cuda:{index}" for index in range(ready.granted)}
        ]
        stderr = text_of(result.stderr)
        exception = _exception(result, report, stderr)
        ended = judge_ending(result, attempt.limits, exception=exception, stderr=stderr)
        observation = Observation(
            exit_status=result.exit_status,
            signal=signal_name(result.signal),
            exception=exception,
            stdout=text_of(result.stdout),
            stderr=stderr,
            stdout_bytes=result.stdout.total_bytes,
            stderr_bytes=result.stderr.total_bytes,
            stdout_digest=result.stdout.digest,
            stderr_digest=result.stderr.digest,
            truncated=result.stdout.truncated or result.stderr.truncated,
            devices_used=devices,
            devices_opened=list(result.devices_opened),
            devices_computed=None
            if ready.witness is None
            else [f"cuda:{number}" for number in ready.witness.computed],
            flags=report.flags_at_end,
            flags_changed=report.flags_changed,
            values=report.values,
            values_omitted=report.values_omitted,
            trace=report.trace,
            hash_seed=hash_seed,
            wall_seconds=round(result.wall_seconds, 4),
            cpu_seconds=round(result.cpu_seconds, 4),
            peak_memory_bytes=result.peak_memory_bytes,
            idle=result.idle,
            stacks=storable_text(result.stacks),
        )
        base = self.without_run(attempt, ended.outcome, Reason(code="none"))
        update = {
            "reason": ended.reason,
            "level": result.level,
            "observation": observation,
            "environment": ready.environment,
        }
        return _within_limit(base.model_copy(update=update), attempt.limits)


def _apply(attempt: Attempt, sandbox: Sandbox, toolchain: Toolchain) -> AppliedSettings:
    """Raise RefusedError where a setting can't be brought about."""
    try:
        applied = apply_settings(attempt.settings, cpu_isa=toolchain.facts.cpu_isa)
    except SettingError as error:
        raise RefusedError(error.reason) from error
    if applied.harness and not sandbox.level.satisfies(Level.NAMESPACES):
        # The harness lies at a path of the sandbox's own; where the program sees the machine's, nothing starts it.
        names = ", ".join(sorted(applied.harness))
        raise RefusedError(
            _operator(
                "setting_needs_namespaces", f"At level {sandbox.level} a node can't bring about: {names}."
            )
        )
    return applied


def text_of(stream: Stream) -> str:
    """Decoded with replacement; says where bytes were left out."""
    if not stream.truncated:
        return storable_text((stream.head + stream.tail).decode("utf-8", "replace"))
    missing = stream.total_bytes - len(stream.head) - len(stream.tail)
    head, tail = (part.decode("utf-8", "replace") for part in (stream.head, stream.tail))
    return storable_text(f"{head}\n[... {missing} bytes left out ...]\n{tail}")


def _job(
    attempt: Attempt,
    toolchain: Toolchain,
    *,
    harness: Mapping[str, str],
    granted: Sequence[Gpu],
    variables: Mapping[str, str],
) -> SandboxJob:
    # A report of ours may not be what passes a limit.
    report_bytes = min(attempt.limits.result_bytes, attempt.limits.stream_kill_bytes) // 2
    asked = {"report_fd": 0, "report_bytes": report_bytes, "settings": harness}
    config = json.dumps(asked).replace('"report_fd": 0', f'"report_fd": {REPORT_FD_PLACEHOLDER}')
    return SandboxJob(
        argv=(toolchain.python_inside, SCRIPT_PATH),
        files={
            SCRIPT_PATH: attempt.script.encode("utf-8", "surrogatepass"),
            **harness_sources(),
            HARNESS_CONFIG_PATH: config.encode(),
        },
        variables=variables,
        binds=toolchain.binds,
        devices=device_nodes(list(granted)),
        limits=attempt.limits,
    )


def _exception(result: SandboxResult, report: HarnessReport, stderr: str) -> ExceptionFacts | None:
    """Only where the exit status says that one ended the script: anyone can print a traceback."""
    interrupted = report.exception is not None and report.exception.type == "KeyboardInterrupt"
    if result.exit_status != 1 and not (interrupted and result.signal is not None):
        return None
    if report.exception is not None:
        if report.message_withheld:
            printed = read_traceback(stderr)
            return report.exception.model_copy(update={"message": printed.message if printed else ""})
        return report.exception
    return None if report.ended else read_traceback(stderr)


def _within_limit(result: Result, limits: Limits) -> Result:
    """Escapes make JSON longer than what it carries; the streams give way, at last also stacks and values."""
    kept = limits.stream_bytes
    while len(result.model_dump_json()) > limits.result_bytes and kept > 1024:
        kept //= 2
        seen = result.observation
        shorter = {
            "stdout": seen.stdout[-kept:],
            "stderr": seen.stderr[-kept:],
            "stacks": seen.stacks[:kept],
            "truncated": True,
        }
        result = result.model_copy(update={"observation": seen.model_copy(update=shorter)})
    if len(result.model_dump_json()) > limits.result_bytes:
        seen = result.observation
        without = {"values": [], "values_omitted": seen.values_omitted + len(seen.values)}
        result = result.model_copy(update={"observation": seen.model_copy(update=without)})
    return result


def _operator(code: str, detail: str) -> Reason:
    return Reason(code=code, detail=detail, who_can_act=WhoCanAct.OPERATOR)
