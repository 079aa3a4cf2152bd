"""Reads the report that the harness wrote on its channel.

The bytes are untrusted: only well-formed facts of limited size are taken.
"""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from worker.contract import CapturedValue, CapturedWarning, ExceptionFacts, Scalar
from worker.contract.bounds import SmallCount
from worker.contract.observation import MOST_WARNING_TEXT, MOST_WARNINGS
from worker.contract.passage import PassedPoint, PassedPoints
from worker.contract.text import storable_text
from worker.contract.trace import Trace
from worker.observation.captured_values import MOST_OMITTED, MOST_VALUES, ValueReader

_MAX_LINES = 100 + MOST_VALUES + MOST_WARNINGS
_MAX_FLAGS = 100
_MAX_NAME = 200
_MAX_MESSAGE = 8192
_FLAG_NAME = re.compile(r"[a-z][a-z0-9_.]{0,63}")
_DEVICE = re.compile(r"cpu|cuda:[0-9]{1,3}")
_points: TypeAdapter[list[PassedPoint]] = TypeAdapter(PassedPoints)
_frames: TypeAdapter[int | None] = TypeAdapter(SmallCount | None)


@dataclass(slots=True)
class HarnessReport:
    """The facts of a report. Empty if the script ended by a signal or `os._exit`, or silenced the harness."""

    exception: ExceptionFacts | None = None
    # The script's own code makes the message, so the harness did not ask for it. The traceback has it.
    message_withheld: bool = False
    flags_at_import: dict[str, Scalar] = field(default_factory=dict)
    flags_at_end: dict[str, Scalar] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)
    values: list[CapturedValue] = field(default_factory=list)
    values_omitted: int = 0
    # None if the harness did not note warnings.
    warnings: list[CapturedWarning] | None = None
    warnings_omitted: int = 0
    ended: bool = False
    trace: Trace | None = None
    passage: list[PassedPoint] | None = None
    compiled_frames: int | None = None
    # In a fork of a paused interpreter: the script did something for which the fork came too late.
    tripped: bool = False

    @property
    def flags_changed(self) -> dict[str, Scalar]:
        """Flags at the end that differ from those right after `import torch`."""
        return {
            name: value
            for name, value in self.flags_at_end.items()
            if self.flags_at_import.get(name) != value
        }


def read_report(report: bytes) -> HarnessReport:
    read, values = HarnessReport(), ValueReader()
    for line in report.split(b"\n")[:_MAX_LINES]:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(message, dict):
            continue
        _take(read, values, message)
    read.values, read.values_omitted = values.values, min(values.omitted, MOST_OMITTED)
    return read


def _take(read: HarnessReport, values: ValueReader, message: dict[str, object]) -> None:
    match message.get("kind"):
        case "tripped":
            read.tripped = True
        case "exception":
            _read_exception(read, message)
        case "torch":
            read.flags_at_import = _flags(message.get("flags"))
        case "end":
            _read_end(read, message)
        case "trace":
            with suppress(ValidationError):
                read.trace = Trace.model_validate(message)
        case "passage":
            with suppress(ValidationError):
                read.passage = _points.validate_python(message.get("points"))
                read.compiled_frames = _frames.validate_python(message.get("compiled_frames"))
        case "warning" | "warnings":
            _read_warning(read, message)
        case "value":
            values.take(message)
        case "values":
            values.take_omitted(message)
        case _:
            pass


def _read_end(read: HarnessReport, message: dict[str, object]) -> None:
    read.ended = True
    read.flags_at_end = _flags(message.get("flags"))
    devices = message.get("devices")
    if isinstance(devices, list):
        read.devices = [
            device for device in devices[:64] if isinstance(device, str) and _DEVICE.fullmatch(device)
        ]


def _read_exception(read: HarnessReport, message: dict[str, object]) -> None:
    kind, text = message.get("type"), message.get("message")
    if isinstance(kind, str) and kind:
        read.message_withheld = not isinstance(text, str)
        read.exception = ExceptionFacts(
            type=storable_text(kind[:_MAX_NAME]),
            message=storable_text(text[:_MAX_MESSAGE]) if isinstance(text, str) else "",
        )


def _read_warning(read: HarnessReport, message: dict[str, object]) -> None:
    read.warnings = [] if read.warnings is None else read.warnings
    if message["kind"] == "warnings":
        omitted = message.get("omitted")
        read.warnings_omitted = min(omitted, MOST_OMITTED) if type(omitted) is int and omitted > 0 else 0
        return
    texts = {
        name: storable_text(text[:MOST_WARNING_TEXT])
        for name in ("category", "base", "text", "file")
        if isinstance(text := message.get(name), str)
    }
    if len(read.warnings) < MOST_WARNINGS:
        with suppress(ValidationError):
            read.warnings.append(CapturedWarning.model_validate({**message, **texts}))


def _flags(flags: object) -> dict[str, Scalar]:
    if not isinstance(flags, dict):
        return {}
    scalars: dict[str, Scalar] = {}
    for name, value in list(flags.items())[:_MAX_FLAGS]:
        if not isinstance(name, str) or not _FLAG_NAME.fullmatch(name):
            continue
        scalars[name] = _scalar(value)
    return scalars


def _scalar(value: object) -> Scalar:
    """The value, or None if other JSON readers would refuse it."""
    match value:
        case str():
            return storable_text(value[:_MAX_NAME])
        case bool():
            return value
        case int():
            return value if abs(value) < 2**63 else None
        case float():
            return value if math.isfinite(value) else None
        case _:
            return None
