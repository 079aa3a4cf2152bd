"""Finds the faults of a card in the answer of its check, and in the counters of the driver. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from worker.contract import GIB, CardReading, Gpu

_Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
_Name = Annotated[str, StringConstraints(pattern=r"^[\w .:]{1,60}$")]
# Digests by card model and build of torch (`answers_key`), then by the name of the computation.
KnownAnswers = Mapping[str, Mapping[str, str]]
# Faults of the program, not of the card: https://docs.nvidia.com/deploy/xid-errors
_XIDS_OF_PROGRAMS = frozenset({13, 31, 32, 43, 45, 68, 69})

# The bookkeeping of the driver grows by less.
_LEFT_BYTES = GIB


class Answer(BaseModel):
    """The output of `known_answer.py`. `digests` are by the number of the card, then by computation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wrong: list[_Name]
    varies: list[_Name]
    digests: dict[str, dict[_Name, _Digest]]
    build: list[Annotated[str, Field(max_length=60)]]


def read_answer(printed: bytes) -> Answer | None:
    """Parse the output of `known_answer.py`. None if it is not a valid answer."""
    try:
        return Answer.model_validate_json(printed.strip())
    except ValidationError:
        return None


def answers_key(gpu: Gpu, build: Sequence[str]) -> str:
    """The card model and the libraries. Cards with equal keys must give equal rounded answers."""
    return " | ".join([gpu.model, *build])


def faults(answer: Answer, gpus: Sequence[Gpu], known: KnownAnswers) -> list[str]:
    """The faults of the cards, as sentences. `gpus` are in the order in which they were granted.

    Computations without a known answer are not compared.
    """
    if len(answer.digests) != len(gpus):
        return [f"{len(answer.digests)} of {len(gpus)} cards could be used"]
    messages = [f"card {name} is wrong" for name in answer.wrong] + [
        f"card {name} varies" for name in answer.varies
    ]
    for number, gpu in enumerate(gpus):
        stored = known.get(answers_key(gpu, answer.build), {})
        own = answer.digests.get(str(number), {})
        messages += [
            f"card {number}: {name} is not what this model gives"
            for name in stored
            if own.get(name) != stored[name]
        ]
    return messages


def fault_of_driver(before: CardReading, now: CardReading) -> str | None:
    """The first fault that the driver counted between two readings. None if it counted none."""
    if now.ecc_uncorrected > before.ecc_uncorrected:
        return f"{now.ecc_uncorrected - before.ecc_uncorrected} memory error(s) that could not be corrected"
    severe = [xid for xid in now.xids[len(before.xids) :] if xid not in _XIDS_OF_PROGRAMS]
    if severe:
        return f"the driver reported fault {severe[0]} (Xid)"
    if now.remapping_failed:
        return "memory of the card could not be replaced"
    return None


def is_shaken(before: CardReading, now: CardReading) -> bool:
    """True if the driver reported a fault of a program: it may leave a card that fails for the next one."""
    return any(xid in _XIDS_OF_PROGRAMS for xid in now.xids[len(before.xids) :])


def memory_left(before: CardReading, now: CardReading) -> str | None:
    """That the memory of an attempt was not given back, between the readings around it. None if it was."""
    if before.memory_used_bytes is None or now.memory_used_bytes is None:
        return None
    grown = now.memory_used_bytes - before.memory_used_bytes
    return f"{grown / GIB:.1f} GiB of its memory were not given back" if grown > _LEFT_BYTES else None
