"""`samehere import-issues`: submit a tracker's issues without a word, and say only what is new since the last time."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.command.exchange import own_address
from app.command.files.import_memory import Told, ToldIssue, read_told, write_told
from app.command.files.issue_list import Issue, issues_in
from app.command.files.source import STDIN, read_bytes
from app.command.service.client import Client
from app.command.service.configuration import load_settings
from app.command.terminal.plain_text import one_line
from app.errors import (
    ConflictError,
    ForbiddenError,
    InputError,
    NotFoundError,
    TooLargeError,
    UnauthorisedError,
    UnavailableError,
)

# So often what was done is written down; what was not is found again by its key.
SAVED_EVERY = 25
MOST_TITLE = 70


@dataclass(slots=True)
class News:
    """What there is to tell."""

    tally: Counter[str] = field(default_factory=Counter)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)


def import_issues(
    file: str,
    *,
    server: str | None,
    token: str | None,
    preset: str | None,
    told_file: str | None,
    as_json: bool,
) -> int:
    """Submit what is new, ask for what is known, and print what changed. Raises SamehereError."""
    settings = load_settings()
    if file == STDIN and told_file is None:
        raise InputError(
            "Name the file that remembers what was told: --told FILE.", code="no_told", field="told"
        )
    data = read_bytes(file, settings.import_bytes)
    if len(data) > settings.import_bytes:
        raise TooLargeError(
            f"This file is larger than {settings.import_bytes} bytes (SAMEHERE_IMPORT_BYTES).", field="file"
        )
    issues = issues_in(data, most=settings.import_issues)
    client = Client(server or own_address(settings), token=token)
    path = Path(told_file or f"{file}.told.json")
    kept = read_told(path)
    told = kept.servers.setdefault(client.url, Told())
    # Found before a long time is spent, not after it.
    write_told(path, kept)
    news = News()
    try:
        for number, issue in enumerate(issues, start=1):
            if not _take(client, issue, told, news, preset=preset):
                news.tally["left for the next time"] += len(issues) - number + 1
                break
            if number % SAVED_EVERY == 0:
                write_told(path, kept)
        _look_for_changes(client, issues, told, news)
    finally:
        write_told(path, kept)
    _print(news, issues, as_json=as_json)
    return 0


def _take(client: Client, issue: Issue, told: Told, news: News, *, preset: str | None) -> bool:
    """Submit an issue or look at its report again; False when the service takes no more for now."""
    known = told.issues.get(issue.key)
    if known is None and issue.closed:
        news.tally["closed, not run"] += 1
        return True
    verdict: Any
    try:
        if known is not None:
            verdict = client.report(known.report).get("standing", {}).get("verdict")
        else:
            body = {"report": dict(issue.thread), "title": issue.title, "awaited": False}
            wish = {name: value for name, value in (("source_url", issue.url), ("preset", preset)) if value}
            run = client.submit(
                {**body, **wish}, idempotency_key=issue.key if preset is None else f"{issue.key}-{preset}"
            )
            verdict = run.get("verdict")
            known = ToldIssue(report=str(run.get("report", {}).get("id")), url=issue.url or "")
            _replace(client, known, told, news)
            told.issues[issue.key] = known
            news.tally["new"] += 1
    except ConflictError:
        return False
    except NotFoundError:
        # Of a service that was set up anew: taken as new the next time.
        del told.issues[issue.key]
        news.tally["gone from the service"] += 1
        return True
    except InputError as error:
        news.refused.append({**_about(issue), "why": error.message})
        news.tally["refused"] += 1
        return True
    if verdict is None:
        news.tally["waiting"] += 1
    elif verdict != known.verdict:
        news.verdicts.append(
            {**_about(issue), "report": known.report, "before": known.verdict, "verdict": verdict}
        )
        news.tally["with a new verdict"] += 1
        known.verdict = str(verdict)
    return True


def _replace(client: Client, newer: ToldIssue, told: Told, news: News) -> None:
    """Close the reports of the same issue with an older text, as duplicates of the newer one; without the scope for it they stay open."""
    older = {
        key: one
        for key, one in told.issues.items()
        if newer.url and one.url == newer.url and one.report != newer.report
    }
    if not older:
        return
    try:
        with suppress(ConflictError):
            # A text that was changed back: the report of then stands again.
            client.act_on_report(newer.report, "reopen", {"reason": "The issue has this text again."})
        for one in older.values():
            act = {
                "reason": "The text of the issue changed; the newer report has it.",
                "duplicate_of": newer.report,
            }
            with suppress(ConflictError):
                client.act_on_report(one.report, "close", act)
        news.tally["with a new text, the older report closed"] += 1
    except (ForbiddenError, UnauthorisedError):
        news.tally["with a new text, the older report left open: closing it needs the scope maintain"] += 1
    for key in older:
        del told.issues[key]


def _look_for_changes(client: Client, issues: Sequence[Issue], told: Told, news: News) -> None:
    """The changes of these issues' reports since the last look, oldest first."""
    by_report = {told.issues[issue.key].report: issue for issue in issues if issue.key in told.issues}
    found = list(_changes_after(client, told.change)) if by_report else []
    for change in reversed(found):
        issue = by_report.get(change["report"])
        if issue is not None:
            shown = {name: change.get(name) for name in ("id", "kind", "words", "report", "run", "toolchain")}
            news.changes.append({**_about(issue), **shown})
            news.tally[str(change["kind"])] += 1
    told.change = max([told.change, *(str(change["id"]) for change in found)])


def _changes_after(client: Client, last: str) -> Iterator[dict[str, Any]]:
    """Newest first; ids sort by time."""
    cursor: str | None = None
    while True:
        page = client.changes(cursor=cursor)
        items = page.get("items")
        if not isinstance(items, list) or not all(
            isinstance(item, dict) and {"id", "report", "kind"} <= item.keys() for item in items
        ):
            raise UnavailableError("The server's answer is no list of changes: is it an older samehere?")
        for item in items:
            if str(item["id"]) <= last:
                return
            yield item
        cursor = page.get("next")
        if cursor is None:
            return


def _about(issue: Issue) -> dict[str, Any]:
    return {"number": issue.number, "title": issue.title, "url": issue.url}


def _print(news: News, issues: Sequence[Issue], *, as_json: bool) -> None:
    if as_json:
        document = {
            "issues": len(issues),
            "tally": dict(news.tally),
            "verdicts": news.verdicts,
            "changes": news.changes,
            "refused": news.refused,
        }
        sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=True) + "\n")
        return
    lines = [
        _line(one, f"{one['verdict']}" + (f" (was {one['before']})" if one["before"] else ""))
        for one in news.verdicts
    ]
    lines += [_line(one, f"{one['kind']}: {one['words']}") for one in news.changes]
    lines += [_line(one, f"refused: {one['why']}") for one in news.refused]
    tally = ", ".join(f"{count} {name}" for name, count in news.tally.items())
    lines.append(f"{len(issues)} {'issue' if len(issues) == 1 else 'issues'}: {tally or 'nothing new'}.")
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _line(about: dict[str, Any], words: str) -> str:
    name = f"#{about['number']}" if about["number"] is not None else about["url"] or "an issue"
    return "  ".join(
        (one_line(name, most=200), one_line(words, most=400), one_line(about["title"], most=MOST_TITLE))
    )
