"""Digests: of streams and values that a node sent whole, and of what a run fixes before its first attempt.

Whoever sees the attempts afterwards can check that the claim and the plan were not chosen after the fact.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.intake.claim.claims import Claim
from app.intake.reading import Reading
from app.intake.typed.typed_claim import data_of_claim
from app.judging.judgement import StoppingRule
from app.judging.verdict.attempts_needed import RULE
from app.judging.versions import JUDGING_RULES
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import CapturedValue, Observation


def with_digests(observation: Observation) -> Observation:
    """The observation with computed digests.

    Those of cut streams and values stay: only the node has seen all of them.
    """
    update: dict[str, Any] = {"values": [_with_digest(value) for value in observation.values]}
    for stream in ("stdout", "stderr"):
        text = getattr(observation, stream)
        data = text.encode(errors="replace")
        # A sign that can't be stored, of one byte, became a mark of three.
        more = len(data) - getattr(observation, f"{stream}_bytes")
        if 0 <= more <= 2 * text.count("\ufffd"):
            prefix = "sha256:" if getattr(observation, f"{stream}_digest").startswith("sha256:") else ""
            update[f"{stream}_digest"] = prefix + hashlib.sha256(data).hexdigest()
    return observation.model_copy(update=update)


def _with_digest(value: CapturedValue) -> CapturedValue:
    """The value with a computed digest. Data that is no base64 is removed."""
    try:
        data = base64.b64decode(value.data, validate=True)
    except ValueError:
        return value.model_copy(update={"data": ""})
    return (
        value.model_copy(update={"digest": f"sha256:{hashlib.sha256(data).hexdigest()}"}) if data else value
    )


class PlanRecord(BaseModel):
    """The digests of what was fixed, and the rule by which attempts are added. It is stored with the run.

    `digest` is the SHA-256 of the JSON of all other fields, with sorted keys and without spaces.
    """

    model_config = ConfigDict(frozen=True)

    digest: str = Field(description="SHA-256 of the JSON of the other fields, keys sorted, without spaces")
    claim: str = Field(description="SHA-256 of the JSON of the claim with all its readings")
    scripts: list[str] = Field(description="the digests of the scripts as they are run")
    targets: list[str] = Field(description="the labels of the targets, in the order of the cells")
    repeats: int = Field(description="the number of attempts of a cell that was asked for")
    repeats_exact: bool = Field(description="False: the rules add attempts where a verdict needs them")
    rules: int = Field(description="the version of the rules that judge, and that add attempts")
    stopping: StoppingRule | None = Field(
        default=None,
        exclude_if=lambda rule: rule is None,
        description="when a job has enough attempts; not in records of before 30 November 2026",
    )
    contrast: bool = Field(
        default=False,
        exclude_if=lambda contrast: not contrast,
        description="True: after a `reproduced` without a contrast, one cell more may be added to look for"
        " one. Left out where it is false",
    )


def plan_record(
    reading: Reading, targets: Sequence[Target], repeats: RepeatPlan, *, contrast: bool = False
) -> PlanRecord:
    """The record of a run that is about to start. `contrast`: one cell more may look for a contrast."""
    fields: dict[str, Any] = {
        "claim": claim_digest(reading.claim),
        "scripts": [script.digest for script in reading.scripts],
        "targets": [target.label() for target in targets],
        "repeats": repeats.at_most,
        "repeats_exact": repeats.exact,
        "rules": JUDGING_RULES,
        "stopping": RULE.model_dump(mode="json"),
        **({"contrast": True} if contrast else {}),
    }
    return PlanRecord(digest=_digest(fields), **fields)


def claim_digest(claim: Claim) -> str:
    """The digest of a claim with all its readings."""
    return _digest(data_of_claim(claim))


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
