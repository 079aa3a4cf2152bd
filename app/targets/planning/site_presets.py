"""The operator's own presets, from TOML. Each error names the field and its valid values."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from app.errors import InputError
from app.targets.parse import parse_target
from app.targets.pattern import ANY, Pattern, parse_exclusion, parse_inclusion
from app.targets.planning.presets import BISECTION, FORMER_NAMES, PRESETS, Preset
from worker.contract import Device
from worker.contract.names import TOOLCHAIN_NAME

Value = TypeVar("Value")
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")
_FIELDS = ("summary", "devices", "toolchains", "settings", "each_card", "include", "exclude", "repeats")
MOST_SUMMARY = 300
MOST_REPEATS = 250
NEWEST = "newest"


def presets_in(text: str) -> dict[str, Preset]:
    """Read the presets of a file, one table `[presets.NAME]` each.

    Raises InputError with the place of the mistake.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _wrong("", f"this is not valid TOML: {error}") from error
    tables = document.get("presets")
    unknown = [name for name in document if name != "presets"]
    if not isinstance(tables, dict) or unknown:
        raise _wrong(unknown[0] if unknown else "", "a file of presets has only tables [presets.NAME]")
    return {name: _preset(name, table) for name, table in tables.items()}


def _preset(name: str, table: Any) -> Preset:
    at = f"presets.{name}"
    if not _NAME.fullmatch(name):
        raise _wrong(at, "a name has at most 40 of a-z, 0-9, . and -, and begins with a letter or a digit")
    if name in PRESETS or name in FORMER_NAMES or name == BISECTION:
        raise _wrong(at, "this name is already used; choose another one")
    if not isinstance(table, dict):
        raise _wrong(at, "a preset is a table, [presets.NAME]")
    for key in table:
        if key not in _FIELDS:
            raise _wrong(f"{at}.{key}", f"there is no such field; the fields are {', '.join(_FIELDS)}")
    return Preset(
        name=name,
        summary=_summary(table, at),
        settings=_list(table, at, "settings", _settings) or ({},),
        devices=_list(table, at, "devices", _device),
        toolchains=_list(table, at, "toolchains", _toolchain) or ("",),
        each_card=_flag(table, at),
        include=_list(table, at, "include", _pattern(parse_inclusion)),
        exclude=_list(table, at, "exclude", _pattern(parse_exclusion)),
        repeats=_repeats(table, at),
        own=True,
    )


def _list(
    table: Mapping[str, Any], at: str, field: str, read: Callable[[str, str], Value]
) -> tuple[Value, ...]:
    """The list in a field, each word read by `read`; empty without the field."""
    words = table.get(field, [])
    place = f"{at}.{field}"
    if (
        not isinstance(words, list)
        or (field in table and not words)
        or not all(isinstance(word, str) for word in words)
    ):
        raise _wrong(place, "this must be a list of one or more texts in quotation marks")
    return tuple(read(word, f"{place}[{number}]") for number, word in enumerate(words))


def _settings(word: str, at: str) -> dict[str, str]:
    """Read settings in the form of a target, `threads=1,deterministic`. An empty text is no setting."""
    if not word.strip():
        return {}
    try:
        return parse_target(f"cuda:{word}").settings
    except InputError as error:
        raise _wrong(at, error.message) from error


def _device(word: str, at: str) -> Device:
    if word not in list(Device):
        raise _wrong(at, f"there is no such device; the devices are {', '.join(Device)}")
    return Device(word)


def _toolchain(word: str, at: str) -> str:
    if word == NEWEST:
        return ""
    if word != ANY and not TOOLCHAIN_NAME.fullmatch(word):
        raise _wrong(at, f"this must be a name of a toolchain or its beginning, {NEWEST}, or {ANY} for each")
    return word


def _pattern(parse: Callable[[str], Pattern]) -> Callable[[str, str], Pattern]:
    def read(word: str, at: str) -> Pattern:
        try:
            return parse(word)
        except InputError as error:
            raise _wrong(at, error.message) from error

    return read


def _summary(table: Mapping[str, Any], at: str) -> str:
    summary = table.get("summary", "")
    if not isinstance(summary, str) or len(summary) > MOST_SUMMARY or "\n" in summary:
        raise _wrong(f"{at}.summary", f"this must be one line of at most {MOST_SUMMARY} characters")
    return summary or "A preset of this service's operator."


def _flag(table: Mapping[str, Any], at: str) -> bool:
    flag = table.get("each_card", False)
    if not isinstance(flag, bool):
        raise _wrong(f"{at}.each_card", "this must be true or false")
    return flag


def _repeats(table: Mapping[str, Any], at: str) -> int:
    repeats = table.get("repeats", 5)
    if isinstance(repeats, bool) or not isinstance(repeats, int) or not 1 <= repeats <= MOST_REPEATS:
        raise _wrong(f"{at}.repeats", f"this must be a whole number from 1 to {MOST_REPEATS}")
    return repeats


def _wrong(at: str, what: str) -> InputError:
    return InputError(
        f"{at}: {what}" if at else what[0].upper() + what[1:], code="bad_presets", field=at or None
    )
