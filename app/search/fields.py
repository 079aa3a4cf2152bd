"""The fields of a search, with the values that each takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from app.judging.cause.defect import CAUSES
from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.search import periods, toolchains
from app.search.tokens import tokens
from worker.contract import Device, Outcome
from worker.contract.names import SETTINGS

STATES = ("open", "closed")
_TYPE = re.compile(r"[^\W\d]\w{0,99}(?:\.[^\W\d]\w{0,99}){0,10}")
_ANY_NAME = re.compile(r"[^\s\x00-\x1f\"]{1,100}")
_LABEL = re.compile(r"[^\x00-\x1f\x7f]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldKind:
    """A field of the search language.

    `read` turns a typed value into the stored form, or gives None for a value that the field does not take.
    `about` and `takes` are texts for people.
    """

    about: str
    takes: str
    read: Callable[[str], str | None]
    # Whether several values may be given, with commas between them. One of them must match.
    several: bool = True
    # Whether the field is one of a cell. All such terms of a search must match the same cell.
    of_cell: bool = False


def _one_of(*words: str) -> Callable[[str], str | None]:
    def read(text: str) -> str | None:
        word = text.lower().replace("-", "_")
        return word if word in words else None

    return read


def _matching(pattern: re.Pattern[str]) -> Callable[[str], str | None]:
    return lambda text: text if pattern.fullmatch(text) else None


def _exception(text: str) -> str | None:
    return type_name(text) if _TYPE.fullmatch(text) else None


def type_name(exception: str) -> str:
    """The stored form of an exception type: `outofmemoryerror` for `torch.OutOfMemoryError`."""
    return exception.rpartition(".")[2].lower()[:100]


def _hardware(text: str) -> str | None:
    words = tokens(text)
    return words[0] if len(words) == 1 else None


def _setting(text: str) -> str | None:
    key, _, value = text.lower().partition("=")
    if key not in SETTINGS:
        return None
    return f"{key}={value}" if value else f"{key}=on" if key == "deterministic" else None


def _toolchain(text: str) -> str | None:
    return text if toolchains.toolchain_query(text) is not None else None


def _period(text: str) -> str | None:
    word = text.lower()
    return word if periods.is_period(word) else None


def _change(text: str) -> str | None:
    return _one_of(*ChangeKind)(text) or _period(text)


def _words(*words: str) -> str:
    return ", ".join(words)


FIELDS: dict[str, FieldKind] = {
    "verdict": FieldKind(
        about="the report's current verdict; together with a field of cells, the verdict of that cell",
        takes=_words(*Verdict),
        read=_one_of(*Verdict),
        of_cell=True,
    ),
    "device": FieldKind(
        about="the device on which a cell ran", takes=_words(*Device), read=_one_of(*Device), of_cell=True
    ),
    "toolchain": FieldKind(
        about="the toolchain of a cell, by the version of a package or by name",
        takes=toolchains.FORMS,
        read=_toolchain,
        several=False,
        of_cell=True,
    ),
    "setting": FieldKind(
        about="a setting of a cell's target",
        takes=f"deterministic, or NAME=VALUE with the names {_words(*SETTINGS)}",
        read=_setting,
        of_cell=True,
    ),
    "node": FieldKind(
        about="the node that ran a cell", takes="the name of a node", read=_matching(_ANY_NAME), of_cell=True
    ),
    "outcome": FieldKind(
        about="how an attempt of a cell ended", takes=_words(*Outcome), read=_one_of(*Outcome), of_cell=True
    ),
    "exception": FieldKind(
        about="the type of an exception that ended an attempt of a cell",
        takes="the name of a type, such as RuntimeError",
        read=_exception,
        of_cell=True,
    ),
    "hardware": FieldKind(
        about="the processor of a cell, and its cards if it ran on cards",
        takes="a word of a name, such as h100 or epyc",
        read=_hardware,
        of_cell=True,
    ),
    "warning": FieldKind(
        about="the category of a warning that an attempt of a cell showed",
        takes="the name of a category, such as DeprecationWarning",
        read=_exception,
        of_cell=True,
    ),
    "cause": FieldKind(about="the cause of what was seen", takes=_words(*CAUSES), read=_one_of(*CAUSES)),
    "attention": FieldKind(
        about="the action that the report waits for", takes=_words(*Attention), read=_one_of(*Attention)
    ),
    "changed": FieldKind(
        about="when or how its verdict on a target changed",
        takes=f"{_words(*ChangeKind)}, {periods.FORMS}",
        read=_change,
    ),
    "submitted": FieldKind(about="when it was submitted", takes=periods.FORMS, read=_period),
    "label": FieldKind(
        about="a label that a maintainer added",
        takes="a label, in quotes if it has spaces",
        read=_matching(_LABEL),
    ),
    "is": FieldKind(about="whether it is open or closed", takes=_words(*STATES), read=_one_of(*STATES)),
}
