"""A run object, and what is read from a report, as small as a model's context needs them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from app.intake.reading import Ask
from app.judging.judgement import SIGHTINGS, Verdict
from app.mcp.caveats import caveats_of
from app.mcp.strangers_text import StrangersText, quote, quote_end
from app.mcp.views import AnswerView, CellView, CheckView, ReadView, RunView, ScriptView
from app.runs.run_object.answer.check_findings import checks_of_job, told_apart
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.claim_part import CheckPart
from app.runs.run_object.document import AttemptPart, JobPart, ReportPart, RunDocument

_WORD = re.compile(r"[a-z][a-z0-9_.-]{0,59}")


@dataclass(frozen=True, slots=True)
class Size:
    """How much of a result is shown: characters of a text, and items of a list."""

    characters: int
    items: int


def word(text: str | None) -> str | None:
    """A word of ours that comes through a node or a bundle; None for anything that could hold a sentence."""
    return text if text is not None and _WORD.fullmatch(text) else None


def run_view(run: RunDocument, size: Size, *, url: str, withdraw_url: str | None = None) -> RunView:
    """The view of a run. Cells that show the claim come first."""
    jobs = sorted(run.jobs, key=_weight)
    cells = [_cell(run.report.claim.checks, job, size) for job in jobs[: size.items]]
    estimate = run.estimate
    done_in = None if estimate is None or estimate.done_in is None else estimate.done_in.at_most
    return RunView(
        caveats=caveats_of(run),
        run=run.id,
        report=run.report.id,
        url=url,
        state=run.state,
        verdict=run.verdict,
        so_far=run.so_far,
        overruled=None if run.overruled is None else run.overruled.verdict,
        seen=run.seen,
        defect=run.defect,
        cause=word(run.cause),
        summary=run.summary,
        answer=None if run.contributed is not None else _answer(run.answer),
        scope=run.scope,
        where=run.where[: size.items],
        not_where=run.not_where[: size.items],
        newest=run.newest,
        without_result=run.without_result,
        contrast=None if run.contrast is None else str(run.contrast.kind),
        contrast_target=None if run.contrast is None else run.contrast.target or run.contrast.added,
        missing=run.missing,
        ask=run.ask,
        cells=cells,
        cells_left_out=len(jobs) - len(cells),
        comparisons=[one.id for one in run.comparisons[: size.items]],
        withdraw_url=withdraw_url,
        seconds_at_most=done_in,
    )


def _answer(part: AnswerPart) -> AnswerView | None:
    """The four sentences; None before the run has any."""
    if not part.what:
        return None
    return AnswerView(
        what=part.what,
        where=part.where,
        how_sure=part.how_sure,
        whose=part.whose,
        owner=str(part.owner),
    )


def _weight(job: JobPart) -> int:
    if job.verdict in SIGHTINGS:
        return 0
    return 2 if job.verdict in {None, Verdict.NO_RESULT, Verdict.CANNOT_SHOW} else 1


def _cell(checks: Sequence[CheckPart], job: JobPart, size: Size) -> CellView:
    attempt = _telling(job.attempts)
    exception = None if attempt is None else attempt.exception
    output = "" if attempt is None else attempt.stdout or attempt.stderr
    return CellView(
        job=job.id,
        target=job.target.label,
        state=job.state,
        verdict=job.verdict,
        reason=None if job.reason is None else word(job.reason.code) or "other",
        matched=job.matched,
        of=job.of,
        rate_upper_bound=job.rate_upper_bound,
        attempt=None if attempt is None else attempt.id,
        exception=None
        if exception is None
        else quote(f"{exception.type}: {exception.message}", size.characters),
        output_end=quote_end(output, size.characters) if output else None,
        checks=[
            CheckView(
                check=quote(finding.text, size.characters),
                role=check.role,
                number=quote(number, size.characters) if (number := told_apart(checks, check)) else None,
                result=str(finding.result),
                observed=quote(finding.observed, size.characters),
            )
            for check, finding in islice(checks_of_job(checks, job), size.items)
        ],
    )


def _telling(attempts: Sequence[AttemptPart]) -> AttemptPart | None:
    """The first counted attempt that was recorded."""
    return next((one for one in attempts if one.counted and one.state == "recorded"), None)


def read_view(
    report: ReportPart, verdict: Verdict | None, ask: Sequence[Ask], claim: Mapping[str, Any], size: Size
) -> ReadView:
    """The view of a reading."""
    checks = len(report.claim.checks)
    caveats = []
    if ask:
        caveats.append(
            "This is no `not_reproduced`: the report lacks something. Ask its reporter; see `ask`."
        )
    if not checks:
        caveats.append(
            "The claim has no check, so a run of it could only be `observed`. Write a claim as data."
        )
    return ReadView(
        caveats=caveats,
        shortened=len(report.scripts) > size.items,
        verdict=verdict,
        ask=list(ask),
        title=quote(report.title, size.characters),
        scripts=[
            ScriptView(
                role=script.role,
                digest=script.digest,
                code=quote(script.script, 4 * size.characters),
                repairs=[word(repair.code) or "other" for repair in script.repairs],
                needs=sorted({str(need.kind) for need in script.needs}),
            )
            for script in report.scripts[: size.items]
        ],
        checks=checks,
        # Half of a claim would be no JSON, so it is whole or not there.
        claim=_whole_json(claim, 8 * size.characters),
        environment=_whole_json(report.environment, 2 * size.characters),
    )


def _whole_json(data: Any, most: int) -> StrangersText:
    text = json.dumps(data, ensure_ascii=True)
    return quote(text, most) if len(text) <= most else StrangersText(untrusted_text="", cut=True)
