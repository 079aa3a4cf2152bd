"""Differences between the repeats of a job, and claims that there are some."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.claim.claims import Check
from app.intake.code.syntax import nodes_of, tree_of
from app.intake.reading import Script
from app.judging.cause.cures import shown_result
from app.judging.check.checks import MOST_OBSERVED
from app.judging.check.failure_checks import is_broken
from app.judging.check.places import exclusion_of
from app.judging.check.reach import ENDED_EARLIER, NOTHING_SHOWN, TOO_FEW_ATTEMPTS, commonest, lack_of
from app.judging.judgement import CheckResult, Finding
from app.judging.output.printed_lines import fingerprint, form_of, tokens_of
from app.judging.output.printed_numbers import Number
from app.targets.target import Target
from worker.contract import Outcome, Reason, Result, Start

# A script that starts processes: whose line comes first is the scheduler's choice, and no result.
_PROCESSES = re.compile(
    r"\b(?:mp|multiprocessing)\.(?:spawn|start_processes|Process|Pool)\b|\bProcessPoolExecutor\b|\bos\.fork\("
    r"|\binit_process_group\b"
)
# Words that say that whole executions differ.
_OF_RUNS = re.compile(
    r"\b(?:runs?|ran|running|re-?run\w*|starts?|started|restart\w*|execut\w*|process\w*|launch\w*|program"
    r"|script|kernel|session)\b|nondetermin|non-determin|hash",
    re.IGNORECASE,
)
_MOST_LINES = 400
_ORDER = re.compile(r"\border(?:s|ed|ing)?\b|\binterleav", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Variation:
    """The finding, and how many of the `of` attempts differ from the most frequent result."""

    finding: Finding
    differing: int = 0
    of: int = 0


def judge_repeats(check: Check, results: Sequence[Result], *, script: Script, target: Target) -> Variation:
    """Whether the attempts show different results.

    Two different results are enough for "yes"; one attempt is too few. Processes of a script may print in any
    order, unless the claim is about order.
    """
    reached = [
        result for result in results if lack_of(result, script, target) is None and not is_broken(result)
    ]
    in_any_order = _PROCESSES.search(script.script) is not None and _ORDER.search(check.text) is None
    results_shown = [_in_any_order(result) if in_any_order else shown_result(result) for result in reached]
    lack = exclusion_of(check, target) or _why_unknown(reached, results, script=script, target=target)
    shown_text = "\n".join(dict.fromkeys(result.observation.stdout.strip()[:100] for result in reached))[
        :MOST_OBSERVED
    ]
    if lack is not None:
        return Variation(
            Finding(text=check.text, result=CheckResult.UNREACHED, observed=shown_text, reason=lack),
            of=len(reached),
        )
    alike = Counter(results_shown)
    if len(alike) == 1 and _may_vary_inside(check, script, reached[0].observation.stdout):
        return Variation(
            Finding(text=check.text, result=CheckResult.UNREACHED, observed=shown_text, reason=NOTHING_SHOWN),
            of=len(reached),
        )
    if len(alike) == 1:
        return Variation(
            Finding(text=check.text, result=CheckResult.ABSENT, observed=shown_text), of=len(results_shown)
        )
    commonest_count = max(alike.values())
    # If most attempts agree, the others differ. Without a majority, every attempt differs.
    differing = (
        len(results_shown) - commonest_count
        if 2 * commonest_count > len(results_shown)
        else len(results_shown)
    )
    return Variation(
        Finding(text=check.text, result=CheckResult.MET, observed=shown_text),
        differing=differing,
        of=len(results_shown),
    )


def _may_vary_inside(check: Check, script: Script, stdout: str) -> bool:
    """Whether the claim may be about values that one attempt prints in a loop, and these differ."""
    if _OF_RUNS.search(check.text) or not _prints_in_loop(script.script):
        return False
    values: dict[tuple[str | None, ...], set[tuple[float, ...]]] = {}
    for line in stdout.splitlines()[:_MOST_LINES]:
        tokens = tokens_of(line)
        numbers = tuple(token.value for token in tokens if isinstance(token, Number))
        if numbers:
            values.setdefault(form_of(tokens), set()).add(numbers)
    return any(len(each) > 1 for each in values.values())


def _prints_in_loop(script: str) -> bool:
    tree = tree_of(script)
    return tree is not None and any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        for loop in nodes_of(tree)
        if isinstance(loop, ast.For | ast.While)
        for node in ast.walk(loop)
    )


def _in_any_order(result: Result) -> tuple[object, ...]:
    """The result that an attempt showed, whatever the order of its lines."""
    _words, *ending = shown_result(result)
    return (tuple(sorted(map(fingerprint, result.observation.stdout.splitlines()))), *ending)


def _why_unknown(
    reached: Sequence[Result], results: Sequence[Result], *, script: Script, target: Target
) -> Reason | None:
    """Why these attempts do not show whether repeats differ; None if they do."""
    if not reached:
        lacks = [lack for result in results if (lack := lack_of(result, script, target)) is not None]
        return commonest(lacks) or ENDED_EARLIER
    if not any(result.outcome is Outcome.COMPLETED for result in reached):
        return ENDED_EARLIER
    if not any(result.observation.stdout.strip() for result in reached):
        return NOTHING_SHOWN
    return TOO_FEW_ATTEMPTS if len(reached) < 2 else None


def visible_facts(result: Result) -> tuple[object, ...]:
    """The visible end of an attempt.

    Its standard error is left out, since warnings of torch have a time in them.
    """
    seen = result.observation
    failure = None if seen.exception is None else (seen.exception.type, seen.exception.message)
    return result.outcome, seen.exit_status, seen.signal, failure, seen.stdout_digest or seen.stdout


def alone_or_confirmed(evidence: Sequence[Result]) -> list[Result]:
    """The attempts without those that shared their card and that no attempt on a card alone confirms."""
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
