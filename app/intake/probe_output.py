"""Finds the output of `probe.py` in a report, however it was pasted.

It is the reporter's word, and no evidence of ours.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.intake.claim.claim_text import MOST_LINES_OF_OUTPUT, exception_claim, output_check
from app.intake.claim.claims import Check, CheckKind
from worker.contract import CapturedValue, Environment, ExceptionFacts
from worker.contract.text import storable_text

VERSION = 1
# If it was pasted more often than this, the rest is read as ordinary text.
MOST_BLOCKS = 5
MOST_RECORDS = 3_000
MOST_FIELDS = 1_000
MOST_VALUES = 96
MOST_TEXT = 2_000
# A mail program may break a line into at most this many pieces.
MOST_PIECES = 12
_HEADER = re.compile(r"samehere-probe (\d{1,3})")
_FENCE = re.compile(r"(?:`{3,}|~{3,})(?:[ ]?(?:samehere-probe|text|txt|json|python|py))?")
_FENCE_END = re.compile(r"`{3,}|~{3,}")
_RECORD = re.compile(r"(environment|outcome|stdout|stderr|value) ([A-Za-z0-9][\w.+-]{0,99}) ?= ?(\S.*)")
_END = re.compile(r"end (\d{1,6})")
_MARKS = re.compile(r"^(?:[ \t\xa0]*>)*[ \t\xa0]*")
_STOPS = {"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"}
# The probe prints plain ASCII. A mail program or an editor put all other characters there.
_QUOTES = {
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‘’\N{SINGLE LOW-9 QUOTATION MARK}\N{PRIME}", "'"),
}
_TYPOGRAPHY = str.maketrans({**_QUOTES, "\xa0": " ", "–": "-", "—": "--", "…": "..."})


class ReportersProbe(BaseModel):
    """The probe's observations in the reporter's own Python. `whole`: the paste is complete."""

    model_config = ConfigDict(frozen=True)

    whole: bool = False
    environment: Environment = Field(default_factory=dict)
    # False where the probe printed the environment alone, because it was given no script.
    ran: bool = False
    exit_status: int | None = None
    signal: str | None = None
    exception: ExceptionFacts | None = None
    # The ends of both streams. Only a stream that is whole can be claimed as the output.
    stdout: str = ""
    stderr: str = ""
    stdout_whole: bool = False
    wall_seconds: float | None = None
    devices_used: tuple[str, ...] = ()
    values: tuple[CapturedValue, ...] = ()


@dataclass(slots=True)
class _Block:
    """Collects the records of one paste, line by line."""

    records: list[tuple[str, str, Any]] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    damaged: bool = False
    ended: int | None = None

    def take(self, line: str) -> bool:
        """Take a line in. True if it belongs to the block."""
        end = _END.fullmatch(line)
        if end:
            self._give_up()
            self.ended = int(end[1])
            return True
        if _RECORD.match(line):
            self._give_up()
            self._read([line])
            return True
        if self.pending and len(self.pending) < MOST_PIECES:
            self._read([*self.pending, line])
            return True
        return not line

    def _read(self, pieces: list[str]) -> None:
        for glue in dict.fromkeys((" ", "")) if len(pieces) > 1 else ("",):
            match = _RECORD.fullmatch(glue.join(pieces))
            try:
                value = None if match is None else json.loads(match[3])
            except (ValueError, RecursionError):
                continue
            if match is not None:
                self.pending = []
                if len(self.records) < MOST_RECORDS:
                    self.records.append((match[1], match[2], value))
                return
        self.pending = pieces

    def _give_up(self) -> None:
        self.damaged |= bool(self.pending)
        self.pending = []

    @property
    def whole(self) -> bool:
        """True if the number of records is the one that the last line states."""
        return not self.damaged and not self.pending and self.ended == len(self.records)


def without_probes(text: str) -> tuple[str, ReportersProbe | None]:
    """The text without the output of `probe.py`, and the last whole one of these outputs, else the last."""
    if "samehere-probe" not in text:
        return text, None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    rest, probes, at = list[str](), list[ReportersProbe](), 0
    while at < len(lines):
        header = _HEADER.fullmatch(_plain(lines[at])) if len(probes) < MOST_BLOCKS else None
        if header is None:
            rest.append(lines[at])
            at += 1
            continue
        in_fence = bool(rest) and _FENCE.fullmatch(_plain(rest[-1])) is not None
        if in_fence:
            rest.pop()
        block, at = _block(lines, at + 1, in_fence=in_fence)
        rest.append("")
        if int(header[1]) == VERSION:
            probes.append(_probe(block))
    whole = [probe for probe in probes if probe.whole]
    return "\n".join(rest), next(reversed(whole or probes), None)


def _plain(line: str) -> str:
    """A line without quote marks, indent, entities and typographic characters."""
    bare = _MARKS.sub("", line[: 64 * MOST_TEXT].translate(_TYPOGRAPHY)).strip()
    return html.unescape(bare) if "&" in bare else bare


def _block(lines: Sequence[str], at: int, *, in_fence: bool) -> tuple[_Block, int]:
    """The records from a line on, and the number of the line after them.

    In a fence, the block goes on to the fence's end, whatever stands in between.
    """
    block, start = _Block(), at
    close = (
        next(
            (number for number in range(at, len(lines)) if _FENCE_END.fullmatch(_plain(lines[number]))), None
        )
        if in_fence
        else None
    )
    stop = len(lines) if close is None else close
    while at < stop:
        line = _plain(lines[at])
        if block.ended is not None or not block.take(line):
            if close is None:
                break
            block.damaged |= bool(line)
        at += 1
    if close is not None:
        return block, close + 1
    # Blank lines after the last record belong to the text.
    while at > start and not lines[at - 1].strip():
        at -= 1
    return block, at


def _probe(block: _Block) -> ReportersProbe:
    outcome: dict[str, Any] = {name: value for kind, name, value in block.records if kind == "outcome"}
    kind, message, status, seconds = (
        outcome.get(name) for name in ("exception.type", "exception.message", "exit_status", "wall_seconds")
    )
    devices = outcome.get("devices_used")
    return ReportersProbe(
        whole=block.whole,
        environment=dict(sorted(_environment(block.records))[:MOST_FIELDS]),
        ran=bool(outcome),
        exit_status=status if type(status) is int and abs(status) < 2**32 else None,
        signal=_name(outcome.get("signal")),
        exception=ExceptionFacts(type=_name(kind) or "", message=_text(message)) if _name(kind) else None,
        stdout=_stream(block.records, "stdout"),
        stderr=_stream(block.records, "stderr"),
        stdout_whole=block.whole and outcome.get("stdout_whole") is True,
        wall_seconds=float(seconds) if isinstance(seconds, int | float) and 0 <= seconds < 1e9 else None,
        devices_used=tuple(_name(one) or "" for one in devices[:64]) if isinstance(devices, list) else (),
        values=tuple(_values(block.records)),
    )


def _text(value: Any) -> str:
    whole = value if isinstance(value, str) else ""
    return storable_text(whole[:MOST_TEXT])


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w.:]{0,199}", value) else None


def _environment(
    records: Iterable[tuple[str, str, Any]],
) -> Iterator[tuple[str, str | int | float | bool | list[str]]]:
    for kind, name, value in records:
        if kind != "environment":
            continue
        if isinstance(value, str):
            yield name, _text(value)
        elif (
            isinstance(value, bool)
            or (isinstance(value, int) and abs(value) < 2**63)
            or (isinstance(value, float) and abs(value) < 1e300)
        ):
            yield name, value
        elif isinstance(value, list) and len(value) <= 100 and all(isinstance(item, str) for item in value):
            yield name, [_text(item) for item in value]


def _stream(records: Iterable[tuple[str, str, Any]], name: str) -> str:
    lines = [_text(value) for kind, _, value in records if kind == name]
    return "".join(f"{line}\n" for line in lines)


def _values(records: Iterable[tuple[str, str, Any]]) -> Iterator[CapturedValue]:
    records_of_values = [value for kind, _, value in records if kind == "value" and isinstance(value, dict)]
    for value in records_of_values[:MOST_VALUES]:
        try:
            yield CapturedValue.model_validate(
                {**value, "kind": value.get("of"), "name": _text(value.get("name"))[:200]}
            )
        except ValidationError:
            continue


def checks_of(probe: ReportersProbe | None) -> list[Check]:
    """The checks of a probe's observations, for a report whose words claim nothing."""
    if probe is None or not probe.ran:
        return []
    if probe.signal is not None:
        # A person may have stopped it, or a system that ran out of memory.
        return (
            []
            if probe.signal in _STOPS
            else [Check(text=probe.signal, kind=CheckKind.CRASH, signal=probe.signal)]
        )
    if probe.exception is not None:
        first = probe.exception.message.split("\n", 1)[0]
        text = f"{probe.exception.type}: {first}" if first else probe.exception.type
        name = probe.exception.type.rpartition(".")[2]
        return exception_claim(text) or [
            Check(text=text, kind=CheckKind.EXCEPTION, exception_type=name, message=first or None)
        ]
    if probe.exit_status:
        return [
            Check(
                text=f"exit status {probe.exit_status}",
                kind=CheckKind.EXIT_STATUS,
                exit_status=probe.exit_status,
            )
        ]
    lines = [line.strip() for line in probe.stdout.split("\n") if line.strip()]
    if probe.stdout_whole and 0 < len(lines) <= MOST_LINES_OF_OUTPUT:
        return [output_check(tuple(lines))]
    return []
