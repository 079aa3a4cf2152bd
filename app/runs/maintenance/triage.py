"""Labels, closing and reopening of reports."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, InputError
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.rows.acts import store_act
from app.runs.rows.by_id import get_report
from app.storage.queries import runs as queries

LABEL_CHARACTERS = 50
MOST_LABELS = 20


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
    session: Session, report_id: str, *, duplicate_of: str | None = None, reason: str, who: str
) -> None:
    """Close a report, perhaps as a duplicate.

    Raises NotFoundError, ConflictError if it is closed, InputError.
    """
    report = get_report(session, report_id, lock=True)
    if report.closed_at is not None:
        raise ConflictError("This report is closed already.", code="report_closed")
    if duplicate_of is not None and (
        duplicate_of == report_id or queries.report_of(session, duplicate_of) is None
    ):
        raise InputError(
            "duplicate_of is the id of another report of this service.",
            code="bad_duplicate",
            field="duplicate_of",
        )
    store_act(
        session, "report", report_id, "closed", reason=reason, who=who, details={"duplicate_of": duplicate_of}
    )
    report.closed_at, report.duplicate_of = now(), duplicate_of
    store_report_verdict(session, report_id)


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
        details={"duplicate_of": report.duplicate_of},
    )
    report.closed_at = report.duplicate_of = None
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
