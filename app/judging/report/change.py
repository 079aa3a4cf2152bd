"""What changed between two cells of a report: the same script on the same device with the same settings, told from its two sides."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from app.judging.judgement import INCONCLUSIVE, SIGHTINGS, Verdict
from app.judging.report.axis import AxisDifference, differs_by
from worker.contract import Environment

# As often two jobs of one flaky script may look like a change.
CHANCE = 0.05
_NAMES = {"python": "Python"}


class ChangeKind(StrEnum):
    """What a flip is. `confounded`: more than the one axis differs, so that it can't be said which."""

    REGRESSED = "regressed"
    FIXED = "fixed"
    OTHER = "other"
    CONFOUNDED = "confounded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A judged cell: its verdict by the rules of today, how often that was so, where it ran."""

    verdict: Verdict
    matched: int
    of: int
    environment: Environment
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A flip between an older and a newer side. `missing` is the cell that would tell, in words; empty unless it is confounded."""

    kind: ChangeKind
    difference: AxisDifference
    missing: str = ""


def is_comparable(difference: AxisDifference) -> bool:
    """Whether no more than one version differs."""
    return not difference.confounders


def is_same_word(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts say the same of the claim: sometimes and always are both sightings of it."""
    return one is other or (one in SIGHTINGS and other in SIGHTINGS)


def change_of(before: Side, after: Side, *, imported: Collection[str]) -> Change | None:
    """What changed from the older to the newer side; None where nothing did."""
    if is_same_word(before.verdict, after.verdict) or INCONCLUSIVE.intersection(
        {before.verdict, after.verdict}
    ):
        return None
    difference = differs_by(before.environment, after.environment, imported=imported)
    if not is_comparable(difference):
        return Change(
            kind=ChangeKind.CONFOUNDED, difference=difference, missing=_missing(before, after, difference)
        )
    kind = _DIRECTIONS.get((before.verdict, after.verdict), ChangeKind.OTHER)
    # With nothing that differs, or where chance alone does it often, nobody has shown a regression or a repair.
    if difference.axis is None or may_be_chance(before, after):
        kind = ChangeKind.OTHER
    return Change(kind=kind, difference=difference)


_DIRECTIONS = {
    **{(seen, Verdict.NOT_REPRODUCED): ChangeKind.FIXED for seen in SIGHTINGS},
    **{(Verdict.NOT_REPRODUCED, seen): ChangeKind.REGRESSED for seen in SIGHTINGS},
}


def may_be_chance(before: Side, after: Side) -> bool:
    """Whether a flaky script could well look like this with nothing changed: Fisher's exact test, one-sided."""
    if Verdict.FLAKY not in {before.verdict, after.verdict}:
        return False
    one, other = sorted((before, after), key=lambda side: side.matched / max(1, side.of))
    met, of = one.matched + other.matched, one.of + other.of
    total = math.comb(of, other.of)
    extreme = sum(
        math.comb(met, k) * math.comb(of - met, other.of - k)
        for k in range(other.matched, min(met, other.of) + 1)
    )
    return extreme > CHANCE * total


def _missing(before: Side, after: Side, difference: AxisDifference) -> str:
    """The cell that differs in one thing only."""
    versions = dict(difference.versions)
    if not versions:
        return f"{before.label} where {after.label} ran"
    first, *others = versions
    beside = " and ".join(f"{_named(name)} {versions[name][1] or 'absent'}" for name in others)
    older = f"{_named(first)} {versions[first][0] or 'absent'}"
    where = f", where {after.label} ran" if difference.machine else ""
    return f"{older}{f' with {beside}' if beside else ''}{where}"


def _named(package: str) -> str:
    return _NAMES.get(package, package)
