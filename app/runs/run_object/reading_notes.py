"""What was read from a report, for people: how a script was changed before it ran, and how the reporter's place differs from ours."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from app.intake.text.markdown import unix_lines
from app.judging.comparison.environments import differing_fields
from app.runs.run_object.document import RunDocument, ScriptPart
from worker.contract import Environment

# A longer script is compared no further: the comparison is quadratic at worst.
MOST_LINES = 2_000


@dataclass(frozen=True, slots=True)
class PlaceField:
    """A field of the environment that the reporter names, with what was found instead on each machine that ran the script."""

    name: str
    claimed: str
    found: tuple[str, ...]


def repair_diff(script: ScriptPart) -> list[str]:
    """The lines that repairs changed, `-` as given and `+` as run, without the rest. Empty where nothing was changed."""
    given, run = (unix_lines(text).splitlines()[:MOST_LINES] for text in (script.as_given, script.script))
    changed = difflib.unified_diff(given, run, lineterm="", n=0)
    return [line for line in list(changed)[2:] if not line.startswith("@@")]


def reporters_place(run: RunDocument) -> list[PlaceField]:
    """The fields that the reporter names and that no machine of this run shares, likeliest culprit first."""
    claimed = run.report.environment
    used = {attempt.environment for job in run.jobs for attempt in job.attempts if attempt.counted}
    found = [environment for digest, environment in run.environments.items() if digest in used]
    if not found:
        return []
    names = differing_fields(claimed, {})
    return [
        PlaceField(name, _said(claimed, name), tuple(dict.fromkeys(_said(each, name) for each in found)))
        for name in names
        if not any(_agree(_said(claimed, name), _said(each, name)) for each in found)
    ]


def _said(environment: Environment, name: str) -> str:
    value = environment.get(name)
    return (
        "not there"
        if value is None
        else ", ".join(map(str, value))
        if isinstance(value, list)
        else str(value)
    )


def _agree(claimed: str, found: str) -> bool:
    """Whether both name the same thing, one of them perhaps in more words: `A100` and `NVIDIA A100-SXM4-80GB`, `2.3` and `2.3.1+cu121`."""
    one, other = claimed.casefold(), found.casefold()
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if shorter[:1].isdigit():
        return longer.startswith(shorter) and not longer[len(shorter)].isdigit()
    return shorter in longer


def needs_in_words(script: ScriptPart) -> str:
    """What the script cannot run without, as one phrase; hostile text."""
    return ", ".join(_words(str(need.kind), need.name, need.count) for need in script.needs)


def _words(kind: str, name: str, count: int) -> str:
    return " ".join(filter(None, (kind, name, f"x {count}" if count > 1 and kind == "gpu" else "")))


def in_few(items: Iterable[str], *, most: int) -> list[str]:
    """The first ones, and how many more there are."""
    every = list(items)
    return every if len(every) <= most else [*every[:most], f"… {len(every) - most} more"]
