"""Gives exhibits of a report another stance, and makes the claim that follows.

The stances of the other exhibits stay, and so do their places in the claim.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import InputError
from app.intake.claim.claim_text import cut
from app.intake.claim.claims import MOST_READINGS, Check, CheckKind, Claim, Role
from app.intake.exhibit import Exhibit, Stance, is_about, values_of
from app.intake.reading import Reading
from app.intake.typed.typed_claim import data_of_claim
from app.intake.words.vocabulary import strip_quotes

_CODE = "bad_stance"
# The role that a check had by the former stance of its exhibit.
_ROLES = {
    Stance.ACTUAL: {Role.BUG, Role.DETAIL},
    Stance.UNCLEAR: {Role.BUG, Role.DETAIL},
    Stance.EXPECTED: {Role.EXPECTED},
    Stance.ELSEWHERE: {Role.BUG, Role.DETAIL, Role.EXPECTED},
}


@dataclass(frozen=True, slots=True)
class Correction:
    """The claim as the JSON of a claim as data, and the exhibits with their new stances."""

    claim: str
    exhibits: tuple[Exhibit, ...]


def with_stances(reading: Reading, stances: Mapping[str, str], *, who: str) -> Correction:
    """The claim and the exhibits of a reading with other stances, by the ids of exhibits.

    Raises InputError for an exhibit that is not there, and for a stance that is none.
    """
    exhibits = {exhibit.id: exhibit for exhibit in reading.exhibits}
    changes = {name: _check_stance(name, stance, exhibits) for name, stance in stances.items()}
    if not changes:
        raise InputError(
            "Give the stance of at least one exhibit; `report.exhibits` has them.",
            code=_CODE,
            field="stances",
        )
    readings = [reading.claim.model_copy(update={"further": ()}), *reading.claim.further]
    for name, stance in changes.items():
        exhibit = exhibits[name]
        if stance is exhibit.stance:
            continue
        readings = _place(_without(readings, exhibit), exhibit, stance)
        exhibits[name] = exhibit.model_copy(update={"stance": stance, "because": "", "corrected_by": who})
    data = data_of_claim(_with_right_value(_join(readings), tuple(exhibits.values())))
    return Correction(json.dumps(data, ensure_ascii=False, separators=(",", ":")), tuple(exhibits.values()))


def _check_stance(name: str, stance: str, exhibits: Mapping[str, Exhibit]) -> Stance:
    place = f"stances.{name if name.isalnum() else '…'}"[:60]
    if not exhibits:
        raise InputError(
            f"{place}: The report has no exhibits. Send its claim as data instead.", code=_CODE, field=place
        )
    if name not in exhibits:
        last = list(exhibits)[-1]
        raise InputError(
            f"{place}: There is no such exhibit. The report has e1 to {last}.", code=_CODE, field=place
        )
    if stance not in set(Stance):
        raise InputError(f"{place}: A stance is one of {', '.join(Stance)}.", code=_CODE, field=place)
    return Stance(stance)


def _without(readings: Sequence[Claim], exhibit: Exhibit) -> list[Claim]:
    """The readings without the checks that the exhibit made by its former stance."""
    roles = _ROLES[exhibit.stance]
    shorter: list[Claim] = []
    for reading in readings:
        checks = [
            rest
            for check in reading.checks
            for rest in [_rest(check, exhibit) if check.role in roles and is_about(exhibit, check) else check]
            if rest is not None
        ]
        shorter.append(reading.model_copy(update={"checks": tuple(_with_known_names(checks))}))
    return shorter


def _rest(check: Check, exhibit: Exhibit) -> Check | None:
    """The check without the lines of the exhibit; None if nothing else is left of it."""
    if check.kind is not CheckKind.OUTPUT:
        return None
    mine = values_of(exhibit.evidence)
    lines = tuple(line for line in check.lines if strip_quotes(line) not in mine)
    return check.model_copy(update={"lines": lines, "text": cut("\n".join(lines))}) if lines else None


def _with_known_names(checks: Sequence[Check]) -> list[Check]:
    """The checks; an expected value whose bug is gone stands for all bugs."""
    bugs = {check.id for check in checks if check.role is Role.BUG}
    return [check if check.of in {None, *bugs} else check.model_copy(update={"of": None}) for check in checks]


def _place(readings: Sequence[Claim], exhibit: Exhibit, stance: Stance) -> list[Claim]:
    """The readings with the check of the exhibit where its new stance puts it."""
    first, *others = readings
    if stance is Stance.ELSEWHERE:
        return [*readings]
    where = exhibit.evidence.where.model_copy(update={"mode": None})
    check = exhibit.evidence.model_copy(update={"where": where})
    if exhibit.anchor is not None and exhibit.anchor.script == 1:
        check = check.model_copy(update={"at": exhibit.anchor.line})
    if stance is Stance.UNCLEAR:
        alone = first.model_copy(update={"checks": (check,)})
        return [*readings, alone][:MOST_READINGS]
    role = Role.BUG if stance is Stance.ACTUAL else Role.EXPECTED
    placed = check.model_copy(update={"role": role})
    return [first.model_copy(update={"checks": (*first.checks, placed)}), *others]


def _join(readings: Sequence[Claim]) -> Claim:
    """The readings as one claim. The first one with a bug leads, and has what should happen."""
    having_bugs = [reading for reading in readings if reading.having(Role.BUG)]
    if not having_bugs:
        return readings[0].model_copy(update={"further": ()})
    lead, *others = having_bugs
    if lead is not readings[0]:
        expected = readings[0].having(Role.EXPECTED)
        lead = lead.model_copy(update={"checks": (*lead.checks, *expected)})
    return lead.model_copy(update={"further": tuple(others)})


def _with_right_value(claim: Claim, exhibits: Sequence[Exhibit]) -> Claim:
    """The claim with the first shown right value, if its bug is a printed value and it names no right one."""
    bugs = claim.having(Role.BUG)
    right = next(
        (each for each in exhibits if each.stance is Stance.EXPECTED and values_of(each.evidence)), None
    )
    if not bugs or right is None or claim.having(Role.EXPECTED) or not all(map(values_of, bugs)):
        return claim
    return _place([claim], right, Stance.EXPECTED)[0]
