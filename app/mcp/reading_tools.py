"""The tools that only read: a report's text, two attempts, the history, the gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from app.judging.judgement import Verdict
from app.judging.report.gate import GateAnswer
from app.mcp.arguments import CompareArguments, GateArguments, ReadArguments, SearchArguments
from app.mcp.rest import Rest, RestError
from app.mcp.run_view import Size, read_view, word
from app.mcp.strangers_text import quote
from app.mcp.views import (
    CompareView,
    DifferenceView,
    FoundView,
    GateAnswerView,
    GateView,
    ReadView,
    SearchView,
)
from app.runs.run_object.document import ComparisonPart, DifferencePart, ReportPart, TargetPart

Document = TypeVar("Document", bound=BaseModel)


def document(kind: type[Document], data: Any) -> Document:
    """An answer of REST as a document. Raises RestError if this version can't read it."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise RestError(
            "The service's answer is not of this version: is it a newer or an older samehere?"
        ) from error


async def read_report(rest: Rest, arguments: ReadArguments) -> Callable[[Size], ReadView]:
    """Read a text. Raises RestError."""
    data = await rest.post("/reports:read", arguments.body())
    report = document(ReportPart, data.get("report"))
    claim = (data.get("report") or {}).get("claim") or {}
    verdict = None if data.get("verdict") is None else Verdict(data["verdict"])
    ask = document(_Asks, {"ask": data.get("ask", [])}).ask
    return lambda size: read_view(report, verdict, ask, claim, size)


async def compare(rest: Rest, arguments: CompareArguments) -> Callable[[Size], CompareView]:
    """Compare two attempts. Raises RestError."""
    name = f"{arguments.baseline}-{arguments.candidate}"
    data = document(_Comparison, await rest.get(f"/comparisons/{name}"))
    targets = [document(TargetPart, side.get("target")).label for side in (data.baseline, data.candidate)]
    caveats = list(data.cannot_say)
    if data.comparison.result == "identical":
        caveats.append("Two attempts that agree are two attempts: others may differ.")
    if not data.same_script:
        caveats.append("The two attempts ran different scripts.")
    return lambda size: CompareView(
        caveats=caveats,
        url=rest.page(f"/compare?baseline={arguments.baseline}&candidate={arguments.candidate}"),
        result=str(data.comparison.result),
        cause=word(data.comparison.cause) or "other",
        same_script=data.same_script,
        targets=targets,
        differences=[_difference(one, size) for one in data.comparison.differences[: size.items]],
        differences_left_out=max(0, len(data.comparison.differences) - size.items),
        environment=[name for one in data.environment[: 2 * size.items] if (name := word(one.about))],
        cannot_say=[],
    )


def _difference(one: DifferencePart, size: Size) -> DifferenceView:
    return DifferenceView(
        about=quote(one.about, size.characters),
        baseline=quote(one.baseline, size.characters),
        candidate=quote(one.candidate, size.characters),
        note=quote(one.note, size.characters),
    )


async def search(rest: Rest, arguments: SearchArguments) -> Callable[[Size], SearchView]:
    """Search the history. Raises RestError."""
    query: dict[str, Any] = {
        "q": arguments.query or None,
        "source_url": arguments.source_url,
        "cursor": arguments.cursor,
    }
    data = await rest.get("/reports", limit=arguments.limit, **query)
    page = document(_ReportPage, data)
    caveats = [] if page.items else ["Nothing was found. This says nothing about what happens."]
    return lambda size: SearchView(
        caveats=caveats,
        items=[_found_view(item, size, rest) for item in page.items],
        next=page.next,
    )


def _found_view(item: _FoundReport, size: Size, rest: Rest) -> FoundView:
    latest = item.latest
    return FoundView(
        report=item.id,
        url=rest.page(f"/reports/{item.id}"),
        title=quote(item.title, size.characters),
        source_url=None if item.source_url is None else quote(item.source_url, size.characters),
        verdict=None if latest is None else latest.verdict,
        overruled=item.overruled or (None if latest is None else latest.overruled),
        summary="" if latest is None else latest.summary,
        run=None if latest is None else latest.id,
        is_open=item.closed_at is None,
    )


_ANSWERS = {
    GateAnswer.STILL_HAPPENS: "still happens",
    GateAnswer.FIXED: "fixed",
    GateAnswer.NOT_SHOWN: "cannot be shown here, which does not mean fixed",
    GateAnswer.UNKNOWN: "unknown here, which does not mean fixed",
}


async def gate(rest: Rest, arguments: GateArguments) -> Callable[[Size], GateView]:
    """Ask whether issues may be closed. Raises RestError."""
    items = document(_Gate, await rest.post("/gate", {"issues": arguments.issues})).items
    caveats = [
        f"Issue {place}: {_ANSWERS[item.answer]}. {'It may' if item.may_close else 'It may not'} be closed."
        for place, item in enumerate(items, start=1)
    ]
    return lambda size: GateView(
        caveats=caveats,
        items=[
            GateAnswerView(
                issue=quote(item.issue, size.characters),
                answer=str(item.answer),
                reason=item.reason,
                may_close=item.may_close,
                words=item.words,
                on=item.on[: size.items],
                untried=item.untried[: size.items],
                report=item.report,
                run=item.run,
                url=None if item.url is None else rest.page(item.url),
            )
            for item in items
        ],
    )


class _Asks(BaseModel):
    ask: list[Any]


class _Comparison(BaseModel):
    comparison: ComparisonPart
    environment: list[DifferencePart] = []
    cannot_say: list[str] = []
    same_script: bool
    baseline: dict[str, Any]
    candidate: dict[str, Any]


class _Run(BaseModel):
    id: str
    verdict: Verdict | None
    summary: str
    overruled: Verdict | None = None


class _FoundReport(BaseModel):
    id: str
    title: str
    source_url: str | None
    latest: _Run | None
    closed_at: Any = None
    overruled: Verdict | None = None


class _ReportPage(BaseModel):
    items: list[_FoundReport]
    next: str | None


class _GateItem(BaseModel):
    issue: str
    answer: GateAnswer
    reason: str
    may_close: bool
    words: str
    on: list[str]
    untried: list[str]
    report: str | None
    run: str | None
    url: str | None


class _Gate(BaseModel):
    items: list[_GateItem]
