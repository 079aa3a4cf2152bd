"""The JSON of `gh issue list --json …`, with any of its fields, as threads to submit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.errors import InputError, TooLargeError
from app.intake.text.thread import MOST_URL_CHARACTERS, is_address

_HINT = "give the JSON of `gh issue list --json number,title,body,url,author,comments,state`"
_CLOSED = {"closed", "merged"}
_MOST_TITLE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One issue. `thread` is the text to submit; `key` changes with it and only with it."""

    number: int | None
    title: str
    url: str | None
    closed: bool
    thread: Mapping[str, Any]
    key: str

    @property
    def name(self) -> str:
        """The short name of the issue in a line of text."""
        return f"#{self.number}" if self.number is not None else self.url or "an issue"


def issues_in(data: bytes, *, most: int) -> list[Issue]:
    """The issues of a file. Raises InputError."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"This file is no JSON: {_HINT}.", code="bad_issues", field="file") from error
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list) or not all(isinstance(item, dict) for item in content):
        raise InputError(f"This file is no list of issues: {_HINT}.", code="bad_issues", field="file")
    if len(content) > most:
        raise TooLargeError(
            f"This file has {len(content)} issues; at most {most} are taken at once "
            "(SAMEHERE_IMPORT_ISSUES).",
            field="file",
        )
    if content and not any("body" in item for item in content):
        raise InputError(
            f"These issues have no body, so they have no scripts: {_HINT}.",
            code="bad_issues",
            field="file",
        )
    return list({issue.key: issue for issue in map(_issue, content)}.values())


def _issue(item: Mapping[str, Any]) -> Issue:
    url = next((value for name in ("url", "html_url") if isinstance(value := item.get(name), str)), None)
    url = url if url is not None and len(url) <= MOST_URL_CHARACTERS and is_address(url) else None
    title = " ".join(_text(item, "title").split())[:_MOST_TITLE]
    number = item.get("number")
    author = {name: item[name] for name in ("author", "user") if isinstance(item.get(name), (str, dict))}
    comments = list(_comments(item.get("comments")))
    # Comments of others count only up to the author's last one. Later ones would make the issue look new.
    last = max(
        (
            position
            for position, comment in enumerate(comments, start=1)
            if author and _login(comment) == _login(author)
        ),
        default=0,
    )
    thread = {
        "title": title,
        "body": _text(item, "body"),
        **author,
        "comments": comments[:last],
        **({"url": url} if url else {}),
    }
    thread_json = json.dumps(thread, ensure_ascii=True, sort_keys=True)
    return Issue(
        number=number if isinstance(number, int) and not isinstance(number, bool) else None,
        title=title,
        url=url,
        closed=_text(item, "state").casefold() in _CLOSED,
        thread=thread,
        key="issue-" + hashlib.sha256(thread_json.encode()).hexdigest(),
    )


def _comments(value: Any) -> Iterator[dict[str, Any]]:
    """The comments that have a text. A number instead of comments counts as none."""
    for comment in value if isinstance(value, list) else ():
        if isinstance(comment, dict) and isinstance(comment.get("body"), str):
            author = {
                name: comment[name]
                for name in ("author", "user")
                if isinstance(comment.get(name), (str, dict))
            }
            yield {"body": _without_surrogates(comment["body"]), **author}


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return _without_surrogates(value) if isinstance(value, str) else ""


def _without_surrogates(text: str) -> str:
    """The text with `?` for lone surrogates, which JSON can contain."""
    return text.encode("utf-8", "replace").decode()


def _login(item: Mapping[str, Any]) -> str:
    author = next((item[name] for name in ("author", "user") if name in item), None)
    name = author.get("login") if isinstance(author, dict) else author
    return name.casefold() if isinstance(name, str) else ""
