"""Joins the readings of a model with those of the rules.

A model chooses among the readings of the rules, says which of their evidence is no bug, adds what the report
calls right, or adds a reading that can only bring doubt.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.intake.claim.claims import MOST_READINGS, Check, Claim, Role
from app.intake.exhibit import same_evidence, values_of
from app.intake.model.answer import ModelReading


def join(rules: Claim, readings: Sequence[ModelReading]) -> Claim:
    """The claim of the rules, with what the readings of a model say about it."""
    if not readings:
        return rules
    mine = [_alone(rules), *map(_alone, rules.further)]
    mine = [claim for claim in mine if claim.having(Role.BUG)]
    first = readings[0]
    chosen = next((claim for claim in mine if _is_of(claim, first.claim)), None)
    if chosen is not None and _is_shown_in(chosen, mine[0]):
        chosen = mine[0]
    if chosen is not None and len(readings) == 1:
        excluded = (*first.no_bugs, *first.claim.having(Role.EXPECTED))
        others = [claim for claim in mine if claim is not chosen and not _is_among(claim, excluded)]
        return _claim(rules, _with_expected(chosen, first.claim), others)
    added = [
        reading.claim.model_copy(update={"by_model": True, "subject": rules.subject, "text": rules.text})
        for reading in readings
        if not any(_is_of(claim, reading.claim) for claim in mine)
    ]
    return _claim(rules, mine[0] if mine else _alone(rules), [*mine[1:], *added])


def _claim(rules: Claim, first: Claim, others: Sequence[Claim]) -> Claim:
    """A claim with further readings. Those of a model come last, and the rules' give way to them."""
    by_model = [claim for claim in others if claim.by_model]
    own = [claim for claim in others if not claim.by_model][: MOST_READINGS - 1 - len(by_model)]
    has_more = rules.has_more or len(own) + len(by_model) < len(others)
    return first.model_copy(update={"further": (*own, *by_model), "has_more": has_more})


def _alone(claim: Claim) -> Claim:
    return claim.model_copy(update={"further": (), "has_more": False})


def _is_shown_in(claim: Claim, first: Claim) -> bool:
    """Whether the first reading shows the values of another one, as a table that holds the nan."""
    lines = "\n".join(line for check in first.having(Role.BUG) for line in check.lines)
    values = [value for check in claim.having(Role.BUG) for value in values_of(check)]
    return bool(values) and all(value in lines for value in values)


def _is_of(claim: Claim, reading: Claim) -> bool:
    """Whether a reading of the rules has the bug of a model's reading, or a part of it."""
    bugs = reading.having(Role.BUG)
    return _is_among(claim, bugs)


def _is_among(claim: Claim, checks: Sequence[Check]) -> bool:
    bugs = claim.having(Role.BUG)
    return bool(bugs) and all(any(same_evidence(bug, check) for check in checks) for bug in bugs)


def _with_expected(claim: Claim, reading: Claim) -> Claim:
    """The claim with what a model says is called right, unless the rules know something that is."""
    right = reading.having(Role.EXPECTED)
    bugs = claim.having(Role.BUG)
    if claim.having(Role.EXPECTED) or any(same_evidence(bug, check) for bug in bugs for check in right):
        return claim
    return claim.model_copy(update={"checks": (*claim.checks, *right)})
