"""Check and read the text of a report, and store the report with the result."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

import structlog

from app.bounded.callers import current_caller
from app.bounded.calls import OverLimitError, call_within_limits
from app.clock import now
from app.errors import InputError
from app.ids import new_id
from app.intake.code.likeness import marks_of
from app.intake.read import may_ask_model, read, text_for_model, with_answer
from app.intake.reading import NeedKind, Reading
from app.intake.text.thread import is_address
from app.intake.text.title import title_of_claim
from app.runs.rows.search_index import index_row
from app.runs.run_object.storable import split_reading
from app.runs.submission.model_reader import ask_model
from app.settings import ServiceSettings
from app.storage.models import ReportRow
from app.storage.models.report import Form
from app.storage.new_rows import NewRows
from worker.contract.text import storable_text

log = structlog.get_logger(__name__)
TITLE_CHARACTERS = 300


def check_report(
    *,
    form: Form,
    text: str,
    claim: str | None,
    title: str,
    source_url: str | None,
    settings: ServiceSettings,
    ignore_needs: Collection[NeedKind] = (),
) -> Reading:
    """Check the fields of a report and read it. Raises InputError, TooLargeError."""
    if len(title) > TITLE_CHARACTERS:
        raise InputError(
            f"A title has at most {TITLE_CHARACTERS} characters.", code="bad_title", field="title"
        )
    if source_url is not None and not is_address(source_url):
        raise InputError(
            "The address of an issue begins with http:// or https://.",
            code="bad_source_url",
            field="source_url",
        )
    # A NUL stays in a script: its parser refuses it and names the line and the column.
    return read_bounded(
        text if form == "script" else storable_text(text),
        form=form,
        claim=claim,
        title=title,
        settings=settings,
        ignore_needs=ignore_needs,
    )


def read_bounded(
    text: str,
    *,
    form: Form,
    claim: str | None,
    title: str,
    settings: ServiceSettings,
    ignore_needs: Collection[NeedKind] = (),
) -> Reading:
    """Read a text in a process with a limit of time. Raises InputError, TooLargeError, UnavailableError."""
    reading = _within_limits(
        read,
        text,
        form=form,
        claim=claim,
        title=title,
        limits=settings.read_limits,
        ignore_needs=tuple(ignore_needs),
    )
    if settings.reader_url is None or claim is not None or not may_ask_model(reading):
        return reading
    if not _may_submit(settings):
        return reading
    answer = ask_model(text_for_model(text), title=title, settings=settings)
    if answer is None:
        return reading
    try:
        return _within_limits(with_answer, reading, answer, text=text, model=settings.reader_model)
    except InputError as error:
        log.warning("model_answer_refused", reason=error.message)
        return reading


def _may_submit(settings: ServiceSettings) -> bool:
    """Whether the present caller may submit: an answer of a model costs the operator money."""
    caller = current_caller.get()
    if caller is None or not caller.is_stranger:
        return True
    scopes = settings.anonymous_scopes
    return settings.listens_on_loopback if scopes is None else "submit" in scopes


def _within_limits(function: Callable[..., Reading], *values: Any, **options: Any) -> Reading:
    try:
        return call_within_limits(function, *values, **options)
    except OverLimitError as error:
        raise InputError(
            f"Reading this text was stopped. {error.message} Send a shorter text, or only the script.",
            code="reading_limit",
            field=options.get("form", "report"),
        ) from error


def add_report(
    new: NewRows,
    reading: Reading,
    *,
    form: Form,
    text: str,
    claim: str | None,
    title: str,
    source_url: str | None,
    moment: datetime | None = None,
    withdraw_digest: str | None = None,
) -> ReportRow:
    """A report with its reading, among rows to be stored: with its scripts and its words in the index.

    `moment` is the time of the report; it is now by default. `withdraw_digest` is that of the secret of its
    submitter.
    """
    stored_reading, scripts = split_reading(reading)
    moment = moment or now()
    main = reading.scripts[0].digest if reading.scripts else None
    marks = {} if main is None else {main: marks_of(scripts[main])}
    new.add_scripts(
        scripts,
        moment=moment,
        marks={digest: (each.shape_digest, each.sketch) for digest, each in marks.items()},
    )
    report = ReportRow(
        id=new_id(moment),
        title=storable_text(title or reading.title or title_of_claim(reading.claim)),
        source_url=source_url or reading.source_url,
        form=form,
        text=text,
        claim_text=None if claim is None else storable_text(claim),
        reading=stored_reading,
        main_script=main,
        withdraw_digest=withdraw_digest,
        considered_at=moment,
        created_at=moment,
    )
    new.add(report, index_row(report))
    return report
