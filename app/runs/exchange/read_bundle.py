"""Read a bundle, which is untrusted input.

Incomplete, altered, too large or malformed bundles are refused.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.bounded.calls import OverLimitError, call_within_limits
from app.errors import InputError, TooLargeError
from app.intake.snippets.scripts import digest_of as script_digest
from app.judging.comparison.environments import environment_digest
from app.runs.exchange.bundle import (
    FORMAT,
    VERSION,
    Bundle,
    BundledAttempt,
    BundledJob,
    BundledPlan,
    BundledReport,
    BundledRun,
    MadeBy,
    OriginVerdict,
    evidence_digest,
)
from app.runs.exchange.statement import PREDICATE_TYPE, STATEMENT_TYPE, subject_of
from app.runs.run_object.digests import with_digests
from app.runs.run_object.storable import json_digest, to_storable
from app.settings import ServiceSettings
from app.targets.parse import check_target
from app.targets.target import Target
from worker.contract import CONTRACT_VERSION, Environment, Outcome, Result

# A job can have so many attempts beyond its repeats: previews, and attempts of earlier generations.
MORE_ATTEMPTS = 50
# The most fields of one object. An environment has a few hundred.
MOST_FIELDS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleLimits:
    """The limits of a bundle. Bytes are those of its JSON."""

    bundle_bytes: int
    result_bytes: int
    cells: int
    repeats: int

    @classmethod
    def of(cls, settings: ServiceSettings) -> BundleLimits:
        """The limits in the settings."""
        return cls(
            bundle_bytes=settings.bundle_bytes,
            result_bytes=settings.result_bytes,
            cells=settings.cells,
            repeats=settings.repeats,
        )


# Bundles that we wrote ourselves have no limits.
NO_LIMITS = BundleLimits(
    bundle_bytes=sys.maxsize, result_bytes=sys.maxsize, cells=sys.maxsize, repeats=sys.maxsize
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A bundle that was read, and the digest of its evidence."""

    bundle: Bundle
    digest: str


def read_evidence(data: bytes, *, limits: BundleLimits, signed: bool = False) -> Evidence:
    """Read a bundle in a process with limits of time and memory, because checking a bad one takes long.

    `signed`: the data is the statement of an envelope whose signature was verified.

    Raises InputError for a bad bundle, UnavailableError if too many calls wait.
    """
    try:
        return call_within_limits(_evidence, data, limits=limits, signed=signed)
    except OverLimitError as error:
        raise _bundle_error(
            f"Reading this bundle was stopped. {error.message} Make one with fewer targets.", "reading_limit"
        ) from error


def _evidence(data: bytes, *, limits: BundleLimits, signed: bool) -> Evidence:
    bundle = read_bundle(data, limits=limits, signed=signed)
    return Evidence(bundle, evidence_digest(bundle))


def read_bundle(data: bytes, *, limits: BundleLimits, signed: bool = False) -> Bundle:
    """Read the bundle in a file, or in the statement of an envelope.

    Raises InputError for a bad bundle; its message says what to do.
    """
    if len(data) > limits.bundle_bytes:
        raise TooLargeError(
            f"This bundle is larger than {limits.bundle_bytes} bytes. Make one with fewer targets, or set"
            " SAMEHERE_BUNDLE_BYTES.",
            field="bundle",
        )
    raw = _bundle_in(_object(data)) if signed else _object(data)
    if raw.get("format") != FORMAT:
        raise _bundle_error(
            "This is no bundle. One is the answer to `GET /api/v1/runs/ID/bundle`, or the file of"
            " `samehere reproduce FILE --bundle OUT` or `samehere export RUN`.",
            "not_a_bundle",
        )
    if type(raw.get("version")) is not int or raw["version"] != VERSION:
        raise _bundle_error(
            f"This bundle's version is not {VERSION}. Update samehere here, or make the bundle with this"
            " version of samehere.",
            "bundle_version",
        )
    # The checks of the form make an error for every fault, so a bundle full of them would take minutes.
    fault = next(_faults_of_counts(raw, limits), None)
    if fault is not None:
        raise _bundle_error(f"{fault} Export the run again.", "bad_bundle")
    _check_digest(raw)
    try:
        bundle = Bundle.model_validate(raw)
    except (ValidationError, RecursionError) as error:
        raise _bundle_error(
            f"This bundle has the wrong form: {_first_fault(error)}. Export the run again.", "bad_bundle"
        ) from error
    for fault in _faults(bundle, limits):
        raise _bundle_error(f"{fault} Export the run again.", "bad_bundle")
    return bundle.model_copy(update={"jobs": [_whole_job(job, bundle.environments) for job in bundle.jobs]})


def _bundle_error(message: str, code: str) -> InputError:
    return InputError(message, code=code, field="bundle")


def _bundle_in(statement: dict[str, Any]) -> dict[str, Any]:
    """The bundle that a statement is about, which is its predicate."""
    if statement.get("_type") != STATEMENT_TYPE or statement.get("predicateType") != PREDICATE_TYPE:
        raise _bundle_error(
            f"This envelope holds another kind of statement than {PREDICATE_TYPE}.", "other_statement"
        )
    bundle = statement.get("predicate")
    if not isinstance(bundle, dict) or statement.get("subject") != subject_of(bundle):
        raise _bundle_error(
            "The subject of this statement is not its bundle. Sign it again.", "other_subject"
        )
    return bundle


