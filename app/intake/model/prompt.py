"""The messages for a model that reads a report: fixed instructions, and the report as data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

# Raised with each change of `prompt.md` or of the form of the answer.
PROMPT_VERSION = 1
MOST_READINGS = 2
MOST_ITEMS = 30
MOST_TEXT = 4_000
MOST_WORDS = 300
_MOST_PART = 40


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ItemWhere(_Part):
    """The place to which an item is limited."""

    package: str | None = Field(default=None, max_length=_MOST_PART)
    range: str | None = Field(default=None, max_length=_MOST_PART)
    device: str | None = Field(default=None, max_length=_MOST_PART)
    os: str | None = Field(default=None, max_length=_MOST_PART)


class Item(_Part):
    """One piece of evidence. Lines are those of the report, counted from 1."""

    kind: Literal[
        "output",
        "value",
        "exception",
        "crash",
        "hang",
        "out_of_memory",
        "exit_status",
        "no_error",
        "varies",
    ]
    stance: Literal["actual", "expected", "elsewhere", "besides"]
    first: int = Field(ge=1)
    last: int | None = Field(default=None, ge=1)
    text: str | None = Field(default=None, max_length=MOST_TEXT)
    statement: int | None = Field(default=None, ge=1)
    where: ItemWhere | None = None


class AnswerReading(_Part):
    """One way to read the report."""

    why: str = Field(default="", max_length=MOST_WORDS)
    items: list[Item] = Field(max_length=MOST_ITEMS)


class Answer(_Part):
    """The answer of a model."""

    readings: list[AnswerReading] = Field(max_length=MOST_READINGS)


@cache
def instructions() -> str:
    """The instructions for the model, the same for every report."""
    return files(__package__).joinpath("prompt.md").read_text(encoding="utf-8")


def messages(text: str, *, title: str = "") -> list[dict[str, str]]:
    """The messages of the chat: the instructions, then the numbered lines of the report as JSON."""
    lines = {str(number): line for number, line in enumerate(lines_of(text), 1)}
    data = {"title": title, "lines": lines} if title else {"lines": lines}
    return [
        {"role": "system", "content": instructions()},
        {"role": "user", "content": json.dumps(data, ensure_ascii=True)},
    ]


def schema() -> dict[str, Any]:
    """The JSON schema of the answer."""
    return Answer.model_json_schema()


def lines_of(text: str) -> list[str]:
    """The lines of a report, without what would be a line break only here."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
