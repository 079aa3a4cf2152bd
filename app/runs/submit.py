"""Take a submission in: read it, plan it, store it as a report with a run, once per idempotency key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import IdempotencyError, InputError, TooLargeError
from app.ids import new_id
from app.intake.read import read
from app.intake.reading import Reading
from app.intake.thread import is_address
from app.runs.document import RunDocument
from app.runs.facts import document_of
from app.runs.keep import digest_of, split_reading, without_nul
from app.runs.launch import Wish, launch_reading, plan_document
from app.runs.nodes import fleet as known_fleet
from app.runs.same_again import mark
from app.settings import ServiceSettings
from app.storage.models import ReportRow
from app.storage.queries import keys
from app.storage.queries import runs as queries
from app.targets.target import Target
from worker.contract import Hello

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
    title: str = ""
    source_url: str | None = None
    idempotency_key: str | None = None

    def digest(self) -> str:
        """What an idempotency key stands for."""
        body = {**asdict(self), "targets": None if self.targets is None else [target.model_dump(mode="json") for target in self.targets]}
        del body["idempotency_key"]
        return digest_of(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitResult:
    """The run as planned; `created` is False when the idempotency key was answered before."""

    document: RunDocument
    created: bool


def submit(
    session: Session,
    request: Submission,
    *,
    settings: ServiceSettings,
    dry_run: bool = False,
    fleet: Sequence[Hello] | None = None,
) -> SubmitResult:
    """Store and queue a submission. `dry_run` plans and stores nothing. Raises InputError, IdempotencyError; the caller commits."""
    reading = _read(request, settings=settings)
    wish = Wish(preset=request.preset, targets=request.targets, repeats=request.repeats)
    nodes = known_fleet(session, absence_seconds=settings.node_absence_seconds) if fleet is None else fleet
    if dry_run:
        document = plan_document(
            reading, wish, fleet=nodes, settings=settings, title=request.title, source_url=request.source_url or reading.source_url
        )
        return SubmitResult(document=document, created=False)
    run_id = new_id()
    answered = answered_before(session, request.idempotency_key, body_digest=request.digest(), run_id=run_id)
    if answered is not None:
        return SubmitResult(document=answered, created=False)
    kept, texts = split_reading(reading)
    moment = now()
    keys.keep_scripts(session, texts, moment=moment)
    main = reading.scripts[0].digest if reading.scripts else None
    if main is not None:
        mark(session, main, texts[main])
    report = ReportRow(
        id=new_id(),
        title=without_nul(request.title or reading.title),
        source_url=request.source_url or reading.source_url,
        form="report" if request.script is None else "script",
        text=_text(request),
        claim_text=None if request.claim is None else without_nul(request.claim),
        reading=kept,
        main_script=main,
        created_at=moment,
    )
    session.add(report)
    session.flush()
    document = launch_reading(session, report, reading, wish, run_id=run_id, fleet=nodes, settings=settings)
    return SubmitResult(document=document, created=True)


def answered_before(session: Session, key: str | None, *, body_digest: str, run_id: str) -> RunDocument | None:
    """The run that this key made before, or None and the key is ours. Raises IdempotencyError for another body."""
    if key is None:
        return None
    if not 1 <= len(key) <= KEY_CHARACTERS or not key.isprintable():
        raise InputError(
            f"An Idempotency-Key is 1 to {KEY_CHARACTERS} printable characters.", code="bad_idempotency_key", field="Idempotency-Key"
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


def _text(request: Submission) -> str:
    return without_nul((request.script if request.report is None else request.report) or "")


def _read(request: Submission, *, settings: ServiceSettings) -> Reading:
    """Check what was sent and read it."""
    if (request.script is None) == (request.report is None):
        raise InputError("Send either a script or a report.", code="script_or_report")
    form, most = ("script", settings.script_bytes) if request.report is None else ("report", settings.report_bytes)
    text = (request.script if request.report is None else request.report) or ""
    if len(text.encode(errors="replace")) > most:
        raise TooLargeError(f"The {form} is larger than {most} bytes.", field=form)
    if request.claim is not None and len(request.claim) > settings.report_bytes:
        raise TooLargeError(f"The claim is larger than {settings.report_bytes} bytes.", field="claim")
    if len(request.title) > TITLE_CHARACTERS:
        raise InputError(f"A title has at most {TITLE_CHARACTERS} characters.", code="bad_title", field="title")
    if request.source_url is not None:
        _check_url(request.source_url)
    # A NUL in a script is left for its parser to refuse, by line and column.
    text = text if form == "script" else without_nul(text)
    return read(text, form="script" if form == "script" else "report", claim=request.claim, title=request.title)


def _check_url(url: str) -> None:
    if not is_address(url):
        raise InputError("A source_url is an http or https address.", code="bad_source_url", field="source_url")
