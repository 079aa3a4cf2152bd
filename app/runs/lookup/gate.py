"""The gate: whether each of some issues still happens, is fixed, cannot be shown here or is unknown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.clock import now
from app.errors import InputError
from app.ids import is_id
from app.intake.reading import Reading, ScriptRole
from app.judging.judgement import INCONCLUSIVE, SIGHTINGS, Defect, Scope, Verdict
from app.judging.report.attention import Attention
from app.judging.report.change import Side
from app.judging.report.gate import (
    GateAnswer,
    GateCell,
    GateFacts,
    GateJudgement,
    GateReason,
    GateRow,
    gate_words,
    judge_gate,
    strictest,
)
from app.runs.lifecycle.report_verdict import rows_by_age
from app.runs.lookup.changes import known_toolchains
from app.runs.rows.document_cache import cached_document
from app.runs.rows.facts import document_of, reading_of
from app.runs.run_object.document import RunDocument
from app.states import OPEN_STATES
from app.storage.models import EnvironmentRow, JobRow, ReportRow, RunRow
from app.storage.queries import runs as run_queries
from app.storage.queries.reports import report_verdict as verdict_queries
from app.storage.queries.reports import reports as queries
from app.targets.fleet import serves
from app.targets.packages import packages_of
from app.targets.target import target_of
from app.targets.versions.release_lines import newest_among
from worker.contract import ToolchainFacts
from worker.contract.text import storable_text
from worker.contract.versions import parse_release

MOST_CHARACTERS = 2000
# One submitter rarely has more reports of an issue than these: each edit of its text makes one.
MOST_REPORTS = 5
# A report, and the id of the token that submitted it.
Sent = tuple[ReportRow, str | None]
_SHORT = re.compile(r"([A-Za-z0-9][\w.-]{0,99}/[\w.-]{1,100})#(\d{1,10})")
_OF_API = re.compile(r"/repos(/[^/]+/[^/]+/(?:issues|pulls)/\d+)")
_CONCLUSIVE = frozenset(Verdict) - INCONCLUSIVE


class FixedInPart(BaseModel):
    """The version in which it was first not seen, on one target."""

    model_config = ConfigDict(frozen=True)

    target: str
    package: str
    last_seen: str = Field(description="the last version of the package in which it was seen")
    version: str = Field(description="the first later version in which it was not seen")


class GateItem(BaseModel):
    """The answer about one issue. All words but `issue` are ours."""

    model_config = ConfigDict(frozen=True)

    issue: str = Field(description="the issue as it was sent")
    answer: GateAnswer
    reason: GateReason
    may_close: bool = Field(
        description="true only if it is fixed in a version, and no newer version is left to try"
    )
    words: str = Field(description="the answer in a sentence, for a comment")
    on: list[str] = Field(description="the targets that the answer rests on")
    fixed_in: list[FixedInPart] = Field(description="only for `fixed`: the version, for each target")
    untried: list[str] = Field(description="toolchains with a newer version that this report has not met")
    undecided: list[str] = Field(description="targets with a newer version that could not show the claim")
    ran_at: datetime | None = Field(description="when the oldest run ended that the answer rests on")
    report: str | None = Field(description="the id of the report, null if there is none")
    run: str | None
    job: str | None
    url: str | None = Field(description="the page of the report on this service, as a path")
    verdict: Verdict | None = Field(description="the current measured verdict of the report")
    overruled: Verdict | None = Field(description="a maintainer's verdict, if there is one")


def gate(session: Session, issues: Sequence[str], *, most: int) -> list[GateItem]:
    """The answer about each issue, an address or the id of a report. Raises InputError."""
    if not 1 <= len(issues) <= most:
        raise InputError(
            f"Send 1 to {most} issues (SAMEHERE_GATE_ISSUES).", code="bad_number_of_issues", field="issues"
        )
    addresses = {issue: addresses_of(issue) for issue in issues}
    by_address = _reports_by_address(session, [each for some in addresses.values() for each in some])
    by_id = {row.id: row for row in queries.reports_by_id(session, [one for one in issues if is_id(one)])}
    known = known_toolchains(session)
    return [
        _item(
            session,
            issue,
            [(by_id[issue], None)]
            if issue in by_id
            else list(
                {
                    row.id: (row, sender)
                    for each in addresses[issue]
                    for row, sender in by_address.get(each, ())
                }.values()
            ),
            known=known,
        )
        for issue in issues
    ]


def addresses_of(issue: str) -> list[str]:
    """The forms in which the address of an issue may be stored; none for the id of a report.

    Raises InputError for anything else.
    """
    text = issue.strip()
    if is_id(text):
        return []
    short = _SHORT.fullmatch(text)
    if short is not None:
        text = f"https://github.com/{short[1]}/issues/{short[2]}"
    try:
        parts = urlsplit(text) if len(text) <= MOST_CHARACTERS else urlsplit("")
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InputError(
            "An issue is its http or https address, OWNER/REPOSITORY#NUMBER, or the id of a report here.",
            code="bad_issue",
            field="issues",
        )
    host, path = parts.netloc.lower(), parts.path.rstrip("/")
    places = [(host, path)]
    of_api = _OF_API.fullmatch(path) if host == "api.github.com" else None
    if of_api is not None:
        places.append(("github.com", of_api[1].replace("/pulls/", "/pull/")))
    elif host == "github.com":
        places.append(("api.github.com", f"/repos{path}"))
    plain = [
        urlunsplit((scheme, where, way + end, "", ""))
        for where, way in places
        for scheme in ("https", "http")
        for end in ("", "/")
    ]
    return list(dict.fromkeys(storable_text(each) for each in (text, *plain)))


def _reports_by_address(session: Session, addresses: Collection[str]) -> dict[str, list[Sent]]:
    """The newest reports of each address and submitter, newest first."""
    reports: dict[str, list[Sent]] = {}
    for row, sender in queries.reports_at(session, addresses, each=MOST_REPORTS):
        reports.setdefault(row.source_url or "", []).append((row, sender))
    return reports


def _item(session: Session, issue: str, sent: Sequence[Sent], *, known: Sequence[ToolchainFacts]) -> GateItem:
    today = now().date()
    ordered = sorted(sent, key=lambda each: each[0].id, reverse=True)
    current = [
        (row, sender) for row, sender in ordered if row.duplicate_of is None and row.withdrawn_at is None
    ] or ordered
    if not current:
        judgement = GateJudgement(answer=GateAnswer.UNKNOWN, reason=GateReason.NO_REPORT)
        return _part(issue, judgement, None, words=gate_words(judgement, today=today))
    judgements = [judge_gate(_facts(session, row, known=known)) for row, _ in current]
    place = strictest(judgements, [sender for _, sender in current])
    row, judgement = current[place][0], judgements[place]
    return _part(issue, judgement, row, words=gate_words(judgement, today=today))


def _part(issue: str, judgement: GateJudgement, row: ReportRow | None, *, words: str) -> GateItem:
    return GateItem(
        issue=issue,
        answer=judgement.answer,
        reason=judgement.reason,
        may_close=judgement.may_close,
        words=words,
        on=list(judgement.on),
        fixed_in=[
            FixedInPart(target=fix.target, package=fix.package, last_seen=fix.last_seen, version=fix.version)
            for fix in judgement.fixed_in
        ],
        untried=list(judgement.untried),
        undecided=list(judgement.undecided),
        ran_at=judgement.at,
        report=None if row is None else row.id,
        run=judgement.run,
        job=judgement.job,
        url=None if row is None else f"/reports/{row.id}",
        verdict=None if row is None else row.verdict,
        overruled=None if row is None else row.overruled,
    )


def _facts(session: Session, report: ReportRow, *, known: Sequence[ToolchainFacts]) -> GateFacts:
    if report.withdrawn_at is not None:
        return GateFacts(is_withdrawn=True)
    runs = [run for run in queries.runs_of_report(session, report.id) if run.contributed_by is None]
    ended = [run for run in runs if run.verdict is not None]
    current = next((run for run in ended if run.verdict is not Verdict.NO_RESULT), None) or next(
        iter(ended), None
    )
    facts = GateFacts(
        rows=_rows(session, report, runs, known=known),
        verdict=None if current is None else current.verdict,
        run=next((run.id for run in runs), None) if current is None else current.id,
        run_at=None if current is None else current.finished_at,
        overruled=report.overruled or (None if current is None else current.overruled),
        seen_before=any(run.verdict in SIGHTINGS for run in ended),
        is_open=any(run.state in OPEN_STATES for run in runs),
    )
    if current is None or current.verdict not in {*SIGHTINGS, Verdict.NOT_REPRODUCED}:
        return facts
    return _with_document(facts, _document(session, current), attention=report.attention)


def _with_document(facts: GateFacts, document: RunDocument, *, attention: Attention | None) -> GateFacts:
    """The facts with those of the run object of the current run."""
    # The attention counts the cells of all runs: a later run elsewhere does not undo that the reporter's
    # environment was tried.
    as_reported = document.scope is Scope.AS_REPORTED or attention is Attention.NEEDS_HUMAN
    return GateFacts(
        rows=facts.rows,
        verdict=facts.verdict,
        run=facts.run,
        run_at=facts.run_at,
        where=tuple(document.where),
        scope=Scope.AS_REPORTED if as_reported else document.scope,
        defect=Defect.NO if document.defect is Defect.NO else None,
        overruled=facts.overruled,
        seen_before=facts.seen_before,
        is_open=facts.is_open,
    )


def _document(session: Session, run: RunRow) -> RunDocument:
    return cached_document(session, run) or document_of(session, run)


def _rows(
    session: Session, report: ReportRow, runs: Sequence[RunRow], *, known: Sequence[ToolchainFacts]
) -> tuple[GateRow, ...]:
    jobs = list(verdict_queries.latest_judged_jobs(session, report.id, without=INCONCLUSIVE))
    if not jobs:
        return ()
    decided = {(job.script_digest, target_of(job).label()) for job in jobs}
    others = [
        job
        for job in verdict_queries.latest_judged_jobs(session, report.id, without=_CONCLUSIVE)
        if (job.script_digest, target_of(job).label()) not in decided
    ]
    reading = reading_of(session, report)
    controls = {script.digest for script in reading.scripts if script.role is ScriptRole.CONTROL}
    environments = run_queries.environments(
        session, {job.environment_digest for job in jobs if job.environment_digest}
    )
    ends = {run.id: run.finished_at or run.created_at for run in runs}
    tried = {target_of(job).toolchain.partition("+")[0] for job in (*jobs, *others)}
    by_age = rows_by_age(session, [*jobs, *others], controls=controls)
    rates = _rates(session, [job for row in by_age.values() for job in _in_doubt(row)], runs)
    return tuple(
        _row(row, reading, environments=environments, ends=ends, known=known, tried=tried, rates=rates)
        for row in by_age.values()
        if any(job.verdict in _CONCLUSIVE for job in row)
    )


def _in_doubt(row: Sequence[JobRow]) -> Sequence[JobRow]:
    """The jobs of a row if chance may explain that a flaky script was not seen again."""
    flaky = any(job.verdict is Verdict.FLAKY for job in row)
    return row if flaky and row[-1].verdict is Verdict.NOT_REPRODUCED else ()


def _rates(session: Session, jobs: Sequence[JobRow], runs: Iterable[RunRow]) -> dict[str, tuple[int, int]]:
    """In how many of how many attempts each of these jobs showed the claim."""
    ids = {job.run_id for job in jobs}
    documents = [_document(session, run) for run in runs if run.id in ids]
    return {job.id: (job.matched, job.of) for document in documents for job in document.jobs}


def _row(
    jobs: Sequence[JobRow],
    reading: Reading,
    *,
    environments: Mapping[str, EnvironmentRow],
    ends: Mapping[str, datetime],
    known: Sequence[ToolchainFacts],
    tried: Collection[str],
    rates: Mapping[str, tuple[int, int]],
) -> GateRow:
    conclusive = [job for job in jobs if job.verdict in _CONCLUSIVE]
    after = jobs[jobs.index(conclusive[-1]) + 1 :]
    cells = tuple(_cell(job, environments, ends, rates.get(job.id, (0, 0))) for job in conclusive)
    scripts = [script for script in reading.scripts if script.digest == jobs[0].script_digest]
    return GateRow(
        cells=cells,
        imported=frozenset(package for script in scripts for package in packages_of(script)),
        untried=_newer_toolchains(conclusive[-1], cells[-1].side, known=known, tried=tried),
        undecided=tuple(target_of(job).label() for job in after),
    )


def _cell(
    job: JobRow,
    environments: Mapping[str, EnvironmentRow],
    ends: Mapping[str, datetime],
    rate: tuple[int, int],
) -> GateCell:
    environment = environments.get(job.environment_digest or "")
    matched, of = rate
    side = Side(
        verdict=job.verdict or Verdict.NO_RESULT,
        matched=matched,
        of=of,
        environment={} if environment is None else environment.facts,
        label=target_of(job).label(),
    )
    return GateCell(side=side, at=ends[job.run_id], run=job.run_id, job=job.id)


def _newer_toolchains(
    job: JobRow, side: Side, *, known: Sequence[ToolchainFacts], tried: Collection[str]
) -> tuple[str, ...]:
    """The newest toolchains that are newer than this job's, and that no job of the report had."""
    uses_torch = bool(side.environment.get("torch.version"))
    version = side.environment.get("torch.version" if uses_torch else "package.numpy")
    newest = set(newest_among(known))
    return tuple(
        facts.name
        for facts in known
        if facts.name in newest - set(tried)
        and (facts.torch is not None) == uses_torch
        and serves(facts, target_of(job).device)
        and parse_release(facts.torch or facts.packages.get("numpy")) > parse_release(version)
    )
