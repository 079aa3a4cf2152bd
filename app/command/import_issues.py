"""`samehere import-issues`: submits a tracker's issues, and prints only the news since the last import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.command.files.import_memory import ServiceMemory, SubmittedIssue, read_memory, write_memory
from app.command.files.issue_list import Issue, issues_in
from app.command.files.source import STDIN, read_bytes
from app.command.service.client import Client
from app.command.service.configuration import load_settings, own_address
from app.command.terminal.consoles import print_json, print_line
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

# The memory is written after so many issues. The service recognises a lost issue by its idempotency key.
SAVED_EVERY = 25
MOST_TITLE = 70
_CHANGE_FIELDS = ("id", "kind", "words", "report", "run", "toolchain")


@dataclass(slots=True)
class News:
    """All that this import will print."""

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
    memory_file: str | None,
    as_json: bool,
) -> int:
    """Submit new issues, look at known ones again, and print the news. Raises SamehereError."""
    settings = load_settings()
    if file == STDIN and memory_file is None:
        raise InputError(
            "Name the file that remembers what was reported: --told FILE.", code="no_told", field="told"
        )
    data = read_bytes(file, settings.import_bytes)
    if len(data) > settings.import_bytes:
        raise TooLargeError(
            f"This file is larger than {settings.import_bytes} bytes (SAMEHERE_IMPORT_BYTES).", field="file"
        )
    issues = issues_in(data, most=settings.import_issues)
    client = Client(server or own_address(settings), token=token)
    path = Path(memory_file or f"{file}.told.json")
    memory = read_memory(path)
    known = memory.servers.setdefault(client.url, ServiceMemory())
    # A file that can't be written is refused before the long import, not after it.
    write_memory(path, memory)
    news = News()
    try:
        for number, issue in enumerate(issues, start=1):
            if not _take(client, issue, known, news, preset=preset):
                news.tally["left for the next time"] += len(issues) - number + 1
                break
            if number % SAVED_EVERY == 0:
                write_memory(path, memory)
        _find_changes(client, issues, known, news)
    finally:
        write_memory(path, memory)
    _print(news, issues, as_json=as_json)
    return 0


def _take(client: Client, issue: Issue, known: ServiceMemory, news: News, *, preset: str | None) -> bool:
    """Submit an issue or look at its report again. False if the service takes no more for now."""
    submitted = known.issues.get(issue.key)
    if submitted is None and issue.closed:
        news.tally["closed, not run"] += 1
        return True
    verdict: Any
    try:
        if submitted is not None:
            verdict = client.report(submitted.report).get("standing", {}).get("verdict")
        else:
            submitted, verdict = _submit(client, issue, preset=preset)
            _close_older_reports(client, submitted, known, news)
            known.issues[issue.key] = submitted
            news.tally["new"] += 1
    except ConflictError:
        return False
    except NotFoundError:
        # The service was set up again without this report. The next import submits the issue as new.
        known.issues.pop(issue.key, None)
        news.tally["gone from the service"] += 1
        return True
    except InputError as error:
        news.refused.append({**_about(issue), "why": error.message})
        news.tally["refused"] += 1
        return True
    _note_verdict(issue, submitted, verdict, news)
    return True


def _submit(client: Client, issue: Issue, *, preset: str | None) -> tuple[SubmittedIssue, Any]:
    """Submit an issue at low priority; its memory and the verdict of its run, if there is one already."""
    options = {name: value for name, value in (("source_url", issue.url), ("preset", preset)) if value}
    body = {"report": dict(issue.thread), "title": issue.title, "awaited": False, **options}
    key = issue.key if preset is None else f"{issue.key}-{preset}"
    run = client.submit(body, idempotency_key=key)
    submitted = SubmittedIssue(report=str(run.get("report", {}).get("id")), url=issue.url or "")
    return submitted, run.get("verdict")


def _note_verdict(issue: Issue, submitted: SubmittedIssue, verdict: Any, news: News) -> None:
    if verdict is None:
        news.tally["waiting"] += 1
    elif verdict != submitted.verdict:
        news.verdicts.append(
            {**_about(issue), "report": submitted.report, "before": submitted.verdict, "verdict": verdict}
        )
        news.tally["with a new verdict"] += 1
        submitted.verdict = str(verdict)


def _close_older_reports(client: Client, newer: SubmittedIssue, known: ServiceMemory, news: News) -> None:
    """Close reports of the same issue with an older text, as duplicates of the newer one.

    Without the scope for it, they stay open.
    """
    older = {
        key: one
        for key, one in known.issues.items()
        if newer.url and one.url == newer.url and one.report != newer.report
    }
    if not older:
        return
    try:
        with suppress(ConflictError):
            # If a text was changed back, its first report is the newest again.
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
        del known.issues[key]


def _find_changes(client: Client, issues: Sequence[Issue], known: ServiceMemory, news: News) -> None:
    """Add the changes of these issues' reports since the last import, oldest first."""
    by_report = {known.issues[issue.key].report: issue for issue in issues if issue.key in known.issues}
    changes = list(_changes_after(client, known.change)) if by_report else []
    for change in reversed(changes):
        issue = by_report.get(change["report"])
        if issue is not None:
            news.changes.append({**_about(issue), **{name: change.get(name) for name in _CHANGE_FIELDS}})
            news.tally[str(change["kind"])] += 1
    known.change = max([known.change, *(str(change["id"]) for change in changes)])


def _changes_after(client: Client, last: str) -> Iterator[dict[str, Any]]:
    """Changes with a greater id, newest first; ids sort by time."""
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
        print_json(
            {
                "issues": len(issues),
                "tally": dict(news.tally),
                "verdicts": news.verdicts,
                "changes": news.changes,
                "refused": news.refused,
            }
        )
        return
    for one in news.verdicts:
        print_line(_line(one, f"{one['verdict']}" + (f" (was {one['before']})" if one["before"] else "")))
    for one in news.changes:
        print_line(_line(one, f"{one['kind']}: {one['words']}"))
    for one in news.refused:
        print_line(_line(one, f"refused: {one['why']}"))
    tally = ", ".join(f"{count} {name}" for name, count in news.tally.items())
    print_line(f"{len(issues)} {'issue' if len(issues) == 1 else 'issues'}: {tally or 'nothing new'}.")


def _line(about: dict[str, Any], words: str) -> str:
    name = f"#{about['number']}" if about["number"] is not None else about["url"] or "an issue"
    return "  ".join(
        (one_line(name, most=200), one_line(words, most=400), one_line(about["title"], most=MOST_TITLE))
    )
