"""Reads the file that a command is given: text of a bounded size, or a clear refusal."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.errors import InputError, TooLargeError
from app.intake.text.thread import looks_like_report, thread_of

Form = Literal["auto", "script", "report"]
_SUFFIXES: dict[str, Form] = {
    ".py": "script",
    ".pyw": "script",
    ".md": "report",
    ".markdown": "report",
    ".json": "report",
}
STDIN = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """A text, and what it is: by its name where that says so."""

    text: str
    form: Form

    @property
    def decided_form(self) -> Literal["script", "report"]:
        """What it is read as: by its content where nothing else says so."""
        if self.form != "auto":
            return self.form
        return "report" if looks_like_report(self.text) else "script"


def read_source(name: str, *, form: Form, most_bytes: int) -> Source:
    """Read a file, or standard input for `-`. Raises InputError."""
    data = read_bytes(name, most_bytes)
    if len(data) > most_bytes:
        raise TooLargeError(f"{_shown(name)} is larger than {most_bytes} bytes.", field="file")
    if b"\0" in data:
        raise InputError(
            f"{_shown(name)} is no text: it holds bytes that are zero.", code="not_text", field="file"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{_shown(name)} is no text in UTF-8: byte {error.start} does not fit.",
            code="not_text",
            field="file",
        ) from error
    if not text.strip():
        raise InputError(f"{_shown(name)} is empty.", code="empty_file", field="file")
    suffix = Path(name).suffix.lower() if name != STDIN else ""
    if suffix == ".json" and form != "script" and thread_of(text) is None:
        raise InputError(
            f"{_shown(name)} is no issue: give the JSON of `gh issue view N --json title,body,author,comments,url`.",
            code="bad_thread",
            field="file",
        )
    by_name = _SUFFIXES.get(suffix, "auto")
    return Source(text, by_name if form == "auto" else form)


def read_bytes(name: str, most_bytes: int) -> bytes:
    """At most one byte more than may be. Raises InputError."""
    if name == STDIN:
        return sys.stdin.buffer.read(most_bytes + 1)
    path = Path(name)
    try:
        if path.is_dir():
            raise InputError(f"{_shown(name)} is a folder; give a file.", code="not_a_file", field="file")
        with path.open("rb") as file:
            return file.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"{_shown(name)} can't be read: {why}.", code="unreadable_file", field="file"
        ) from error


def _shown(name: str) -> str:
    return "Standard input" if name == STDIN else ascii(name)[1:-1]


def argument_text(text: str) -> str:
    """Text of the command line as proper Unicode: bytes that are no UTF-8 are replaced."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
