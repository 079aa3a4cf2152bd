"""Refuses an attempt that this node can't run: wrong contract, too weak isolation, or too few cards."""

from __future__ import annotations

from collections.abc import Sequence

from worker.contract import CONTRACT_VERSION, Attempt, Gpu, Reason, WhoCanAct
from worker.sandbox import Sandbox


class RefusedError(Exception):
    """This node can't set the attempt up."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.detail)
        self.reason = reason


def operator_reason(code: str, detail: str) -> Reason:
    """A reason that the operator of the node can do something about."""
    return Reason(code=code, detail=detail, who_can_act=WhoCanAct.OPERATOR)


def check_attempt(attempt: Attempt, sandbox: Sandbox, *, granted: Sequence[Gpu]) -> None:
    """Check the contract, the isolation level and the cards: no toolchain changes these.

    Raises RefusedError.
    """
    if attempt.contract != CONTRACT_VERSION:
        raise RefusedError(
            operator_reason(
                "unknown_contract", f"This node speaks version {CONTRACT_VERSION} of the contract."
            )
        )
    if not sandbox.level.satisfies(attempt.required_level):
        raise RefusedError(
            operator_reason(
                "level_too_weak",
                f"This node isolates at level {sandbox.level}; {attempt.required_level} is required.",
            )
        )
    needed = attempt.cards_needed
    if len(granted) < needed:
        code = "too_few_gpus" if needed > 1 else "no_gpu"
        raise RefusedError(
            operator_reason(code, f"The target asks for {needed} GPU(s); this node has fewer.")
        )
