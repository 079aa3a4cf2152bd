"""Limits the attempts of a job: the number in the plan bounds it, whatever happens to its attempts."""

from __future__ import annotations

from app.targets.planning.plan import RepeatPlan

# A plan that is not exact may grow to this many attempts. Randomness needs them before it is "not
# reproduced".
GROWN = 20


def attempts_required(
    useful: int, *, plan: RepeatPlan, ended_attempts: int, useless: int, leases: int, grown: int = GROWN
) -> int:
    """How many attempts should be queued or running now, at most the `useful` ones that judging asks for.

    `grown` is the number to which a plan that is not exact may grow.

    Lost attempts use up the plan, too, so that a job ends whatever its nodes do. After `leases` useless
    attempts nothing more is required.
    """
    if useless >= leases:
        return 0
    most = plan.at_most if plan.exact else max(plan.at_most, GROWN, grown)
    return max(0, min(useful, most - ended_attempts))
