"""Labels, closing, reopening and confirming of reports.

A report is closed with a reason, a disposition, or both. A confirmed bug stays open.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, InputError
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.rows.acts import store_act
from app.runs.rows.by_id import get_report
from app.runs.run_object.answer.disposition_part import DISPOSITIONS
from app.states import Disposition
from app.storage.queries import runs as queries
from worker.contract.text import storable_text

LABEL_CHARACTERS = 50
MOST_LABELS = 20
FIX_CHARACTERS = 200


def label_report(
    session: Session,
    report_id: str,
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    reason: str,
    who: str,
) -> None:
    """Add and remove labels. A label that is already there, or already missing, is no error.

    Raises NotFoundError, InputError.
    """
    report = get_report(session, report_id, lock=True)
    added, removed = [_label(one, "add") for one in add], [_label(one, "remove") for one in remove]
    if not added and not removed:
        raise InputError("Name a label to add or to remove.", code="no_label", field="add")
    if set(added) & set(removed):
        raise InputError("A label is either added or removed.", code="label_twice", field="remove")
    labels = sorted({*report.labels, *added} - set(removed))
    if len(labels) > MOST_LABELS:
        raise InputError(f"A report has at most {MOST_LABELS} labels.", code="too_many_labels", field="add")
    details = {
        "added": sorted(set(labels) - set(report.labels)),
        "removed": sorted(set(report.labels) - set(labels)),
    }
    store_act(session, "report", report_id, "labelled", reason=reason, who=who, details=details)
    report.labels = labels


def close_report(
    session: Session,
    report_id: str,
    *,
    disposition: Disposition | None = None,
    duplicate_of: str | None = None,
    fixed_by: str = "",
    reason: str = "",
    who: str,
) -> None:
    """Close a report, perhaps with a disposition: a duplicate of another report, or fixed by something.

    A disposition without a reason gets its own sentence as the reason.

    Raises NotFoundError, ConflictError if it is closed, InputError.
    """
    report = get_report(session, report_id, lock=True)
    if report.closed_at is not None:
        raise ConflictError("This report is closed already.", code="report_closed")
    if duplicate_of is not None:
        disposition = disposition or "duplicate"
    _check_duplicate(session, report_id, disposition, duplicate_of)
    fixed_by = _checked_fix(disposition, fixed_by)
    if disposition is not None and not reason.strip():
        reason = DISPOSITIONS[disposition].sentence
    details = {"duplicate_of": duplicate_of, "disposition": disposition, "fixed_by": fixed_by or None}
    store_act(session, "report", report_id, "closed", reason=reason, who=who, details=details)
    report.closed_at, report.duplicate_of, report.disposition = now(), duplicate_of, disposition
    report.confirmed_at = None
    store_report_verdict(session, report_id)


def confirm_report(session: Session, report_id: str, *, reason: str = "", who: str) -> None:
    """Confirm that a report is a bug. It stays open, and it leaves the unexplained ones.

    Without a reason it gets its own sentence.

    Raises NotFoundError, ConflictError if it is closed, withdrawn or confirmed, InputError.
    """
    report = get_report(session, report_id, lock=True)
    if report.closed_at is not None:
        raise ConflictError("This report is closed. Reopen it first.", code="report_closed")
    if report.withdrawn_at is not None:
        raise ConflictError("This report was withdrawn.", code="report_withdrawn")
    if report.confirmed_at is not None:
        raise ConflictError("This report is a confirmed bug already.", code="report_confirmed")
    reason = reason if reason.strip() else DISPOSITIONS["confirmed"].sentence
    store_act(session, "report", report_id, "confirmed", reason=reason, who=who, details={})
    report.confirmed_at = now()
    store_report_verdict(session, report_id)


def unconfirm_report(session: Session, report_id: str, *, reason: str, who: str) -> None:
    """Take the confirmation of a bug back. Raises NotFoundError, ConflictError without one, InputError."""
    report = get_report(session, report_id, lock=True)
    if report.confirmed_at is None:
        raise ConflictError("Nobody has confirmed that this is a bug.", code="report_not_confirmed")
    store_act(session, "report", report_id, "unconfirmed", reason=reason, who=who, details={})
    report.confirmed_at = None
    store_report_verdict(session, report_id)


def _check_duplicate(
    session: Session, report_id: str, disposition: Disposition | None, duplicate_of: str | None
) -> None:
    """Raises InputError unless a duplicate, and nothing else, names another report of this service."""
    if (disposition == "duplicate") != (duplicate_of is not None):
        raise InputError(
            "A duplicate names the report that it duplicates, and nothing else does.",
            code="bad_duplicate",
            field="duplicate_of",
        )
    if duplicate_of is not None and (
        duplicate_of == report_id or queries.report_of(session, duplicate_of) is None
    ):
        raise InputError(
            "duplicate_of is the id of another report of this service.",
            code="bad_duplicate",
            field="duplicate_of",
        )


def _checked_fix(disposition: Disposition | None, fixed_by: str) -> str:
    """The words for the fix, in one line. Raises InputError unless `fixed`, and nothing else, says that."""
    text = " ".join(storable_text(fixed_by).split())
    if (disposition == "fixed") != (text != ""):
        raise InputError(
            "Name the fix, such as a version or the address of a change. Only “fixed” has one.",
            code="bad_fix",
            field="fixed_by",
        )
    if len(text) > FIX_CHARACTERS or not text.isprintable():
        raise InputError(
            f"The fix has at most {FIX_CHARACTERS} printable characters.",
            code="bad_fix",
            field="fixed_by",
        )
    return text


def reopen_report(session: Session, report_id: str, *, reason: str, who: str) -> None:
    """Open a closed report again. Raises NotFoundError, ConflictError if it is open, InputError."""
    report = get_report(session, report_id, lock=True)
    if report.closed_at is None:
        raise ConflictError("This report is open.", code="report_open")
    store_act(
        session,
        "report",
        report_id,
        "reopened",
        reason=reason,
        who=who,
        details={"duplicate_of": report.duplicate_of, "disposition": report.disposition},
    )
    report.closed_at = report.duplicate_of = report.disposition = None
    store_report_verdict(session, report_id)


def _label(text: str, field: str) -> str:
    label = text.strip()
    if not 1 <= len(label) <= LABEL_CHARACTERS or not label.isprintable() or "," in label:
        raise InputError(
            f"A label has 1 to {LABEL_CHARACTERS} printable characters and no comma.",
            code="bad_label",
            field=field,
        )
    return label
