"""Decides whether a script may start warm: in case of doubt, it starts cold. Pure.

A reason contains no text of the script, only the number of a line.
"""

from __future__ import annotations

from collections.abc import Mapping

from worker.contract import Reason, ToolchainFacts
from worker.warm.script import first_doubt

# Only variables that no library reads may differ between the paused interpreter and the job.
_NEUTRAL_VARIABLES = frozenset({"PYTHONHASHSEED"})


def why_cold(script: str, *, toolchain: ToolchainFacts, variables: Mapping[str, str]) -> Reason | None:
    """The first reason against a warm start, or None.

    `variables`: environment variables of the target's settings.
    """
    if toolchain.torch is None:
        return Reason(code="no_torch", detail="the toolchain has no torch to import in advance")
    if not _NEUTRAL_VARIABLES.issuperset(variables):
        return Reason(
            code="settings",
            detail="the target's settings set environment variables that libraries read when they start",
        )
    doubt = first_doubt(script)
    if doubt is None:
        return None
    where = f"line {doubt.line}: " if doubt.line else ""
    return Reason(code=doubt.code, detail=f"{where}{doubt.detail}")
