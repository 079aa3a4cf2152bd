"""Changes between two cells of a report with the same script, device and settings, but other versions."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from app.judging.judgement import INCONCLUSIVE, SIGHTINGS, Verdict
from app.judging.report.axis import AxisDifference, differs_by
from worker.contract import Environment

# The probability that two jobs of one flaky script look like a change.
CHANCE = 0.05
_NAMES = {"python": "Python"}


class ChangeKind(StrEnum):
    """The kind of a change.

    `confounded` means that more than one version differs, so the cause is not known.
    """

    REGRESSED = "regressed"
    FIXED = "fixed"
    OTHER = "other"
    CONFOUNDED = "confounded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A judged cell: its verdict by the present rules, its rate, and its environment."""

    verdict: Verdict
    matched: int
    of: int
    environment: Environment
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change from an older to a newer side.

    For a confounded change, `missing` names the cell that would settle it. Otherwise it is empty.
    """

    kind: ChangeKind
    difference: AxisDifference
    missing: str = ""


def is_comparable(difference: AxisDifference) -> bool:
    """Whether at most one version differs and nothing else."""
    return not difference.confounders


def agree(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts say the same about the claim.

    `flaky` and `reproduced` agree: both are sightings.
    """
    return one is other or (one in SIGHTINGS and other in SIGHTINGS)


def change_of(before: Side, after: Side, *, imported: Collection[str]) -> Change | None:
    """The change from the older to the newer side; None without a change."""
    if agree(before.verdict, after.verdict) or INCONCLUSIVE.intersection({before.verdict, after.verdict}):
        return None
    difference = differs_by(before.environment, after.environment, imported=imported)
    if not is_comparable(difference):
        return Change(
            kind=ChangeKind.CONFOUNDED, difference=difference, missing=_missing(before, after, difference)
        )
    kind = _DIRECTIONS.get((before.verdict, after.verdict), ChangeKind.OTHER)
    # Without a version that differs, or if it may be chance, this is no regression and no fix.
    if difference.axis is None or may_be_chance(before, after):
        kind = ChangeKind.OTHER
    return Change(kind=kind, difference=difference)


_DIRECTIONS = {
    **{(seen, Verdict.NOT_REPRODUCED): ChangeKind.FIXED for seen in SIGHTINGS},
    **{(Verdict.NOT_REPRODUCED, seen): ChangeKind.REGRESSED for seen in SIGHTINGS},
}


def may_be_chance(before: Side, after: Side) -> bool:
    """Whether a flaky script may look like this without any change, by Fisher's exact test (one-sided)."""
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
    """The name of the cell that differs from the newer side in one version only."""
    versions = dict(difference.versions)
    if not versions:
        return f"{before.label} where {after.label} ran"
    first, *others = versions
    beside = " and ".join(f"{_display_name(name)} {versions[name][1] or 'absent'}" for name in others)
    older = f"{_display_name(first)} {versions[first][0] or 'absent'}"
    where = f", where {after.label} ran" if difference.machine else ""
    return f"{older}{f' with {beside}' if beside else ''}{where}"


def _display_name(package: str) -> str:
    return _NAMES.get(package, package)
