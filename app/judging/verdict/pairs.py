"""Claims about two targets: that their results differ, or that one is slower.

Each side is judged by its cell with the fewest settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median

from app.intake.claim.claims import Check, CheckKind, Claim, Over, Role
from app.judging.check.places import same_release, torch_of
from app.judging.check.reach import NO_SIDES, NO_TIMES, TOO_FEW_ATTEMPTS, TOO_NOISY
from app.judging.check.speed import judge_ratios, spread
from app.judging.judgement import CheckResult, Finding, JudgedCell, Verdict
from app.judging.output.durations import all_durations
from app.judging.output.printed_lines import Token, contains, equal_tokens, tokens_of, without_times
from app.judging.output.sides import without_name
from app.judging.verdict.job import LEAST_FOR_NEVER, evidence_of
from worker.contract import Outcome, Result, Start

_SHOWS = {Verdict.OBSERVED, Verdict.REPRODUCED, Verdict.FLAKY, Verdict.DIFFERENT, Verdict.NOT_REPRODUCED}
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")


def judge_pairs(claim: Claim, cells: Sequence[JudgedCell]) -> tuple[Finding, ...]:
    """The finding for each check that is about a pair of targets."""
    pairs = [check for check in claim.having(Role.BUG) if check.over is Over.PAIR]
    return tuple(
        _judge(check, cells) for check in pairs if check.kind in {CheckKind.DIFFERS, CheckKind.SLOWER}
    )


def _judge(check: Check, cells: Sequence[JudgedCell]) -> Finding:
    sides = _sides(check, cells)
    if len(sides) < 2 or not all(sides.values()):
        return Finding(text=check.text, result=CheckResult.UNREACHED, reason=NO_SIDES)
    return _slower(check, sides) if check.kind is CheckKind.SLOWER else _differs(check, sides)


def _differs(check: Check, sides: Mapping[str, Sequence[Result]]) -> Finding:
    """Compare the output of the first completed attempt of each side."""
    firsts = {side: ended[0].observation.stdout for side, ended in sides.items()}
    shown_text = "\n".join(f"{side}: {stdout.strip()[:150]}" for side, stdout in firsts.items())
    contents = [
        [token for line in stdout.splitlines() for token in _besides(line, side)]
        for side, stdout in firsts.items()
    ]
    if not all(contents):
        return Finding(text=check.text, result=CheckResult.UNREACHED, observed=shown_text, reason=NO_SIDES)
    if all(equal_tokens(contents[0], other) for other in contents[1:]):
        return _absent(check, sides, shown_text)
    claimed = zip(check.sides, check.side_lines, strict=False)
    as_claimed = all(
        contains(tokens_of(firsts[side]), _besides(line, side)) for side, line in claimed if line
    )
    return Finding(
        text=check.text, result=CheckResult.MET if as_claimed else CheckResult.OTHER, observed=shown_text
    )


def _slower(check: Check, sides: Mapping[str, Sequence[Result]]) -> Finding:
    """Compare the times of both sides: each attempt of one side with the median of the other side."""
    times = [
        [sum(durations) for result in sides[side] if (durations := all_durations(result.observation.stdout))]
        for side in check.sides
    ]
    if not all(times):
        return Finding(text=check.text, result=CheckResult.UNREACHED, reason=NO_TIMES)
    if min(map(len, times)) < LEAST_FOR_NEVER:
        return Finding(text=check.text, result=CheckResult.UNREACHED, reason=TOO_FEW_ATTEMPTS)
    middle = median(times[1])
    ratios = spread([slow / middle for slow in times[0]] + [median(times[0]) / fast for fast in times[1]])
    together = judge_ratios(ratios, check.factor)
    if together is None:
        return Finding(text=check.text, result=CheckResult.UNREACHED, observed=str(ratios), reason=TOO_NOISY)
    return Finding(text=check.text, result=together, observed=str(ratios))


def _absent(check: Check, sides: Mapping[str, Sequence[Result]], shown_text: str) -> Finding:
    if min(len(ended) for ended in sides.values()) < LEAST_FOR_NEVER:
        return Finding(
            text=check.text, result=CheckResult.UNREACHED, observed=shown_text, reason=TOO_FEW_ATTEMPTS
        )
    return Finding(text=check.text, result=CheckResult.ABSENT, observed=shown_text)


def _besides(line: str, side: str) -> list[Token]:
    """The tokens of a line without the name of the side.

    A version is not removed, since it may be a value.
    """
    return tokens_of(without_times(line)) if _VERSION.fullmatch(side) else without_name(line, side)


def _sides(check: Check, cells: Sequence[JudgedCell]) -> dict[str, list[Result]]:
    """The completed cold attempts of one cell for each side; empty if a side has none.

    Two versions are compared on targets that are otherwise the same.
    """
    ended = {
        side: [(cell, results) for cell in _able(side, cells) if (results := _completed_results(cell))]
        for side in check.sides
    }
    if not all(ended.values()):
        return {}
    if not all(_VERSION.fullmatch(side) for side in check.sides):
        return {side: cells_of_side[0][1] for side, cells_of_side in ended.items()}
    first, second = check.sides
    for cell, results in ended[first]:
        for other, others in ended[second]:
            if (cell.script, cell.target.device, cell.target.settings) == (
                other.script,
                other.target.device,
                other.target.settings,
            ):
                return {first: results, second: others}
    return {}


def _able(side: str, cells: Sequence[JudgedCell]) -> list[JudgedCell]:
    """The cells of a side that could show the claim, those with the fewest settings first."""
    able = [cell for cell in cells if cell.verdict in _SHOWS and _is_of(side, cell)]
    return sorted(able, key=lambda cell: len(cell.target.settings))


def _is_of(side: str, cell: JudgedCell) -> bool:
    if _VERSION.fullmatch(side):
        return same_release(side, torch_of(cell.results[0] if cell.results else None, cell.target))
    return cell.target.device == side


def _completed_results(cell: JudgedCell) -> list[Result]:
    return [
        result
        for result in evidence_of(cell.results)
        if result.outcome is Outcome.COMPLETED and result.start is Start.COLD
    ]
