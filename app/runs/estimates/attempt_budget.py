"""When to stop asking a job for more: the plan's number bounds it, whatever becomes of its attempts."""

from __future__ import annotations

from app.targets.planning.plan import RepeatPlan

# A plan that is not exact may grow to this many, to say "never" of something random.
GROWN = 20


def attempts_required(wanted: int, *, plan: RepeatPlan, ended: int, useless: int, leases: int) -> int:
    """How many attempts should be waiting now, of the `wanted` that judging would like.

    Lost attempts take their place in the plan: a job ends whatever its nodes do.
    """
    if useless >= leases:
        return 0
    most = plan.at_most if plan.exact else max(plan.at_most, GROWN)
    return max(0, min(wanted, most - ended))
