"""Presets of an operator's own, from TOML. Everything is checked, and each error names the place and what may stand there."""

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

Value = TypeVar("Value")
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")
_TOOLCHAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_FIELDS = ("summary", "devices", "toolchains", "settings", "each_card", "include", "exclude", "repeats")
MOST_SUMMARY = 300
MOST_REPEATS = 250
NEWEST = "newest"


def presets_in(text: str) -> dict[str, Preset]:
    """The presets of a file, `[presets.NAME]` each. Raises InputError that says where and what."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _wrong("", f"this is no TOML: {error}") from error
    tables = document.get("presets")
    strangers = [name for name in document if name != "presets"]
    if not isinstance(tables, dict) or strangers:
        raise _wrong(
            strangers[0] if strangers else "", "a file of presets has tables [presets.NAME] and nothing else"
        )
    return {name: _preset(name, table) for name, table in tables.items()}


def _preset(name: str, table: Any) -> Preset:
    at = f"presets.{name}"
    if not _NAME.fullmatch(name):
        raise _wrong(at, "a name has at most 40 of a-z, 0-9, . and -, and begins with a letter or a digit")
    if name in PRESETS or name in FORMER_NAMES or name == BISECTION:
        raise _wrong(at, "there is a preset of this name already; take another name")
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
    """A list of words; what is not there is empty."""
    found = table.get(field, [])
    place = f"{at}.{field}"
    if (
        not isinstance(found, list)
        or (field in table and not found)
        or not all(isinstance(word, str) for word in found)
    ):
        raise _wrong(place, "this is a list of one or more texts, in quotation marks")
    return tuple(read(word, f"{place}[{number}]") for number, word in enumerate(found))


def _settings(word: str, at: str) -> dict[str, str]:
    """`threads=1,deterministic` as a target writes it after its colon; empty is none."""
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
    if word != ANY and not _TOOLCHAIN.fullmatch(word):
        raise _wrong(at, f"this is the name of a toolchain or how one begins, or {NEWEST}, or {ANY} for each")
    return word


def _pattern(parse: Callable[[str], Pattern]) -> Callable[[str, str], Pattern]:
    def read(word: str, at: str) -> Pattern:
        try:
            return parse(word)
        except InputError as error:
            raise _wrong(at, error.message) from error

    return read


def _summary(table: Mapping[str, Any], at: str) -> str:
    found = table.get("summary", "")
    if not isinstance(found, str) or len(found) > MOST_SUMMARY or "\n" in found:
        raise _wrong(f"{at}.summary", f"this is one line of text of at most {MOST_SUMMARY} characters")
    return found or "A preset of this service's operator."


def _flag(table: Mapping[str, Any], at: str) -> bool:
    found = table.get("each_card", False)
    if not isinstance(found, bool):
        raise _wrong(f"{at}.each_card", "this is true or false")
    return found


def _repeats(table: Mapping[str, Any], at: str) -> int:
    found = table.get("repeats", 5)
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= MOST_REPEATS:
        raise _wrong(f"{at}.repeats", f"this is a whole number from 1 to {MOST_REPEATS}")
    return found


def _wrong(at: str, what: str) -> InputError:
    return InputError(
        f"{at}: {what}" if at else what[0].upper() + what[1:], code="bad_presets", field=at or None
    )
