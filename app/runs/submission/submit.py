"""Take in a submission: read it, plan it, and store it as a report with a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.errors import ConflictError, InputError
from app.ids import new_id
from app.intake.reading import NeedKind, Reading
from app.intake.text.corrected_environment import with_corrected_environment
from app.runs.estimates.plan_document import plan_document
from app.runs.estimates.waiting import with_estimate
from app.runs.rows.nodes import readable_hellos, seen_since
from app.runs.rows.quarantined_parts import offers, quarantines_of
from app.runs.rows.withdraw_secret import new_secret, secret_digest
from app.runs.run_object.document import RunDocument
from app.runs.run_object.storable import json_digest
from app.runs.submission.idempotency import EarlierRequest, earlier_request, new_salt, secret_of_key
from app.runs.submission.launch import launch_plan
from app.runs.submission.plan_run import plan_run, possible_contrast
from app.runs.submission.report_intake import add_report, check_report
from app.settings import ServiceSettings
from app.storage.models.report import Form
from app.storage.new_rows import NewRows
from app.storage.queries import runs as queries
from app.storage.queries.queue.queue_position import AttemptDuration, facts_beside_long_queue
from app.storage.queries.queue.submission_facts import SubmissionFacts, submission_facts
from app.storage.queries.rerun import IMPORTED, count_open
from app.targets.planning.run_request import RunRequest
from app.targets.quarantines import Quarantines
from worker.contract import Hello
from worker.contract.text import storable_text

# The number of open runs that nobody awaits, among the facts beside a long queue.
_UNAWAITED = "unawaited"
# Half of fewer places could be filled within the moment for which such facts hold.
_MANY_PLACES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission(RunRequest):
    """The request for a run of a new report: a script or a report text, exactly one of them."""

    script: str | None = None
    report: str | None = None
    claim: str | None = None
    title: str = ""
    source_url: str | None = None
    # False if nobody waits for the result: then the run has a low priority.
    awaited: bool = True
    idempotency_key: str | None = None
    # Kinds of needs that were read wrongly, as the submitter says.
    ignore_needs: tuple[NeedKind, ...] = ()
    # Fields of the reporter's environment that were read wrongly or not at all, with their values.
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def form(self) -> Form:
        """The kind of text that was submitted."""
        return "report" if self.script is None else "script"

    @property
    def text(self) -> str:
        """The script or the report."""
        return (self.report if self.script is None else self.script) or ""

    def digest(self) -> str:
        """The digest that an idempotency key stands for."""
        data: dict[str, Any] = {
            "script": self.script,
            "report": self.report,
            "claim": self.claim,
            "title": self.title,
            "source_url": self.source_url,
        }
        # `awaited` and `ignore_needs` came later. They are left out by default, so that older keys match.
        if not self.awaited:
            data["awaited"] = False
        if self.ignore_needs:
            data["ignore_needs"] = sorted(set(self.ignore_needs))
        if self.environment:
            data["environment"] = sorted(self.environment)
        return json_digest(data | self.cells_as_data())


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitResult:
    """The run of a submission. `created` is False if the idempotency key had made the run before."""

    document: RunDocument
    created: bool
    # With this secret the submitter can withdraw the report. Only its digest is stored. None for a request
    # that is not known to come from the submitter.
    withdraw_secret: str | None = None
    # The nodes that it was planned for; None if it was not.
    fleet: Sequence[Hello] | None = None
    # How long earlier attempts of its scripts took; None if it was not planned.
    of_scripts: Sequence[AttemptDuration] | None = None


def submit(
    session: Session,
    submission: Submission,
    *,
    settings: ServiceSettings,
    dry_run: bool = False,
    who: str | None = None,
) -> SubmitResult:
    """Store and queue a submission; with `dry_run`, plan it and store nothing. The caller commits.

    `who` is the id of the submitter's token, None without one.
    Raises InputError, ConflictError.
    """
    reading = read_submission(submission, settings=settings)
    offer = _read_offer(session, submission, reading, settings=settings, dry_run=dry_run)
    if dry_run:
        document = planned_run(session, submission, reading, offer.nodes, settings=settings)
        return SubmitResult(document=document, created=False)
    run_id = new_id()
    key = submission.idempotency_key
    salt = None if key is None else new_salt()
    earlier = earlier_request(
        session, key, body_digest=submission.digest(), run_id=run_id, submitter=who, salt=salt
    )
    if earlier is not None and key is not None:
        secret = _secret_again(session, earlier, key, who=who, settings=settings)
        return SubmitResult(document=earlier.document, created=False, withdraw_secret=secret)
    if not submission.awaited and not _has_place(session, settings, offer.facts.unawaited):
        raise ConflictError(
            f"{settings.unawaited_runs} runs with `awaited: false` are open, which is the limit. Try later.",
            code="too_many_unawaited",
        )
    secret = new_secret() if key is None or salt is None else secret_of_key(key, salt)
    document = _store(
        session,
        submission,
        reading,
        offer,
        run_id=run_id,
        secret=secret,
        settings=settings,
        who=who,
    )
    return SubmitResult(
        document=document,
        created=True,
        withdraw_secret=secret,
        fleet=offer.nodes,
        of_scripts=offer.facts.of_scripts,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    """The nodes that a submission is planned for, the whole fleet, and the facts that they come from."""

    facts: SubmissionFacts
    quarantines: Quarantines
    whole: Sequence[Hello]
    nodes: Sequence[Hello]


def _read_offer(
    session: Session,
    submission: Submission,
    reading: Reading,
    *,
    settings: ServiceSettings,
    dry_run: bool,
) -> _Offer:
    facts = submission_facts(
        session,
        scripts=[script.digest for script in reading.scripts],
        seen_since=seen_since(settings),
        counts_unawaited=not (submission.awaited or dry_run) and _must_count(session, settings),
    )
    quarantines, whole = quarantines_of(facts.quarantined), readable_hellos(facts.hellos)
    return _Offer(facts=facts, quarantines=quarantines, whole=whole, nodes=offers(whole, quarantines))


def _store(
    session: Session,
    submission: Submission,
    reading: Reading,
    offer: _Offer,
    *,
    run_id: str,
    secret: str,
    settings: ServiceSettings,
    who: str | None,
) -> RunDocument:
    """Store the report with its run."""
    new = NewRows()
    report = add_report(
        new,
        reading,
        form=submission.form,
        text=storable_text(submission.text),
        claim=submission.claim,
        title=submission.title,
        source_url=submission.source_url,
        withdraw_digest=secret_digest(secret),
    )
    plan = None
    if not reading.ask:
        plan = plan_run(
            session,
            reading,
            submission,
            fleet=offer.nodes,
            settings=settings,
            quarantines=offer.quarantines,
            whole=offer.whole,
        )
    # Nobody else knows the report before the commit, so nobody can withdraw it meanwhile.
    return launch_plan(
        session,
        report,
        reading,
        plan,
        run_id=run_id,
        fleet=offer.nodes,
        settings=settings,
        trigger="submitted" if submission.awaited else "imported",
        submitter=who,
        new=new,
    )


def _must_count(session: Session, settings: ServiceSettings) -> bool:
    """Whether the open runs that nobody awaits must be counted.

    Counting takes the longer the longer the queue is. Beside a long one the runs are not counted again for a
    moment, unless so many of the places are taken that submissions might fill them meanwhile.
    """
    number = _known_number(session, settings).get(_UNAWAITED)
    return number is None or number >= settings.unawaited_runs // 2


def _has_place(session: Session, settings: ServiceSettings, counted: int | None) -> bool:
    """Whether one more run may be open whose result nobody awaits. `counted` is None if they are known."""
    known = _known_number(session, settings)
    number = known.get(_UNAWAITED) if counted is None else counted
    if number is None:
        # It has been forgotten meanwhile.
        number = count_open(session, IMPORTED)
    # This one counts, too.
    known[_UNAWAITED] = number + 1
    return number < settings.unawaited_runs


def _known_number(session: Session, settings: ServiceSettings) -> dict[str, int]:
    """The place of the number beside a long queue; else an empty one, which is forgotten."""
    is_worth_it = settings.unawaited_runs >= _MANY_PLACES
    facts = facts_beside_long_queue(session) if is_worth_it else None
    return {} if facts is None else facts


def _secret_again(
    session: Session, earlier: EarlierRequest, key: str, *, who: str | None, settings: ServiceSettings
) -> str | None:
    """The withdraw secret for the submitter, who repeats the request. None for everyone else.

    Others may guess a key, and the body is public. So a caller without a token is taken for the submitter
    only where all callers are on this machine.
    """
    if earlier.salt is None or earlier.submitter != who or (who is None and not settings.listens_on_loopback):
        return None
    secret = secret_of_key(key, earlier.salt)
    report = queries.report_of(session, earlier.document.report.id or "")
    if report is None or report.withdrawn_at is not None or report.withdraw_digest != secret_digest(secret):
        return None
    return secret


def read_submission(submission: Submission, *, settings: ServiceSettings) -> Reading:
    """The reading of a submission, with what the submitter corrected in it. Raises InputError."""
    if (submission.script is None) == (submission.report is None):
        raise InputError("Send either a script or a report.", code="script_or_report")
    reading = check_report(
        form=submission.form,
        text=submission.text,
        claim=submission.claim,
        title=submission.title,
        source_url=submission.source_url,
        settings=settings,
        ignore_needs=submission.ignore_needs,
    )
    return with_corrected_environment(reading, submission.environment)


def planned_run(
    session: Session,
    submission: Submission,
    reading: Reading,
    nodes: Sequence[Hello],
    *,
    settings: ServiceSettings,
) -> RunDocument:
    """The run as it would be planned, with an estimate of its duration."""
    plan = None if reading.ask else plan_run(session, reading, submission, fleet=nodes, settings=settings)
    document = plan_document(
        reading, plan, title=submission.title, source_url=submission.source_url or reading.source_url
    )
    if plan is None:
        return document
    contrast = None
    if submission.awaited:
        contrast = possible_contrast(reading, plan, submission.text, fleet=nodes, settings=settings)
    return with_estimate(session, document, plan, nodes, contrast=contrast, settings=settings)
