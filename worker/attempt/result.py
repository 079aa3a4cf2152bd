"""Builds the result of an attempt from the output of its sandbox job."""

from __future__ import annotations

from worker.attempt.identity import Identity
from worker.cards.witness import Witness
from worker.contract import (
    KIB,
    Attempt,
    Environment,
    ExceptionFacts,
    Limits,
    Observation,
    Outcome,
    Reason,
    Result,
    Start,
)
from worker.contract.text import storable_text
from worker.observation.harness_report import HarnessReport, read_report
from worker.observation.outcomes import judge_ending, signal_name
from worker.observation.tracebacks import read_traceback
from worker.sandbox import SandboxResult, Stream


def make_result(
    identity: Identity,
    attempt: Attempt,
    outcome: Outcome,
    reason: Reason | None,
    *,
    observation: Observation | None = None,
) -> Result:
    """The result of a cold start. Without an observation: the script never started."""
    return Result(
        node=identity.node,
        instance=identity.instance,
        attempt_id=attempt.attempt_id,
        lease_no=attempt.lease_no,
        kind=attempt.kind,
        start=Start.COLD,
        outcome=outcome,
        reason=reason,
        observation=observation or Observation(),
    )


def read_result(
    identity: Identity,
    attempt: Attempt,
    result: SandboxResult,
    *,
    cards: int,
    witness: Witness | None,
    hash_seed: str,
    environment: Environment,
) -> Result:
    """The result of an attempt that ran on `cards` granted cards, shortened to the limit of a result."""
    report = read_report(result.report)
    stderr = text_of(result.stderr)
    exception = _exception(result, report, stderr)
    ending = judge_ending(result, attempt.limits, exception=exception, stderr=stderr)
    observation = _observation(
        result, report, stderr=stderr, exception=exception, cards=cards, witness=witness, hash_seed=hash_seed
    )
    whole = make_result(identity, attempt, ending.outcome, ending.reason, observation=observation)
    whole = whole.model_copy(update={"level": result.level, "environment": environment})
    return _within_limit(whole, attempt.limits)


def text_of(stream: Stream) -> str:
    """The text of a stream, decoded with replacement. A note stands where bytes are left out."""
    if not stream.truncated:
        return storable_text((stream.head + stream.tail).decode("utf-8", "replace"))
    missing = stream.total_bytes - len(stream.head) - len(stream.tail)
    head, tail = (part.decode("utf-8", "replace") for part in (stream.head, stream.tail))
    return storable_text(f"{head}\n[... {missing} bytes left out ...]\n{tail}")


def _observation(
    result: SandboxResult,
    report: HarnessReport,
    *,
    stderr: str,
    exception: ExceptionFacts | None,
    cards: int,
    witness: Witness | None,
    hash_seed: str,
) -> Observation:
    # Code in the script's process can report anything, but it can't have used a card that it was not given.
    possible_devices = {"cpu", *(f"cuda:{number}" for number in range(cards))}
    return Observation(
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
        devices_used=[device for device in report.devices if device in possible_devices],
        devices_opened=list(result.devices_opened),
        devices_computed=None if witness is None else [f"cuda:{number}" for number in witness.computed],
        flags=report.flags_at_end,
        flags_changed=report.flags_changed,
        values=report.values,
        values_omitted=report.values_omitted,
        warnings=report.warnings,
        warnings_omitted=report.warnings_omitted,
        trace=report.trace,
        passage=report.passage,
        compiled_frames=report.compiled_frames,
        hash_seed=hash_seed,
        wall_seconds=round(result.wall_seconds, 4),
        cpu_seconds=round(result.cpu_seconds, 4),
        peak_memory_bytes=result.peak_memory_bytes,
        idle=result.idle,
        stacks=storable_text(result.stacks),
    )


def _exception(result: SandboxResult, report: HarnessReport, stderr: str) -> ExceptionFacts | None:
    """The exception that ended the script.

    None unless the exit status agrees: any script can print a traceback.
    """
    interrupted = report.exception is not None and report.exception.type == "KeyboardInterrupt"
    if result.exit_status != 1 and not (interrupted and result.signal is not None):
        return None
    if report.exception is None:
        return None if report.ended else read_traceback(stderr)
    if not report.message_withheld:
        return report.exception
    printed_exception = read_traceback(stderr)
    message = "" if printed_exception is None else printed_exception.message
    return report.exception.model_copy(update={"message": message})


def _within_limit(result: Result, limits: Limits) -> Result:
    """Shorten the result to `limits.result_bytes` of JSON: first streams and stacks, then values.

    JSON escapes can make a text several times longer, so the limits of the streams are not enough.
    """
    most_characters = limits.stream_bytes
    while len(result.model_dump_json()) > limits.result_bytes and most_characters > KIB:
        most_characters //= 2
        observation = result.observation
        update = {
            "stdout": observation.stdout[-most_characters:],
            "stderr": observation.stderr[-most_characters:],
            "stacks": observation.stacks[:most_characters],
            "truncated": True,
        }
        result = result.model_copy(update={"observation": observation.model_copy(update=update)})
    if len(result.model_dump_json()) > limits.result_bytes:
        observation = result.observation
        omitted = observation.values_omitted + len(observation.values)
        shorter = observation.model_copy(update={"values": [], "values_omitted": omitted, "warnings": None})
        result = result.model_copy(update={"observation": shorter})
    return result
