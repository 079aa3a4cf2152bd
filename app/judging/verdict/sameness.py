"""Whether attempts show the same, as far as warm starts and shared cards may change it."""

from __future__ import annotations

from collections.abc import Sequence

from worker.contract import Result, Start


def visible_facts(result: Result) -> tuple[object, ...]:
    """The visible end of an attempt.

    Its standard error is left out, since warnings of torch have a time in them.
    """
    seen = result.observation
    failure = None if seen.exception is None else (seen.exception.type, seen.exception.message)
    return result.outcome, seen.exit_status, seen.signal, failure, seen.stdout_digest or seen.stdout


def shown_alone(evidence: Sequence[Result]) -> list[Result]:
    """The attempts without those that shared their card and show what no attempt on a card alone shows."""
    shared = [result for result in evidence if result.observation.card_shared]
    if not shared:
        return list(evidence)
    alone = {visible_facts(result) for result in evidence if not result.observation.card_shared}
    return [
        result for result in evidence if not result.observation.card_shared or visible_facts(result) in alone
    ]


def unlike_cold(evidence: Sequence[Result]) -> int:
    """The number of warm attempts that show something else than the cold ones, which agree.

    0 if the cold ones do not agree: then a difference says nothing about warm starts.
    """
    cold = {visible_facts(result) for result in evidence if result.start is Start.COLD}
    if len(cold) != 1:
        return 0
    return sum(visible_facts(result) not in cold for result in evidence)
