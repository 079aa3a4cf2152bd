"""Names the day and the times of a run in an output, for scripts that print what the clock says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind
from app.intake.reading import Script
from worker.contract import Result

# `strftime` is none of them: it may show a fixed time, whose fraction is the bug.
_READS_CLOCK = re.compile(r"\b(?:now|utcnow|today|localtime|gmtime|time\.time)\(")
# With a fraction of a second, a time comes from a clock. A script writes `12:00:00` itself.
_TIME_OF_CLOCK = r"\d{1,2}:\d\d:\d\d[.,]\d{3,9}(?![\d:])"
_TIME = re.compile(rf"(?<![\d:]){_TIME_OF_CLOCK}")
_STAMP = re.compile(rf"\b(?P<date>\d{{4}}-\d\d-\d\d)[ T](?P<time>{_TIME_OF_CLOCK})")
_MOST_CHARACTERS = 200_000


def with_named_times(check: Check, result: Result, script: Script) -> tuple[Check, Result]:
    """The claimed output and the one of the attempt, with names for the times that the clock gave."""
    if check.kind is not CheckKind.OUTPUT or not check.lines or not _reads_clock(script.script):
        return check, result
    lines, stdout = _name_times(check.lines, result.observation.stdout)
    observation = result.observation.model_copy(update={"stdout": stdout})
    return check.model_copy(update={"lines": lines}), result.model_copy(update={"observation": observation})


def _reads_clock(script: str) -> bool:
    """Whether a script asks for the time or the day."""
    return _READS_CLOCK.search(script) is not None


def _name_times(claimed: Sequence[str], stdout: str) -> tuple[tuple[str, ...], str]:
    """The claimed lines and the output with names for the day of the run and for its times of day.

    Times have the same name where they are equal. Only one date may be another one: the day of the run.
    """
    text = "\n".join(claimed)
    if max(len(text), len(stdout)) > _MOST_CHARACTERS:
        return tuple(claimed), stdout
    times, times_now = set(_TIME.findall(text)), set(_TIME.findall(stdout))
    # The clock never shows a fraction of a second twice. Equal ones come from fixed values.
    days = {match["date"] for match in _STAMP.finditer(text) if match["time"] not in times_now}
    days_now = {match["date"] for match in _STAMP.finditer(stdout) if match["time"] not in times}
    days, days_now = days - days_now, days_now - days
    if len(days) == len(days_now) == 1:
        text, stdout = text.replace(days.pop(), "DAY"), stdout.replace(days_now.pop(), "DAY")
    return tuple(_with_names(text).split("\n")), _with_names(stdout)


def _with_names(text: str) -> str:
    names: dict[str, str] = {}
    return _TIME.sub(lambda match: names.setdefault(match[0], f"CLOCK{len(names)}"), text)
