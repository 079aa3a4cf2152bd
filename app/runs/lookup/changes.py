"""Lists of changes for pages, REST and feeds, by kind, toolchain and time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.errors import InputError
from app.ids import id_at, is_id
from app.judging.judgement import Verdict
from app.judging.report.change import ChangeKind
from app.judging.report.triage import TriageGroup
from app.runs.rows.nodes import with_hellos
from app.runs.rows.page import Page, page
from app.runs.run_object.removal_part import RemovalPart, removal_words
from app.storage.models import ChangeRow
from app.storage.queries import changes as queries
from app.storage.queries.queue.nodes import all_nodes
from app.storage.queries.reports import search as search_queries
from app.storage.queries.triage import GROUPS
from app.targets.fleet import newest_first, usable_toolchains
from app.targets.versions.release_lines import RankedToolchain, newest_tried, with_lines
from app.targets.versions.rerun import base_of
from worker.contract import Device, ToolchainFacts
from worker.contract.text import storable_text

NEWEST = "newest"


class ChangeSummary(BaseModel):
    """A change of the verdict between two cells of a report, with both jobs as evidence.

    `words` has only fixed words, versions and labels.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    kind: ChangeKind
    report: str
    title: str
    source_url: str | None
    script: str
    run: str
    job: str
    before_job: str
    target: str
    before_target: str
    toolchain: str
    before_toolchain: str
    axis: str | None = Field(
        description="the package whose version is the only difference; null if there is no single one"
    )
    older: str
    newer: str
    before: Verdict
    after: Verdict
    differs: list[str] = Field(
        description="other possible reasons, the most likely first; empty unless it is confounded"
    )
    missing: str = Field(description="the cell that would decide; empty unless it is confounded")
    removal: RemovalPart | None = Field(
        default=None,
        description="what the newer version lacks, with the warning of the older one if it announced that",
    )
    group: TriageGroup | None = Field(
        default=None,
        description="what is left to do about a regression; null for changes of other kinds."
        " A maintainer who closes or overrules the report settles it",
    )
    words: str
    created_at: datetime


class ChangeList(BaseModel):
    """A page of changes, newest first."""

    items: list[ChangeSummary]
    next: str | None = Field(description="the cursor of the next page; null on the last one")


def list_changes(
    session: Session,
    *,
    kinds: Collection[ChangeKind] = (),
    group: TriageGroup | None = None,
    toolchain: str = "",
    newest: NewestToolchains | None = None,
    report: str | None = None,
    since: str = "",
    cursor: str | None = None,
    limit: int = 50,
) -> Page[ChangeSummary]:
    """A page of changes, newest first. `toolchain` may be `newest`; `newest` has these toolchains if known.

    Raises InputError for a bad cursor, limit, id or date.
    """
    if report is not None and not is_id(report):
        raise InputError(
            "A report has an id of 26 characters. It is the last part of its address.",
            code="bad_id",
            field="report",
        )
    toolchain = storable_text(toolchain)
    if toolchain == NEWEST and newest is None:
        newest = newest_toolchains(session)
    ranks = newest.ranks() if newest is not None and toolchain == NEWEST else None
    first_id = since_id(since)

    def read(before: str | None, most: int) -> Sequence[Row[ChangeRow, str, str | None, int]]:
        return queries.changes(
            session,
            kinds=kinds,
            group=group,
            toolchain=toolchain if ranks is None else "",
            ranks=ranks,
            report_id=report,
            since=first_id,
            before=before,
            limit=most,
        )

    rows = page(read, cursor=cursor, limit=limit, id_of=lambda row: row.ChangeRow.id)
    return rows.map(lambda row: change_summary(*row))


def reports_by_kind(session: Session, newest: NewestToolchains) -> dict[ChangeKind, int]:
    """How many reports changed in which way with the newest toolchains that they were tried with."""
    return queries.count_reports(session, newest.ranks())


