"""Needs that the submitter says were read wrongly: the script is run as if it had none of them."""

from __future__ import annotations

from collections.abc import Collection

from app.intake.needs.asks import QUESTIONS_ABOUT_NEEDS
from app.intake.reading import NeedKind, Reading, Script


def without_needs(reading: Reading, kinds: Collection[NeedKind]) -> Reading:
    """The reading without needs of these kinds and without the questions about them.

    `ignored_needs` says which ones were left out, each once.
    """
    if not kinds:
        return reading
    questions = {QUESTIONS_ABOUT_NEEDS.get(kind) for kind in kinds}
    ignored = dict.fromkeys(need for script in reading.scripts for need in script.needs if need.kind in kinds)
    return reading.model_copy(
        update={
            "scripts": tuple(_without(script, kinds) for script in reading.scripts),
            "ask": tuple(ask for ask in reading.ask if ask.code not in questions),
            "ignored_needs": tuple(ignored),
        }
    )


def _without(script: Script, kinds: Collection[NeedKind]) -> Script:
    needs = tuple(need for need in script.needs if need.kind not in kinds)
    return script if needs == script.needs else script.model_copy(update={"needs": needs})
