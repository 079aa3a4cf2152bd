"""Take in a run that others made: judged anew from its attempts, marked with who brought it, and the same run if it comes again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, InputError, NotFoundError
from app.ids import new_id
from app.intake.reading import Reading
from app.runs.exchange.bundle import (
    Bundle,
    Said,
    Submitted,
    bundle_of,
    evidence_digest,
)
from app.runs.exchange.bundle_rows import check_scripts, keep_jobs, keep_submitted, report_like
from app.runs.exchange.read_bundle import NO_LIMITS, BundleLimits, read_bundle
from app.runs.lifecycle.finish import store_end
from app.runs.rows.by_id import get_run
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
from app.runs.run_object.document import RunDocument
from app.runs.run_object.storable import to_storable
from app.runs.submission.report_intake import TITLE_CHARACTERS, check_report
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.models import ReportRow, RunRow
from app.storage.queries import runs as queries
from worker.contract.text import storable_text

BY_CHARACTERS = 100
NOBODY = "somebody without a token"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributeResult:
    """The run; `created` is False when it was here before."""

    document: RunDocument
    created: bool


def export(session: Session, run_id: str) -> dict[str, Any]:
    """The bundle of a run that ended. Raises NotFoundError, ConflictError."""
    run = get_run(session, run_id)
    if run.state in OPEN_STATES:
        raise ConflictError(
            "This run has not ended yet: export it when it has, or cancel it.", code="run_not_ended"
        )
    if run.is_withdrawn:
        raise ConflictError("This report was withdrawn: what its runs showed is erased.", code="withdrawn")
    return _bundle_of(session, run)


def _bundle_of(session: Session, run: RunRow) -> dict[str, Any]:
    report = report_of_run(session, run)
    attempts = queries.attempts_of_run(session, run.id)
    facts = job_facts(queries.jobs_of_run(session, run.id), attempts, results_by_attempt(session, attempts))
    submitted = Submitted(
        form=report.form,
        text=report.text,
        claim=report.claim_text,
        title=report.title[:TITLE_CHARACTERS],
        source_url=report.source_url,
    )
    said = Said(verdict=run.verdict, summary=run.summary)
    return bundle_of(
        run_facts(run, report),
        reading_of(session, report),
        facts,
        submitted,
        said=said,
        contributed_by=run.contributed_by,
    )


def contributor(by: str | None, *, token: str | None) -> str:
    """With whose name a contribution is marked: that of the token, and beside it what its owner says. Raises InputError."""
    said = "" if by is None else by.strip()
    if len(said) > BY_CHARACTERS or not said.isprintable():
        raise InputError(
            f"A name has at most {BY_CHARACTERS} characters that can be printed.", code="bad_name", field="by"
        )
    if token is None:
        return storable_text(said) or NOBODY
    return token if said in {"", token} else f"{storable_text(said)}, by the token {token}"


def contribute(
    session: Session, data: bytes, *, by: str, settings: ServiceSettings, report_id: str | None = None
) -> ContributeResult:
    """Store the run of a bundle beside a report: the one that is named, else one with the same text or address, else a new one.

    Raises InputError for a bundle that can't be used, NotFoundError; the caller commits.
    """
    bundle = read_bundle(data, limits=BundleLimits.of(settings))
    if not any(attempt.result is not None for job in bundle.jobs for attempt in job.attempts):
        raise InputError(
            "Nothing was run in this bundle, so there is nothing to contribute.",
            code="empty_bundle",
            field="bundle",
        )
    submitted = bundle.report
    read_anew = check_report(
        form=submitted.form,
        text=submitted.text,
        claim=submitted.claim,
        title=submitted.title,
        source_url=submitted.source_url,
        settings=settings,
    )
    digest = evidence_digest(bundle)
    known = queries.run_with_evidence(session, digest) or _own(session, bundle, digest)
    if known is not None:
        return ContributeResult(document=document_of(session, known), created=False)
    report = _report(session, bundle, read_anew, report_id=report_id)
    reading = read_anew if report is None else reading_of(session, report)
    check_scripts(bundle, reading)
    if report is None:
        report = keep_submitted(session, bundle, reading)
    return ContributeResult(document=_store(session, bundle, report, digest=digest, by=by), created=True)


def _own(session: Session, bundle: Bundle, digest: str) -> RunRow | None:
    """Our own run, if that is what comes back."""
    run = queries.run_of(session, bundle.run.id)
    if run is None or run.state in OPEN_STATES or run.is_withdrawn:
        return None
    return (
        run
        if evidence_digest(read_bundle(json.dumps(_bundle_of(session, run)).encode(), limits=NO_LIMITS))
        == digest
        else None
    )


def _report(session: Session, bundle: Bundle, reading: Reading, *, report_id: str | None) -> ReportRow | None:
    """The report that the run is about, if it is here."""
    if report_id is not None:
        row = queries.hold_report(session, report_id)
        if row is None:
            raise NotFoundError("There is no report with this id.")
        if row.withdrawn_at is not None:
            raise ConflictError("This report was withdrawn: nothing can be added to it.", code="withdrawn")
        return row
    found = report_like(session, bundle, reading)
    held = None if found is None else queries.hold_report(session, found.id)
    return None if held is None or held.withdrawn_at is not None else held


def _store(session: Session, bundle: Bundle, report: ReportRow, *, digest: str, by: str) -> RunDocument:
    moment = now()
    made_by = {
        "nodes": sorted(
            {one.result.node for job in bundle.jobs for one in job.attempts if one.result is not None}
        ),
        "samehere": bundle.made_by.samehere,
        "ran_at": bundle.run.created_at.isoformat(),
    }
    run = RunRow(
        id=new_id(),
        report_id=report.id,
        state=bundle.run.state,
        preset=None if bundle.run.plan.preset is None else storable_text(bundle.run.plan.preset),
        repeats_at_most=bundle.run.plan.at_most,
        repeats_exact=bundle.run.plan.exact,
        last_event=0,
        summary="",
        contributed_by=by,
        evidence_digest=digest,
        made_by=to_storable(made_by),
        created_at=moment,
        finished_at=moment,
    )
    session.add(run)
    session.flush()
    keep_jobs(session, bundle, run, moment=moment, own=False)
    emit(session, run, "run.created")
    session.flush()
    return store_end(session, run, judge_stored(session, run))
