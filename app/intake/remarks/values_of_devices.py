"""Reads lists and blocks such as `MPS: [1, 2]`, `CPU: [1, 3]`: the value of the other device is the bug."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import cut
from app.intake.claim.claims import Check, Role, Where
from app.intake.claim.phrases import literal_check
from app.intake.words.other_devices import other_device_of
from app.intake.words.vocabulary import FLAGS, LITERAL, device_of

_ITEM = re.compile(
    r"[ \t]*+(?:[-*+•] )?(?P<label>[^:：`\n]{0,30}(?<![A-Za-z])(?:cpu|mps|xpu|tpu|hpu|npu)(?![A-Za-z])"
    rf"[^:：`\n]{{0,30}})[:：=][ \t]*(?P<value>{LITERAL})",
    FLAGS,
)
_MOST_LINES = 1_000


def values_of_devices(texts: Sequence[str]) -> list[Check]:
    """The value of a device that is neither the CPU nor a CUDA GPU as the bug, and the CPU's as right.

    Empty if several of them have a value, or if both values are equal.
    """
    lines = [line for text in texts for line in text.split("\n")][:_MOST_LINES]
    items = [match for line in lines if (match := _ITEM.match(line))]
    others = [(device, item) for item in items if (device := other_device_of(item["label"]))]
    own = [item for item in items if device_of(item["label"]) == "cpu"]
    if len(others) != 1 or len(own) != 1 or others[0][1]["value"] == own[0]["value"]:
        return []
    ((device, item),) = others
    bug = literal_check(item["value"], cut(item.string), Role.BUG)
    right = literal_check(own[0]["value"], cut(own[0].string), Role.EXPECTED)
    if bug is None or right is None:
        return []
    return [bug.model_copy(update={"where": bug.where.model_copy(update={"device": device})}), right]


def split_devices(seen: Sequence[Check]) -> tuple[list[Check], list[Check]]:
    """The outputs, without those of the CPU beside one of a device such as MPS: these are the reference."""
    if not any(check.where.device not in {None, "cpu", "cuda"} for check in seen):
        return list(seen), []
    of_cpu = [check for check in seen if check.where.device == "cpu"]
    reference = [check.model_copy(update={"role": Role.EXPECTED, "where": Where()}) for check in of_cpu[:1]]
    return [check for check in seen if check not in of_cpu], reference
