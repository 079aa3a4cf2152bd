"""Export a run as a bundle, and import a bundle as a contributed run, which is judged again here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, InputError
from app.ids import new_id
from app.intake.reading import Reading
from app.intake.text.corrected_environment import corrections_in, with_corrected_environment
from app.runs.exchange.bundle import (
    Bundle,
    BundledReport,
    OriginVerdict,
    bundle_of,
)
from app.runs.exchange.bundle_rows import check_scripts, find_report, store_jobs, store_submitted
from app.runs.exchange.envelope import Signer, envelope_in, find_signer
from app.runs.exchange.read_bundle import NO_LIMITS, BundleLimits, Evidence, read_evidence
from app.runs.lifecycle.finish import store_end
from app.runs.rows.by_id import get_report, get_run
from app.runs.rows.events import emit
from app.runs.rows.facts import (
    document_of,
    job_facts,
    judge_stored,
    reading_of,
    report_of_run,
    results_by_attempt,
    run_facts,
)
from app.runs.rows.presets import known_presets
from app.runs.run_object.document import RunDocument
from app.runs.run_object.storable import to_storable
from app.runs.submission.report_intake import TITLE_CHARACTERS, check_report
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.models import ReportRow, RunRow
from app.storage.queries import runs as queries
from app.storage.queries.signing_keys import valid_keys
from worker.contract.text import storable_text

NAME_CHARACTERS = 100
NOBODY = "somebody without a token"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributeResult:
    """The run of a bundle. `created` is False if it was stored before."""

    document: RunDocument
    created: bool


def export(session: Session, run_id: str) -> dict[str, Any]:
    """The bundle of a run that ended. Raises NotFoundError, ConflictError."""
    run = get_run(session, run_id)
    if run.state in OPEN_STATES:
        raise ConflictError(
            "This run has not ended yet. Export it when it has ended, or cancel it.", code="run_not_ended"
        )
    if run.is_withdrawn:
        raise ConflictError(
            "This report was withdrawn: the results of its runs are erased.", code="withdrawn"
        )
    return _bundle_of(session, run)


def _bundle_of(session: Session, run: RunRow) -> dict[str, Any]:
    report = report_of_run(session, run)
    attempts = queries.attempts_of_run(session, run.id)
    facts = job_facts(queries.jobs_of_run(session, run.id), attempts, results_by_attempt(session, attempts))
    reading = reading_of(session, report)
    submitted = BundledReport(
        form=report.form,
        text=report.text,
        claim=report.claim_text,
        title=report.title[:TITLE_CHARACTERS],
        source_url=report.source_url,
        ignore_needs=sorted({need.kind for need in reading.ignored_needs}),
        environment=corrections_in(reading),
    )
    own_verdict = OriginVerdict(verdict=run.verdict, summary=run.summary)
    return bundle_of(
        run_facts(run, report),
        reading,
        facts,
        submitted,
        origin=own_verdict,
        contributed_by=run.contributed_by,
    )


def contributor(by: str | None, *, token: str | None) -> str:
    """The contributor's name as it is shown: the given name and the name of the token. Raises InputError."""
    name = "" if by is None else by.strip()
    if len(name) > NAME_CHARACTERS or not name.isprintable():
        raise InputError(
            f"A name has at most {NAME_CHARACTERS} printable characters.",
            code="bad_name",
            field="by",
        )
    if token is None:
        return storable_text(name) or NOBODY
    return token if name in {"", token} else f"{storable_text(name)}, by the token {token}"


