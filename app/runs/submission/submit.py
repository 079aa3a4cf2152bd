"""Take a submission in: read it, plan it, store it as a report with a run, once per idempotency key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, IdempotencyError, InputError
from app.ids import new_id
from app.intake.read import read
from app.intake.reading import Reading
from app.intake.text.thread import is_address
from app.intake.text.title import title_of_claim
from app.runs.estimates.plan_document import plan_document
from app.runs.estimates.waiting import with_estimate
from app.runs.rows.facts import document_of
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.rows.search_index import index_report
from app.runs.rows.similar_reports import mark
from app.runs.rows.withdraw_secret import give_secret
from app.runs.run_object.document import RunDocument
from app.runs.run_object.storable import json_digest, split_reading
from app.runs.submission.launch import Wish, launch_reading, plan_of
from app.settings import ServiceSettings
from app.states import Trigger
from app.storage.models import ReportRow
from app.storage.models.report import Form
from app.storage.queries import keys
from app.storage.queries import runs as queries
from app.storage.queries.rerun import IMPORTED, count_open
from app.targets.target import Target
from worker.contract import Hello
from worker.contract.text import storable_text

TITLE_CHARACTERS = 300
KEY_CHARACTERS = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What `POST /runs` takes; exactly one of `script` and `report`."""

    script: str | None = None
    report: str | None = None
    claim: str | None = None
    preset: str | None = None
    targets: tuple[Target, ...] | None = None
    repeats: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    title: str = ""
    source_url: str | None = None
    # Whether somebody waits for the answer; what nobody does runs behind what others wait for.
    awaited: bool = True
    idempotency_key: str | None = None

    def digest(self) -> str:
        """What an idempotency key stands for."""
        said = {name: getattr(self, name) for name in ("script", "report", "claim", "title", "source_url")}
        # As before there was this: a key of then is known again.
        unawaited = {} if self.awaited else {"awaited": False}
        return json_digest(said | self.wish.asked() | unawaited)

    @property
    def wish(self) -> Wish:
        """What the run should cover."""
        return Wish(
            preset=self.preset,
            targets=self.targets,
            repeats=self.repeats,
            include=self.include,
            exclude=self.exclude,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitResult:
    """The run as planned; `created` is False when the idempotency key was answered before."""

    document: RunDocument
    created: bool
    # With which the submitter may withdraw the report; given once.
    withdraw_secret: str | None = None


def submit(
    session: Session,
    request: Submission,
    *,
    settings: ServiceSettings,
    dry_run: bool = False,
    fleet: Sequence[Hello] | None = None,
) -> SubmitResult:
    """Store and queue a submission. `dry_run` plans and stores nothing. Raises InputError, ConflictError; the caller commits."""
    reading = _read(request, settings=settings)
    nodes = known_fleet(session, settings=settings) if fleet is None else fleet
    if dry_run:
        made = (
            None if reading.ask else plan_of(session, reading, request.wish, fleet=nodes, settings=settings)
        )
        planned = plan_document(
            reading, made, title=request.title, source_url=request.source_url or reading.source_url
        )
        document = (
            planned if made is None else with_estimate(session, planned, made, nodes, settings=settings)
        )
        return SubmitResult(document=document, created=False)
    run_id = new_id()
    answered = answered_before(session, request.idempotency_key, body_digest=request.digest(), run_id=run_id)
    if answered is not None:
        return SubmitResult(document=answered, created=False)
    if not request.awaited and count_open(session, IMPORTED) >= settings.unawaited_runs:
        raise ConflictError(
            f"{settings.unawaited_runs} runs that nobody waits for are open, which is the most: send it again when some have ended.",
            code="too_many_unawaited",
        )
    report = keep_report(
        session,
        reading,
        form="report" if request.script is None else "script",
        text=_text(request),
        claim=request.claim,
        title=request.title,
        source_url=request.source_url,
    )
    secret = give_secret(report)
    occasion: Trigger = "submitted" if request.awaited else "imported"
    document = launch_reading(
        session,
        report,
        reading,
        request.wish,
        run_id=run_id,
        fleet=nodes,
        settings=settings,
        occasion=occasion,
    )
    return SubmitResult(document=document, created=True, withdraw_secret=secret)


def keep_report(
    session: Session,
    reading: Reading,
    *,
    form: Form,
    text: str,
    claim: str | None,
    title: str,
    source_url: str | None,
    moment: datetime | None = None,
) -> ReportRow:
    """Store a report with what was read from it, as of now or of a moment in the past."""
    kept, texts = split_reading(reading)
    moment = moment or now()
    keys.keep_scripts(session, texts, moment=moment)
    main = reading.scripts[0].digest if reading.scripts else None
    if main is not None:
        mark(session, main, texts[main])
    report = ReportRow(
        id=new_id(moment),
        title=storable_text(title or reading.title or title_of_claim(reading.claim)),
        source_url=source_url or reading.source_url,
        form=form,
        text=text,
        claim_text=None if claim is None else storable_text(claim),
        reading=kept,
        main_script=main,
        considered_at=moment,
        created_at=moment,
    )
    session.add(report)
    session.flush()
    index_report(session, report)
    return report


def answered_before(
    session: Session, key: str | None, *, body_digest: str, run_id: str
) -> RunDocument | None:
    """The run that this key made before, or None and the key is ours. Raises IdempotencyError for another body."""
    if key is None:
        return None
    if not 1 <= len(key) <= KEY_CHARACTERS or not key.isprintable():
        raise InputError(
            f"An Idempotency-Key is 1 to {KEY_CHARACTERS} printable characters.",
            code="bad_idempotency_key",
            field="Idempotency-Key",
        )
    taken = keys.take_key(session, key, body_digest=body_digest, run_id=run_id, moment=now())
    if taken is None:
        return None
    if taken.body_digest != body_digest:
        raise IdempotencyError("This Idempotency-Key was used with another body.", field="Idempotency-Key")
    run = queries.run_of(session, taken.run_id)
    if run is None:
        raise IdempotencyError("This Idempotency-Key belongs to a run that is gone.", field="Idempotency-Key")
    return document_of(session, run)


def check_report(
    *, form: Form, text: str, claim: str | None, title: str, source_url: str | None, settings: ServiceSettings
) -> Reading:
    """Read what was submitted. Raises InputError for what can't be taken."""
    if len(title) > TITLE_CHARACTERS:
        raise InputError(
            f"A title has at most {TITLE_CHARACTERS} characters.", code="bad_title", field="title"
        )
    if source_url is not None and not is_address(source_url):
        raise InputError(
            "A source_url is an http or https address.", code="bad_source_url", field="source_url"
        )
    # A NUL in a script is left for its parser to refuse, by line and column.
    return read(
        text if form == "script" else storable_text(text),
        form=form,
        claim=claim,
        title=title,
        limits=settings.read_limits,
    )


def _text(request: Submission) -> str:
    return storable_text((request.script if request.report is None else request.report) or "")


def _read(request: Submission, *, settings: ServiceSettings) -> Reading:
    """Check what was sent and read it."""
    if (request.script is None) == (request.report is None):
        raise InputError("Send either a script or a report.", code="script_or_report")
    return check_report(
        form="report" if request.script is None else "script",
        text=(request.script if request.report is None else request.report) or "",
        claim=request.claim,
        title=request.title,
        source_url=request.source_url,
        settings=settings,
    )