def _object(data: bytes) -> dict[str, Any]:
    def refuse_constant(_name: str) -> Any:
        raise ValueError("JSON has no such number")

    try:
        raw = json.loads(data, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        whole = data.rstrip().endswith(b"}")
        why = "it is no JSON" if whole else "its end is missing"
        raise _bundle_error(
            f"This bundle can't be read: {why}. Send the whole file again, as it is.", "bundle_cut"
        ) from error
    if not isinstance(raw, dict):
        raise _bundle_error("This is no bundle: a bundle is one JSON object.", "not_a_bundle")
    return raw


def _faults_of_counts(raw: dict[str, Any], limits: BundleLimits) -> Iterator[str]:
    """Sentences about parts with more items than any run has."""
    jobs = raw.get("jobs")
    if isinstance(jobs, list):
        if len(jobs) > limits.cells:
            yield f"This bundle has more than {limits.cells} cells."
        most = limits.repeats + MORE_ATTEMPTS
        attempts = [job.get("attempts") for job in jobs if isinstance(job, dict)]
        if any(isinstance(each, list) and len(each) > most for each in attempts):
            yield f"A cell of this bundle has more than {most} attempts."
    waiting: list[Any] = [raw]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and len(part) > MOST_FIELDS:
            yield f"A part of this bundle has more than {MOST_FIELDS} fields."
        inner = part.values() if isinstance(part, dict) else part
        waiting += [each for each in inner if isinstance(each, (dict, list))]


def _check_digest(raw: dict[str, Any]) -> None:
    content = {name: value for name, value in raw.items() if name != "digest"}
    try:
        digest = json_digest(content)
        storable_as_is = to_storable(raw) == raw
    except (ValueError, RecursionError) as error:
        raise _bundle_error(
            "This bundle holds values that no bundle can have. Export the run again.", "bad_bundle"
        ) from error
    if not storable_as_is:
        raise _bundle_error(
            "This bundle holds characters that no bundle can have. Export the run again.", "bad_bundle"
        )
    if raw.get("digest") != digest:
        raise _bundle_error(
            "This bundle was altered after it was made: its digest is wrong. Send the file as it was"
            " exported.",
            "bundle_altered",
        )


def _first_fault(error: Exception) -> str:
    """The field and the kind of the first fault. It repeats nothing of the input."""
    if not isinstance(error, ValidationError):
        return "it is nested too deeply"
    fault = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in fault["loc"] if isinstance(part, int) or part in _FIELDS)
    return f"{field or 'a field'}: {fault['type'].replace('_', ' ')}"


_FIELDS = {
    name
    for model in (
        BundledReport,
        MadeBy,
        BundledPlan,
        BundledRun,
        BundledAttempt,
        BundledJob,
        OriginVerdict,
        Bundle,
        Result,
        Target,
    )
    for name in model.model_fields
}


def _faults(bundle: Bundle, limits: BundleLimits) -> Iterator[str]:
    """Sentences about everything that no run can have."""
    if bundle.run.state not in {"finished", "cancelled"}:
        yield "This run has not ended."
    for digest, text in bundle.scripts.items():
        if script_digest(text) != digest:
            yield "A script of this bundle does not have its digest."
    for digest, environment in bundle.environments.items():
        if environment_digest(environment) != digest:
            yield "An environment of this bundle does not have its digest."
    ids = [
        bundle.run.id,
        *(job.id for job in bundle.jobs),
        *(attempt.id for job in bundle.jobs for attempt in job.attempts),
    ]
    if len(set(ids)) < len(ids):
        yield "Two things in this bundle have the same id."
    for job in bundle.jobs:
        yield from _faults_of_job(bundle, job, limits)


def _faults_of_job(bundle: Bundle, job: BundledJob, limits: BundleLimits) -> Iterator[str]:
    if job.script not in bundle.scripts:
        yield "A script is missing in this bundle."
    if job.state not in {"judged", "cancelled"}:
        yield "A cell of this bundle has not ended."
    for attempt in job.attempts:
        if attempt.environment is not None and attempt.environment not in bundle.environments:
            yield "An environment is missing in this bundle."
        if attempt.result is None and attempt.state == "recorded":
            yield "A recorded attempt of this bundle has no result."
        if attempt.result is not None:
            yield from _faults_of_result(attempt.result, attempt, limits)


def _faults_of_result(result: Result, attempt: BundledAttempt, limits: BundleLimits) -> Iterator[str]:
    if result.contract != CONTRACT_VERSION:
        yield f"A result in this bundle is not of version {CONTRACT_VERSION} of the contract."
    if len(result.model_dump_json()) > limits.result_bytes:
        yield f"A result in this bundle is larger than {limits.result_bytes} bytes."
    if attempt.state == "recorded" and result.outcome is Outcome.LOST:
        yield "An attempt of this bundle is both recorded and lost."


def _whole_job(job: BundledJob, environments: dict[str, Environment]) -> BundledJob:
    """A job with complete results: with environments, our own digests, and the fields of their attempts."""
    return job.model_copy(
        update={
            "target": check_target(job.target),
            "attempts": [_whole_attempt(attempt, environments) for attempt in job.attempts],
        }
    )


def _whole_attempt(attempt: BundledAttempt, environments: dict[str, Environment]) -> BundledAttempt:
    if attempt.result is None:
        return attempt
    update = {
        "attempt_id": attempt.id,
        "kind": attempt.kind,
        "start": attempt.start,
        "observation": with_digests(attempt.result.observation),
        "environment": environments[attempt.environment] if attempt.environment else {},
    }
    return attempt.model_copy(update={"result": attempt.result.model_copy(update=update)})
