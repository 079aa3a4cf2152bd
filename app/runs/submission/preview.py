"""A submission before anything is stored: how its text is read, and what each choice would run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from app.bounded.calls import OverLimitError, call_within_limits
from app.errors import InputError
from app.intake.read import with_corrected_stances
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.run_object.assemble import report_part
from app.runs.run_object.document import ReportPart, RunDocument
from app.runs.submission.submit import Submission, planned_run, read_submission
from app.settings import ServiceSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """How a submission is read, its plan, and the plans with other presets by their names."""

    report: ReportPart
    plan: RunDocument
    choices: Mapping[str, RunDocument]


def preview(
    session: Session, submission: Submission, *, presets: Collection[str], settings: ServiceSettings
) -> Preview:
    """Read a submission once and plan it, also with other presets. Nothing is stored. Raises InputError.

    A preset that leaves nothing to run, for this script or with these exclusions, is no choice.
    """
    reading = read_submission(submission, settings=settings)
    nodes = known_fleet(session, settings=settings)
    plan = planned_run(session, submission, reading, nodes, settings=settings)
    choices = {}
    for preset in presets:
        chosen = replace(submission, preset=preset)
        try:
            choices[preset] = planned_run(session, chosen, reading, nodes, settings=settings)
        except InputError:
            continue
    return Preview(
        report=report_part(reading, title=submission.title, source_url=submission.source_url),
        plan=plan,
        choices=choices,
    )


def claim_with_stances(
    submission: Submission, stances: Mapping[str, str], *, settings: ServiceSettings
) -> str:
    """The claim as data that follows if exhibits show something else than was read. Raises InputError."""
    reading = read_submission(submission, settings=settings)
    try:
        _, claim = call_within_limits(
            with_corrected_stances,
            reading,
            dict(stances),
            text=submission.text,
            limits=settings.read_limits,
            who="submitter",
        )
    except OverLimitError as error:
        raise InputError(
            f"Reading this claim was stopped. {error.message} Send a shorter text.",
            code="reading_limit",
            field="claim",
        ) from error
    return claim
