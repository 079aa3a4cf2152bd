"""Reads a thread: the JSON of a report with its comments and their authors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from app.errors import InputError
from app.intake.text.markdown import looks_like_markdown
from worker.contract.text import storable_text

# Comments after this number are not read. The reporter's script and words come early.
MOST_COMMENTS = 300
MOST_URL_CHARACTERS = 2000
_BOT = re.compile(
    r"\[bot\]$|-(?:pro)?bot$|^(?:github-actions|pytorchmergebot|dependabot|codecov|stale|linear)$",
    re.IGNORECASE,
)
# Lines that quote somebody else. `>>>` is a prompt.
_QUOTED = re.compile(r" {0,3}>(?!>>)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_AGREEING = " \t\r\n+1:!.👍"
_NAME = r"(?:scripts?|repro\w*|code|snippets?|examples?|mre|mwe|test ?case|program)"
_CORRECTS = re.compile(
    r"\b(?:sorry|oops|apolog\w+|my (?:bad|mistake|fault)|i (?:made|had) a (?:mistake|typo))\b"
    r"|\b(?:right|correct(?:ed)?|updated?|fixed|new|newer|better|simpler|shorter|smaller|actual|real"
    r"|proper|revised|final|minimal|working|complete|full|self-contained|runnable"
    rf"|standalone)\b[^.\n]{{0,40}}\b{_NAME}\b"
    rf"|\b(?:wrong|incorrect|broken|incomplete)\b[^.\n]{{0,20}}\b{_NAME}\b",
    re.IGNORECASE,
)
_NO_REPRO = re.compile(
    r"\b(?:work-?arounds?|works (?:fine|well|correctly|for me)|(?:fixes|avoids|solves) (?:it|this|the))\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:can(?:no|['’]?)t|could ?n(?:o|['’])t|unable to|not able to|do(?:es)? ?n(?:o|['’])t"
    r"|did ?n(?:o|['’])t|fail(?:ed|s)? to|not) (?:\w+ ){0,2}(?:repro\w*|confirm|see)\b"
    r"|\bworks (?:for me|fine)\b|\bno longer\b",
    re.IGNORECASE,
)
_AGREES = re.compile(
    r"^\W{0,9}(?:yes|yep|yeah|exactly|right|correct|indeed|precisely|confirmed"
    r"|that(?:['’]s| is) (?:it|right|exactly))\b"
    rf"|\b(?:your|this|that|the|his|her|their) {_NAME}\b[^.\n]{{0,40}}\b(?:shows?|reproduces?|fails"
    r"|does (?:it|show)|triggers?|demonstrates|is (?:it|the one|what|exactly))\b",
    re.IGNORECASE,
)
_NOT_YET = re.compile(
    r"\b(?:will|i['’]ll|later|going to|tomorrow|let me|but|not)\b|n['’]t\b|\?", re.IGNORECASE
)
_CODE_HINT = re.compile(r"```|~~~|^[ \t]*(?:import|from) \w|>>> |^ {4}\S|In \[\d+\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Post:
    """One comment without its quotes. `by_reporter`: the reporter wrote it.

    `number` counts the comments of the thread from 1, and 0 is the report; `text` is the comment with quotes.
    """

    body: str
    by_reporter: bool = False
    author: str = ""
    number: int = 0
    text: str = ""

    @property
    def may_hold_code(self) -> bool:
        """True if it may hold a script."""
        return _CODE_HINT.search(self.body) is not None

    @property
    def corrects(self) -> bool:
        """True if its words say that its script replaces an earlier one."""
        words = _prose(self.body)
        return _CORRECTS.search(words) is not None and _NO_REPRO.search(words) is None

    @property
    def agrees(self) -> bool:
        """True if its words agree with the comment above."""
        words = _prose(self.body)
        return _AGREES.search(words) is not None and _NOT_YET.search(words) is None

    @property
    def denies(self) -> bool:
        """True if its words say that the bug does not occur."""
        return _DENIES.search(_prose(self.body)) is not None


@dataclass(frozen=True, slots=True)
class Thread:
    """A report's title, body and address, and the comments of people."""

    title: str
    body: str
    comments: tuple[Post, ...] = ()
    url: str | None = None
    author: str = ""


def looks_like_report(text: str) -> bool:
    """True if a text is a report, as Markdown or as the JSON of a thread."""
    return _as_issue(text) is not None or looks_like_markdown(text)


