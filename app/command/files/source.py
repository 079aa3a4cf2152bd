"""Reads the file of a command: a text of bounded size, or a clear refusal."""

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
    """A text, and its form by its name; `auto` if the name does not say it."""

    text: str
    form: Form

    @property
    def decided_form(self) -> Literal["script", "report"]:
        """The form in which it is read: by its content if nothing else says it."""
        if self.form != "auto":
            return self.form
        return "report" if looks_like_report(self.text) else "script"


def read_source(name: str, *, form: Form, most_bytes: int) -> Source:
    """Read a file, or standard input for `-`. Raises InputError or TooLargeError."""
    data = read_bytes(name, most_bytes)
    if len(data) > most_bytes:
        raise TooLargeError(f"{display_name(name)} is larger than {most_bytes} bytes.", field="file")
    if b"\0" in data:
        raise InputError(
            f"{display_name(name)} is no text: it has zero bytes.", code="not_text", field="file"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{display_name(name)} is no text in UTF-8: byte {error.start} does not fit.",
            code="not_text",
            field="file",
        ) from error
    if not text.strip():
        raise InputError(f"{display_name(name)} is empty.", code="empty_file", field="file")
    suffix = Path(name).suffix.lower() if name != STDIN else ""
    if suffix == ".json" and form != "script" and thread_of(text) is None:
        raise InputError(
            f"{display_name(name)} is no issue: "
            "give the JSON of `gh issue view N --json title,body,author,comments,url`.",
            code="bad_thread",
            field="file",
        )
    by_name = _SUFFIXES.get(suffix, "auto")
    return Source(text, by_name if form == "auto" else form)


def read_bytes(name: str, most_bytes: int) -> bytes:
    """The first `most_bytes + 1` bytes of a file or of standard input. Raises InputError."""
    if name == STDIN:
        return sys.stdin.buffer.read(most_bytes + 1)
    path = Path(name)
    try:
        if path.is_dir():
            raise InputError(
                f"{display_name(name)} is a folder; give a file.", code="not_a_file", field="file"
            )
        with path.open("rb") as file:
            return file.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"{display_name(name)} can't be read: {reason}.", code="unreadable_file", field="file"
        ) from error


def display_name(name: str) -> str:
    """The name of a file in a message: in ASCII, so that it is safe in a terminal."""
    return "Standard input" if name == STDIN else ascii(name)[1:-1]


def argument_text(text: str) -> str:
    """An argument of the command line as valid Unicode: bytes that are no UTF-8 are replaced."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
