"""Every word of ours has its look: a name, a sentence, a sign and a class that the style sheet knows."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import get_args

import pytest

from app.judging.judgement import CheckResult, ComparisonResult, Scope, Verdict
from app.states import AttemptState, JobState, RunState, Trigger
from app.web.pages import STATIC
from app.web.text import labels
from worker.contract import Outcome

FAMILIES = [
    (Verdict, labels.VERDICTS),
    (Outcome, labels.OUTCOMES),
    (CheckResult, labels.CHECKS),
    (ComparisonResult, labels.COMPARISONS),
]
FAMILY_NAMES = [family.__name__ for family, _ in FAMILIES]


@pytest.mark.parametrize(("family", "looks"), FAMILIES, ids=FAMILY_NAMES)
def test_every_member_has_a_look(family: type[StrEnum], looks: dict[StrEnum, labels.Look]) -> None:
    assert list(looks) == list(family)
    style = (STATIC / "app.css").read_text()
    for word in family:
        look = labels.look(word)
        assert look is looks[word]
        assert look.name
        assert re.fullmatch(r"[A-Z][^.]*\.", look.sentence)
        assert len(look.sign) == 1
        assert f".cell.{look.tone}{{" in style


@pytest.mark.parametrize(("family", "looks"), FAMILIES, ids=FAMILY_NAMES)
def test_no_two_members_look_alike_without_colours(
    family: type[StrEnum], looks: dict[StrEnum, labels.Look]
) -> None:
    assert len({look.name for look in looks.values()}) == len(family)
    tones: dict[str, set[str]] = {}
    for look in looks.values():
        tones.setdefault(look.sign, set()).add(look.tone)
    # The same sign never stands for two colours.
    assert all(len(found) == 1 for found in tones.values())


def test_verdicts_have_signs_of_their_own() -> None:
    assert len({look.sign for look in labels.VERDICTS.values()}) == len(Verdict)


def test_every_state_and_scope_has_words() -> None:
    states = {*get_args(RunState), *get_args(JobState), *get_args(AttemptState)}
    assert set(labels.STATES) == states
    assert set(labels.SCOPES) == set(Scope)


def test_what_has_no_look_is_not_an_error() -> None:
    assert labels.look(None) is labels.UNKNOWN


def test_every_trigger_of_a_run_has_its_words() -> None:
    assert list(labels.TRIGGERS) == list(get_args(Trigger))
    assert all(labels.TRIGGERS.values())
