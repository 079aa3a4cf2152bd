"""Notes about a report for people: repairs of its script, and how the reporter's environment differs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.intake.reading import Need
from app.intake.text.markdown import unix_lines
from app.judging.comparison.environments import differing_fields
from app.judging.needs.status import NeedOutcome, NeedStatus
from app.runs.run_object.document import RunDocument, ScriptPart
from worker.contract import Environment

# Only this many lines of a script are compared: the comparison is quadratic at worst.
MOST_LINES = 2_000


@dataclass(frozen=True, slots=True)
class EnvironmentField:
    """A field of the reporter's environment, with the different values on our machines."""

    name: str
    claimed: str
    values: tuple[str, ...]


_OUTCOMES = {
    "Tried": NeedStatus.EXERCISED,
    "Tried with another version": NeedStatus.SUBSTITUTED,
    "Not tried": NeedStatus.UNVERIFIED,
}
_MOST_NEEDS = 8


def repair_diff(script: ScriptPart) -> list[str]:
    """The changed lines of a script, `-` as given and `+` as run. Empty if nothing was changed."""
    given, run = (unix_lines(text).splitlines()[:MOST_LINES] for text in (script.as_given, script.script))
    changed = difflib.unified_diff(given, run, lineterm="", n=0)
    return [line for line in list(changed)[2:] if not line.startswith("@@")]


def environment_differences(run: RunDocument) -> list[EnvironmentField]:
    """The fields that the reporter names and no machine of this run shares, the likeliest cause first."""
    claimed = run.report.environment
    used = {attempt.environment for job in run.jobs for attempt in job.attempts if attempt.counted}
    environments = [environment for digest, environment in run.environments.items() if digest in used]
    return fields_that_differ(claimed, environments)


def fields_that_differ(claimed: Environment, environments: Sequence[Environment]) -> list[EnvironmentField]:
    """The fields of a claimed environment that none of these shares, the likeliest cause first."""
    if not environments:
        return []
    names = differing_fields(claimed, {})
    return [
        EnvironmentField(
            name,
            _field_text(claimed, name),
            tuple(dict.fromkeys(_field_text(each, name) for each in environments)),
        )
        for name in names
        if not any(_agree(_field_text(claimed, name), _field_text(each, name)) for each in environments)
    ]


def _field_text(environment: Environment, name: str) -> str:
    value = environment.get(name)
    return (
        "not there"
        if value is None
        else ", ".join(map(str, value))
        if isinstance(value, list)
        else str(value)
    )


def _agree(claimed: str, value: str) -> bool:
    """Whether two values agree, such as `A100` and `NVIDIA A100-SXM4-80GB`, or `2.3` and `2.3.1`."""
    one, other = claimed.casefold(), value.casefold()
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if shorter[:1].isdigit():
        return longer.startswith(shorter) and not longer[len(shorter)].isdigit()
    return shorter in longer


def needs_in_words(script: ScriptPart) -> str:
    """The needs of a script as one phrase; untrusted text."""
    return ", ".join(_words(str(need.kind), need.name, need.count) for need in script.needs)


def ignored_needs_words(needs: Iterable[Need]) -> str:
    """Says that the submitter asked to run it anyway; empty if nobody did. It has no text of the report."""
    kinds = ", ".join(sorted({need.kind for need in needs}))
    return f"The submitter asked to run it without regard to these needs: {kinds}." if kinds else ""


def outcomes_in_words(needs: Iterable[NeedOutcome]) -> str:
    """Says which needs were tried, which not, and which with another version; untrusted text."""
    every = list(needs)
    return " ".join(
        f"{label}: {'; '.join(shorten(rows, most=_MOST_NEEDS))}."
        for label, status in _OUTCOMES.items()
        if (rows := [_outcome_words(need) for need in every if need.status is status])
    )


def _outcome_words(need: NeedOutcome) -> str:
    named = " ".join(filter(None, (need.kind, need.name)))
    if need.status is NeedStatus.EXERCISED:
        return f"{named} {need.by}".strip()
    return f"{named} ({need.by})" if need.by else named


def _words(kind: str, name: str, count: int) -> str:
    return " ".join(filter(None, (kind, name, f"x {count}" if count > 1 and kind == "gpu" else "")))


def shorten(items: Iterable[str], *, most: int) -> list[str]:
    """The first items, and a note how many more there are."""
    every = list(items)
    return every if len(every) <= most else [*every[:most], f"… {len(every) - most} more"]