def known_toolchains(session: Session) -> list[ToolchainFacts]:
    """All toolchains that nodes have ever offered, newest first."""
    fleet = [hello for _, hello in with_hellos(all_nodes(session))]
    return [facts for facts in newest_first(usable_toolchains(fleet).values(), Device.CPU) if not facts.base]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestToolchains:
    """The newest toolchains of each package: those with results, and those that no report was tried with.

    `every` has all known ones. A change counts as one of the newest if its report was tried with no newer
    release line.
    """

    every: Sequence[ToolchainFacts]
    tried: tuple[str, ...]
    untried: tuple[str, ...]
    # Names on which cells ran, each with the known toolchain that it extends by added packages.
    layered: Mapping[str, str]

    def ranks(self) -> list[RankedToolchain]:
        """All known toolchains with their release lines, also those with added packages."""
        ranks = {one.name: one for one in with_lines(self.every)}
        layered = [
            RankedToolchain(name, ranks[base].package, ranks[base].line)
            for name, base in self.layered.items()
        ]
        return [*ranks.values(), *layered]


def newest_toolchains(session: Session, known: Sequence[ToolchainFacts] | None = None) -> NewestToolchains:
    """The newest toolchains by what ran on them. `known` are all toolchains, if they have been read."""
    known = known_toolchains(session) if known is None else known
    names = {facts.name for facts in known}
    seen = queries.with_results(session, search_queries.toolchains_seen(session))
    # A name may have packages that were added for a report.
    bases = {name: base_of(name, names) for name in seen if name not in names}
    layered = {name: base for name, base in bases.items() if base in names}
    tried, untried = newest_tried(known, {layered.get(name, name) for name in seen})
    return NewestToolchains(every=known, tried=tuple(tried), untried=tuple(untried), layered=layered)


def since_id(text: str) -> str | None:
    """The first id of a date, or of a date with a time. Raises InputError."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return id_at(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise InputError(
            "since is a date, or a date with a time, such as 2026-11-01 or 2026-11-01T12:00:00Z.",
            code="bad_since",
            field="since",
        ) from error


def change_summary(row: ChangeRow, title: str, source_url: str | None, number: int) -> ChangeSummary:
    """The change of a row. `number` is that of its group."""
    return ChangeSummary(
        id=row.id,
        kind=row.kind,
        report=row.report_id,
        title=title,
        source_url=source_url,
        script=row.script_digest,
        run=row.run_id,
        job=row.job_id,
        before_job=row.before_job_id,
        target=row.target,
        before_target=row.before_target,
        toolchain=row.toolchain,
        before_toolchain=row.before_toolchain,
        axis=row.axis or None,
        older=row.older,
        newer=row.newer,
        before=row.before,
        after=row.after,
        differs=row.differs,
        missing=row.missing,
        removal=None if row.removal is None else RemovalPart.model_validate(row.removal),
        group=GROUPS[number] if row.kind is ChangeKind.REGRESSED else None,
        words=_words(row),
        created_at=row.created_at,
    )


def _words(row: ChangeRow) -> str:
    """The change in a few sentences."""
    removal = None if row.removal is None else RemovalPart.model_validate(row.removal)
    return _change_words(row) + ("" if removal is None else f" {removal_words(removal)}")


def _change_words(row: ChangeRow) -> str:
    match row.kind:
        case ChangeKind.REGRESSED:
            return f"It happens with {row.axis} {row.newer}, and did not with {row.older}."
        case ChangeKind.FIXED:
            return f"It does not happen with {row.axis} {row.newer}, and did with {row.older}."
        case ChangeKind.CONFOUNDED:
            where = "there before" if row.target == row.before_target else f"on {row.before_target}"
            return (
                f"On {row.target} it is {_plain(row.after)}, {where} it was {_plain(row.before)}."
                f" Other differences may be the reason: {', '.join(row.differs)}."
                f" This cell would decide: {row.missing}."
            )
        case ChangeKind.OTHER:
            by = (
                f"between {row.axis} {row.older} and {row.newer}"
                if row.axis
                else "and no difference is known"
            )
            return f"On {row.target} it went from {_plain(row.before)} to {_plain(row.after)}, {by}."


def _plain(verdict: Verdict) -> str:
    return verdict.replace("_", " ")
