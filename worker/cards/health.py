"""Whether a card may give evidence: what its last known-answer check said, and what the driver counted since. Pure.

A card is sound while its last check passed, at most `seconds` ago, and the driver reported no fault since then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from worker.contract import CardReading, Gpu

_Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
_Name = Annotated[str, StringConstraints(pattern=r"^[\w .:]{1,60}$")]
# By card model and build of torch, then by name of the computation.
KnownAnswers = Mapping[str, Mapping[str, str]]
# Faults of the program, not of the card: https://docs.nvidia.com/deploy/xid-errors
_XIDS_OF_PROGRAMS = frozenset({13, 31, 32, 43, 45, 68, 69})


class Answer(BaseModel):
    """What `known_answer.py` printed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wrong: list[_Name]
    varies: list[_Name]
    digests: dict[str, dict[_Name, _Digest]]
    build: list[Annotated[str, Field(max_length=60)]]


def read_answer(printed: bytes) -> Answer | None:
    """None for whatever is no answer."""
    try:
        return Answer.model_validate_json(printed.strip())
    except ValidationError:
        return None


def answers_key(gpu: Gpu, build: Sequence[str]) -> str:
    """What two cards have in common when their rounded answers must be equal: the model and the libraries."""
    return " | ".join([gpu.model, *build])


def faults(answer: Answer, gpus: Sequence[Gpu], known: KnownAnswers) -> list[str]:
    """What is wrong with the cards, as they were granted in this order; empty when all of it is right."""
    if len(answer.digests) != len(gpus):
        return [f"{len(answer.digests)} of {len(gpus)} cards could be used"]
    found = [f"card {name} is wrong" for name in answer.wrong] + [
        f"card {name} varies" for name in answer.varies
    ]
    for number, gpu in enumerate(gpus):
        stored = known.get(answers_key(gpu, answer.build), {})
        own = answer.digests.get(str(number), {})
        found += [
            f"card {number}: {name} is not what this model gives"
            for name in stored
            if own.get(name) != stored[name]
        ]
    return found


def fault_of_driver(before: CardReading, now: CardReading) -> str | None:
    """What the driver counted meanwhile that makes the card's results doubtful."""
    if now.ecc_uncorrected > before.ecc_uncorrected:
        return f"{now.ecc_uncorrected - before.ecc_uncorrected} memory error(s) that could not be corrected"
    severe = [xid for xid in now.xids[len(before.xids) :] if xid not in _XIDS_OF_PROGRAMS]
    if severe:
        return f"the driver reported fault {severe[0]} (Xid)"
    if now.remapping_failed:
        return "memory of the card could not be replaced"
    return None