def contribute(
    session: Session, data: bytes, *, by: str, settings: ServiceSettings, report_id: str | None = None
) -> ContributeResult:
    """Store the run of a bundle for a report. The caller commits.

    The report is the named one, else one with the same text or address, else a new one.
    Raises InputError for a bundle that can't be used, NotFoundError, ConflictError for a withdrawn report.
    """
    envelope = envelope_in(data)
    signer = None if envelope is None else find_signer(envelope, valid_keys(session))
    evidence = read_evidence(
        data if envelope is None else envelope.payload,
        limits=BundleLimits.of(settings),
        signed=envelope is not None,
    )
    bundle, digest = evidence.bundle, evidence.digest
    if not any(attempt.result is not None for job in bundle.jobs for attempt in job.attempts):
        raise InputError(
            "Nothing was run in this bundle, so there is nothing to contribute.",
            code="empty_bundle",
            field="bundle",
        )
    submitted = bundle.report
    own_reading = check_report(
        form=submitted.form,
        text=submitted.text,
        claim=submitted.claim,
        title=submitted.title,
        source_url=submitted.source_url,
        settings=settings,
        ignore_needs=submitted.ignore_needs,
    )
    own_reading = with_corrected_environment(own_reading, list(submitted.environment.items()))
    stored_run = queries.run_with_evidence(session, digest) or _own_run(session, bundle, digest)
    if stored_run is not None:
        _note_signer(stored_run, bundle, signer, settings=settings)
        return ContributeResult(document=document_of(session, stored_run), created=False)
    report = _report(session, bundle, own_reading, report_id=report_id)
    reading = own_reading if report is None else reading_of(session, report)
    check_scripts(bundle, reading)
    if report is None:
        report = store_submitted(session, bundle, reading)
    return ContributeResult(
        document=_store(session, evidence, report, by=by, signer=signer, settings=settings), created=True
    )


def _signed_by(signer: Signer | None) -> dict[str, Any]:
    return {} if signer is None else {"signed_by": {"name": signer.name, "key": signer.key_id}}


def _note_signer(run: RunRow, bundle: Bundle, signer: Signer | None, *, settings: ServiceSettings) -> None:
    """Note who signed a run that was contributed before without a signature.

    The evidence is the same. Its time, version and plan become those of the signed bundle, because anyone may
    have sent the unsigned one.
    """
    if signer is None or run.contributed_by is None or "signed_by" in (run.made_by or {}):
        return
    run.made_by = _made_by(bundle, signer)
    _take_plan(run, bundle, settings=settings)


def _made_by(bundle: Bundle, signer: Signer | None) -> dict[str, Any]:
    nodes = {one.result.node for job in bundle.jobs for one in job.attempts if one.result is not None}
    made_by: dict[str, Any] = to_storable(
        {
            "nodes": sorted(nodes),
            "samehere": bundle.made_by.samehere,
            "ran_at": bundle.run.created_at.isoformat(),
            **_signed_by(signer),
        }
    )
    return made_by


def _take_plan(run: RunRow, bundle: Bundle, *, settings: ServiceSettings) -> None:
    plan = bundle.run.plan
    # Any other name of a preset was chosen elsewhere, and pages name the preset of a run.
    run.preset = plan.preset if plan.preset in known_presets(settings) else None
    run.repeats_at_most, run.repeats_exact = plan.at_most, plan.exact


def _own_run(session: Session, bundle: Bundle, digest: str) -> RunRow | None:
    """Our own run, if the bundle was exported from it."""
    run = queries.run_of(session, bundle.run.id)
    if run is None or run.state in OPEN_STATES or run.is_withdrawn:
        return None
    own_evidence = read_evidence(json.dumps(_bundle_of(session, run)).encode(), limits=NO_LIMITS)
    return run if own_evidence.digest == digest else None


def _report(session: Session, bundle: Bundle, reading: Reading, *, report_id: str | None) -> ReportRow | None:
    """The report of the bundle, if it is stored here. Raises NotFoundError, ConflictError."""
    candidate = find_report(session, bundle, reading) if report_id is None else get_report(session, report_id)
    # Nobody can withdraw the report from now on.
    report = None if candidate is None else queries.hold_report(session, candidate.id)
    if report is None or report.withdrawn_at is None:
        return report
    if report_id is not None:
        raise ConflictError("This report was withdrawn: nothing can be added to it.", code="withdrawn")
    return None


def _store(
    session: Session,
    evidence: Evidence,
    report: ReportRow,
    *,
    by: str,
    signer: Signer | None,
    settings: ServiceSettings,
) -> RunDocument:
    bundle, moment = evidence.bundle, now()
    run = RunRow(
        id=new_id(),
        report_id=report.id,
        state=bundle.run.state,
        last_event=0,
        summary="",
        contributed_by=by,
        evidence_digest=evidence.digest,
        made_by=_made_by(bundle, signer),
        created_at=moment,
        finished_at=moment,
    )
    _take_plan(run, bundle, settings=settings)
    session.add(run)
    session.flush()
    store_jobs(session, bundle, run, moment=moment, own=False)
    emit(session, run, "run.created")
    session.flush()
    return store_end(session, run, judge_stored(session, run))
