"""The page of changes, and the same changes as a feed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.clock import now
from app.errors import InputError
from app.http.access import CanRead
from app.http.checked_route import CheckedRoute
from app.http.state import SessionDep
from app.judging.report.change import ChangeKind
from app.judging.report.triage import TriageGroup
from app.runs.lookup.changes import (
    NEWEST,
    ChangeList,
    ChangeSummary,
    known_toolchains,
    list_changes,
    newest_toolchains,
    reports_by_kind,
)
from app.runs.lookup.triage import triage_sizes
from app.web.formats import Format, address_of, as_json, as_markdown, negotiate_format
from app.web.pages import page
from app.web.text.labels import look
from app.web.text.short_texts import one_line
from app.web.views.copies.copied_pages import changes_markdown

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)
Kind = Annotated[str | None, Query(max_length=20)]
Group = Annotated[str | None, Query(max_length=20)]
Toolchain = Annotated[str | None, Query(max_length=100)]
Since = Annotated[str, Query(max_length=40)]
ATOM = "http://www.w3.org/2005/Atom"
CHANGES_A_PAGE = 40
# The form offers so many toolchains. Others can be named in the address.
MOST_TOOLCHAINS = 200
# XML can't contain these characters, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@router.get("/changes.md")
@router.get("/changes.json")
@router.get("/changes")
def get_changes(
    *,
    request: Request,
    session: SessionDep,
    _may: CanRead,
    kind: Kind = None,
    group: Group = None,
    toolchain: Toolchain = None,
    since: Since = "",
    cursor: str | None = None,
) -> Response:
    """Changes that match the query.

    Without a query: the unexplained regressions with the newest toolchains that have results.
    """
    has_query = kind is not None or group is not None or toolchain is not None or since != ""
    if not has_query:
        kind, group, toolchain = ChangeKind.REGRESSED.value, TriageGroup.UNEXPLAINED.value, NEWEST
    kind, group, toolchain = kind or "", group or "", toolchain or ""
    known = known_toolchains(session)
    newest = newest_toolchains(session, known)
    query = {
        name: value
        for name, value in (("kind", kind), ("group", group), ("toolchain", toolchain), ("since", since))
        if value
    } or {"kind": ""}
    changes = list_changes(
        session,
        kinds=[ChangeKind.REGRESSED] if group else _kinds(kind),
        group=_group(group),
        toolchain=toolchain,
        newest=newest,
        since=since,
        cursor=cursor,
        limit=CHANGES_A_PAGE,
    )
    chosen = negotiate_format(request.url.path, request)[1]
    if chosen is Format.JSON:
        return as_json(ChangeList(items=list(changes.items), next=changes.next_cursor))
    if chosen is Format.MARKDOWN:
        address = address_of(request, f"/changes?{urlencode(query)}")
        text = changes_markdown(changes.items, base=address_of(request, ""), address=address)
        return as_markdown(text)
    return page(
        "changes.html",
        changes=changes,
        kind=kind,
        kinds=list(ChangeKind),
        group=group,
        groups=list(TriageGroup),
        sizes=triage_sizes(session, newest),
        toolchain=toolchain,
        toolchains=[facts.name for facts in known][:MOST_TOOLCHAINS],
        since=since,
        newest=newest,
        counts=reports_by_kind(session, newest),
        query=urlencode(query),
    )


@router.get("/changes.atom")
def get_feed(
    request: Request, session: SessionDep, _may: CanRead, kind: Kind = None, toolchain: Toolchain = None
) -> Response:
    """A feed of regressions and fixes, or of the requested kind of change."""
    kinds = _kinds(kind) if kind is not None else [ChangeKind.REGRESSED, ChangeKind.FIXED]
    changes = list_changes(session, kinds=kinds, toolchain=toolchain or "", limit=CHANGES_A_PAGE)
    address = str(request.base_url).rstrip("/")
    return Response(_feed(changes.items, address=address), media_type="application/atom+xml")


def _kinds(kind: str) -> list[ChangeKind]:
    """The kinds to list; an empty list means all kinds. Raises InputError."""
    if kind and kind not in list(ChangeKind):
        raise InputError(
            f"There is no such kind of change. The kinds are: {', '.join(ChangeKind)}.",
            code="bad_kind",
            field="kind",
        )
    return [ChangeKind(kind)] if kind else []


def _group(group: str) -> TriageGroup | None:
    """The group to list; None for all changes. Raises InputError."""
    if group and group not in list(TriageGroup):
        raise InputError(
            f"There is no such group. The groups are: {', '.join(TriageGroup)}.",
            code="bad_group",
            field="group",
        )
    return TriageGroup(group) if group else None


def _feed(changes: Sequence[ChangeSummary], *, address: str) -> bytes:
    feed = ET.Element("feed", {"xmlns": ATOM})
    _text(feed, "id", f"{address}/changes")
    _text(feed, "title", "samehere: changes")
    _text(feed, "updated", (changes[0].created_at if changes else now()).isoformat())
    ET.SubElement(feed, "link", {"rel": "self", "href": f"{address}/changes.atom"})
    _text(ET.SubElement(feed, "author"), "name", "samehere")
    for change in changes:
        entry = ET.SubElement(feed, "entry")
        _text(entry, "id", f"{address}/changes#{change.id}")
        _text(
            entry,
            "title",
            f"{look(change.kind).name}: {one_line(change.title) or 'a report without a title'}",
        )
        _text(entry, "updated", change.created_at.isoformat())
        ET.SubElement(entry, "link", {"href": f"{address}/reports/{change.report}"})
        _text(entry, "summary", change.words)
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(feed, encoding="unicode").encode()


def _text(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