def thread_of(text: str) -> Thread | None:
    """The thread in a JSON text, or None for any other text. Raises InputError if it is invalid."""
    issue = _as_issue(text)
    if issue is None:
        return None
    if isinstance(issue, list):
        raise InputError(
            "This is a list of issues; send one of them: an object with a title and a body.",
            code="bad_thread",
            field="report",
        )
    _check_people(issue)
    author = _login(issue)
    return Thread(
        title=" ".join(_text(issue, "title").split()),
        body=_text(issue, "body"),
        comments=tuple(_posts(comments_of(issue.get("comments")), author)),
        url=_address(issue),
        author=author,
    )


def comments_of(value: Any) -> list[dict[str, Any]]:
    """The comments of an issue's JSON.

    Raises InputError if they are missing, as in an answer of GitHub's REST, or invalid.
    """
    if value is None or (value == 0 and not isinstance(value, bool)):
        return []
    if isinstance(value, int) and not isinstance(value, bool):
        raise InputError(
            "`comments` is the number of comments; put the comments themselves there, as a list of"
            " {author, body}, or leave it out.",
            code="bad_thread",
            field="comments",
        )
    if not isinstance(value, list) or not all(
        isinstance(comment, dict) and _is_text(comment.get("body", 0)) for comment in value
    ):
        raise InputError(
            "`comments` is a list of objects, each with a body and its author.",
            code="bad_thread",
            field="comments",
        )
    for comment in value:
        _check_people(comment)
    return value


def _check_people(item: dict[str, Any]) -> None:
    """Raise InputError for an invalid name: otherwise the reporter would be taken for somebody else."""
    for key in ("author", "user"):
        if not isinstance(item.get(key), str | dict | None):
            raise InputError(f"`{key}` is a name, or an object with a `login`.", code="bad_thread", field=key)


def _as_issue(text: str) -> dict[str, Any] | list[dict[str, Any]] | None:
    """The JSON of an issue, or of a list of them; None for any other text."""
    start = text.removeprefix("\ufeff").lstrip()[:1]
    if start not in {"{", "["}:
        return None
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        return value if "body" in value else None
    return value if value and all(isinstance(item, dict) and "body" in item for item in value) else None


def _posts(comments: list[dict[str, Any]], author: str) -> Iterator[Post]:
    for number, comment in enumerate(comments[:MOST_COMMENTS], 1):
        who = _login(comment)
        if _is_bot(comment, who):
            continue
        text = _text(comment, "body")
        body = _own_words(text)
        if body.strip(_AGREEING):
            by_reporter = bool(author) and who == author
            yield Post(body, by_reporter=by_reporter, author=who, number=number, text=text)


def _own_words(text: str) -> str:
    """The comment without quoted lines. In a fence, no line is a quote."""
    own_lines: list[str] = []
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        match = _FENCE.match(line)
        if not fence and _QUOTED.match(line):
            continue
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence):
            fence = ""
        own_lines.append(line)
    return "\n".join(own_lines)


def _prose(text: str) -> str:
    """The words outside of fences."""
    parts = re.split(r"^ {0,3}(?:```|~~~).*$", text[:20_000], flags=re.MULTILINE)
    return "\n".join(parts[::2])


def _login(item: dict[str, Any]) -> str:
    """The author's name in normalised spelling; empty if there is none."""
    for key in ("author", "user"):
        who = item.get(key)
        name = who.get("login") if isinstance(who, dict) else who
        if isinstance(name, str) and name.strip():
            return name.strip().removeprefix("@").casefold()
    return ""


def _is_bot(item: dict[str, Any], login: str) -> bool:
    people = [who for key in ("author", "user") if isinstance(who := item.get(key), dict)]
    return _BOT.search(login) is not None or any(
        who.get("is_bot") is True or who.get("type") == "Bot" for who in people
    )


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _text(item: dict[str, Any], key: str) -> str:
    """The text of a field. Characters that no database can store are replaced."""
    value = item.get(key)
    if not _is_text(value):
        raise InputError(f"`{key}` is text.", code="bad_thread", field=key)
    return storable_text(value or "")


def _address(item: dict[str, Any]) -> str | None:
    """The address of the issue's page. GitHub's REST puts the address of its API beside it."""
    return next((value for key in ("html_url", "url") if is_address(value := _text(item, key))), None)


def is_address(url: str) -> bool:
    """True for an http or https address that a browser can open."""
    if len(url) > MOST_URL_CHARACTERS or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
