"""The JSON of `gh issue list --json …`: issues with whatever fields were asked for, as threads to submit."""

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
    """One issue. `thread` is what is submitted; `key` stays the same as long as that does."""

    number: int | None
    title: str
    url: str | None
    closed: bool
    thread: Mapping[str, Any]
    key: str

    @property
    def name(self) -> str:
        """How it is called in a line of text."""
        return f"#{self.number}" if self.number is not None else self.url or "an issue"


def issues_in(data: bytes, *, most: int) -> list[Issue]:
    """The issues of a file. Raises InputError."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"This file is no JSON: {_HINT}.", code="bad_issues", field="file") from error
    if isinstance(found, dict):
        found = [found]
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise InputError(f"This file is no list of issues: {_HINT}.", code="bad_issues", field="file")
    if len(found) > most:
        raise TooLargeError(
            f"This file has {len(found)} issues; at most {most} are taken at once (SAMEHERE_IMPORT_ISSUES).",
            field="file",
        )
    if found and not any("body" in item for item in found):
        raise InputError(
            f"These issues have no body, in which their scripts would be: {_HINT}.",
            code="bad_issues",
            field="file",
        )
    return list({issue.key: issue for issue in map(_issue, found)}.values())


def _issue(item: Mapping[str, Any]) -> Issue:
    url = next((value for name in ("url", "html_url") if isinstance(value := item.get(name), str)), None)
    url = url if url is not None and len(url) <= MOST_URL_CHARACTERS and is_address(url) else None
    title = " ".join(_text(item, "title").split())[:_MOST_TITLE]
    number = item.get("number")
    author = {name: item[name] for name in ("author", "user") if isinstance(item.get(name), (str, dict))}
    comments = list(_comments(item.get("comments")))
    # What others say counts where the reporter answers it; what they say later would only make the issue look new.
    last = max(
        (
            place
            for place, comment in enumerate(comments, start=1)
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
    said = json.dumps(thread, ensure_ascii=True, sort_keys=True)
    return Issue(
        number=number if isinstance(number, int) and not isinstance(number, bool) else None,
        title=title,
        url=url,
        closed=_text(item, "state").casefold() in _CLOSED,
        thread=thread,
        key="issue-" + hashlib.sha256(said.encode()).hexdigest(),
    )


def _comments(value: Any) -> Iterator[dict[str, Any]]:
    """Those that are there; a bare number of them is as good as none."""
    for comment in value if isinstance(value, list) else ():
        if isinstance(comment, dict) and isinstance(comment.get("body"), str):
            who = {
                name: comment[name]
                for name in ("author", "user")
                if isinstance(comment.get(name), (str, dict))
            }
            yield {"body": _whole(comment["body"]), **who}


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return _whole(value) if isinstance(value, str) else ""


def _whole(text: str) -> str:
    """Without half characters, which JSON can write."""
    return text.encode("utf-8", "replace").decode()


def _login(item: Mapping[str, Any]) -> str:
    who = next((item[name] for name in ("author", "user") if name in item), None)
    name = who.get("login") if isinstance(who, dict) else who
    return name.casefold() if isinstance(name, str) else ""
