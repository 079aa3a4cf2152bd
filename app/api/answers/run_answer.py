"""A run as REST answers it: the run object with addresses of what belongs to it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import Query, Request
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from app.http.state import state_of
from app.runs.lookup.answers import known_by_report
from app.runs.lookup.runs import run_document, run_json
from app.runs.rows.by_id import get_run
from app.runs.rows.nodes import fleet
from app.runs.run_object.answer.brief import BriefPart, brief_of
from app.runs.run_object.answer.places import packages_to_name
from app.runs.run_object.document import RunDocument
from app.settings import ServiceSettings
from app.targets.versions.series import has_versions

API = "/api/v1"
View = Annotated[
    Literal["full", "brief"],
    Query(description="`brief`: at most 2 kB, and only our own words: verdict, four sentences, next step"),
]


class RunLinks(BaseModel):
    """Absolute addresses of what belongs to a run."""

    run: str = Field(description="the run object")
    brief: str = Field(description="the run in brief: our own words only, at most 2 kB")
    events: str = Field(description="the events of the run as a stream")
    cancel: str = Field(description="POST: cancel the run")
    rerun: str = Field(description="POST: run cells again")
    bundle: str = Field(description="the run with all its evidence as one file, once it has ended")
    report: str | None = Field(description="the report; null if there is none")
    page: str = Field(description="the page for people")
    markdown: str = Field(description="the page as Markdown, for a comment")


class BriefLinks(BaseModel):
    """Absolute addresses of a brief answer."""

    run: str = Field(description="the run object, with strangers' text")
    brief: str = Field(description="this answer")
    events: str = Field(description="the events of the run as a stream")
    report: str = Field(description="the report; `/bisections` and `/explain` behind it start these")
    page: str = Field(description="the page for people")


class BriefAnswer(BriefPart):
    """A run in brief, at most 2 kB. All of it is our own words: no text of the report or its output."""

    links: BriefLinks = Field(description="addresses of what belongs to it")


class RunAnswer(RunDocument):
    """A run: one launch of a report's scripts on targets, its cells, its attempts and its verdict."""

    url: str | None = Field(default=None, description="address of the run's page for people; null in a plan")
    links: RunLinks | None = Field(
        default=None, description="addresses of what belongs to it; null in a plan"
    )


class SubmittedRun(RunAnswer):
    """A run as planned, with the link that withdraws its report."""

    withdraw_url: str | None = Field(
        default=None,
        description=(
            "a secret address: everyone who has it can erase the report. Only the answer to the submission"
            " has it; null in a plan, and if it was given before"
        ),
    )


def base_address(request: Request) -> str:
    """The address of this service as the caller sees it, without a slash at the end."""
    return (state_of(request).settings.public_url or str(request.base_url)).rstrip("/")


def run_page(base: str, run_id: str) -> str:
    """The address of a run's page."""
    return f"{base}/runs/{run_id}"


def run_links(base: str, run_id: str, report_id: str | None) -> RunLinks:
    """The addresses of what belongs to a run."""
    run = f"{base}{API}/runs/{run_id}"
    return RunLinks(
        run=run,
        brief=f"{run}?view=brief",
        events=f"{run}/events",
        cancel=f"{run}/cancel",
        rerun=f"{run}/rerun",
        bundle=f"{run}/bundle",
        report=None if report_id is None else f"{base}{API}/reports/{report_id}",
        page=run_page(base, run_id),
        markdown=f"{run_page(base, run_id)}.md",
    )


def run_answer(request: Request, document: RunDocument) -> RunAnswer:
    """The answer with a run that is stored."""
    return RunAnswer.model_validate({**dict(document), **_addresses(request, document)})


def submitted_run(
    request: Request, document: RunDocument, *, secret: str | None, planned_only: bool
) -> SubmittedRun:
    """The answer to a submission. `secret` is that of the withdraw link."""
    addresses = {} if planned_only else _addresses(request, document)
    url = None if secret is None else f"{base_address(request)}/withdraw/{secret}"
    return SubmittedRun.model_validate({**dict(document), **addresses, "withdraw_url": url})


def brief_answer(
    document: RunDocument, *, base: str, can_bisect: bool = True, of_report: str = ""
) -> BriefAnswer:
    """The answer with a run in brief. `can_bisect` and `of_report` as in `brief_of`."""
    links = run_links(base, document.id, document.report.id).model_dump(include=set(BriefLinks.model_fields))
    brief = brief_of(document, can_bisect=can_bisect, of_report=of_report)
    return BriefAnswer.model_validate({**dict(brief), "links": links})


def _addresses(request: Request, document: RunDocument) -> dict[str, Any]:
    base = base_address(request)
    links = run_links(base, document.id, document.report.id)
    return {"url": run_page(base, document.id), "links": links}


def with_addresses(content: bytes, *, base: str, run_id: str, report_id: str, **more: str | None) -> bytes:
    """The JSON of a run object, which may come from the cache, with addresses and more fields at its end."""
    added = {
        "url": run_page(base, run_id),
        "links": run_links(base, run_id, report_id).model_dump(),
        **more,
    }
    return content.rstrip()[:-1] + b"," + json.dumps(added).encode()[1:]


def run_content(
    session: Session,
    run_id: str,
    *,
    settings: ServiceSettings,
    base: str,
    view: Literal["full", "brief"] = "full",
    **more: str | None,
) -> bytes:
    """The run as JSON, in full or in brief. Raises NotFoundError."""
    if view == "brief":
        document = run_document(session, run_id, settings=settings)
        can_bisect = has_versions(
            packages_to_name(document, document.jobs), fleet(session, settings=settings)
        )
        of_report = known_by_report(session, document)
        brief = brief_answer(document, base=base, can_bisect=can_bisect, of_report=of_report)
        return brief.model_dump_json().encode()
    content = run_json(session, run_id, settings=settings)
    report_id = get_run(session, run_id).report_id
    return with_addresses(content, base=base, run_id=run_id, report_id=report_id, **more)
