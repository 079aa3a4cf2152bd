"""Whether a fork of a paused interpreter would show what a process of its own shows: pure, and cold wherever in doubt.

The words of a reason are ours and its only number a line's: nothing of the script is in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from worker.contract import Reason, ToolchainFacts
from worker.warm.script import first_doubt

# A fork finds its variables set by the time its libraries look; only what none of them reads can differ from the paused interpreter's.
_NEUTRAL_VARIABLES = frozenset({"PYTHONHASHSEED"})


def why_cold(
    script: str, *, toolchain: ToolchainFacts, variables: Mapping[str, str], arguments: int = 0
) -> Reason | None:
    """The first thing that stands against a warm start; None when nothing does. `variables` are those of the target's settings."""
    if toolchain.torch is None:
        return Reason(code="no_torch", detail="the toolchain has no torch to import beforehand")
    if arguments:
        return Reason(code="arguments", detail="the interpreter is started with arguments")
    if not _NEUTRAL_VARIABLES.issuperset(variables):
        return Reason(
            code="settings", detail="the target's settings are variables that libraries read when they start"
        )
    doubt = first_doubt(script)
    if doubt is None:
        return None
    where = f"line {doubt.line}: " if doubt.line else ""
    return Reason(code=doubt.code, detail=f"{where}{doubt.what}")
