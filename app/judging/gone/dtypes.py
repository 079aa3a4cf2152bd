"""Dtypes at issue: two claimed lines that differ in nothing but the dtype, and dtypes of times.

The unit of times changes between versions: where `object` was wrong, `datetime64[us]` is as right as `[ns]`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import same_tokens, tokens_of
from worker.contract import Result

_MOST_LINES = 200
# `datetime64[ns, UTC]`, `<M8[ns]`.
_UNIT = re.compile(r"(?P<kind>\b(?:datetime|timedelta)64|(?<!\w)[<>=]?[Mm]8)\[(?:ns|us|ms|s)(?=[\],])")
_DTYPE = re.compile(r"dtype=(?:torch\.|np\.|numpy\.|')?(?P<name>\w{2,20})")


def judge_dtypes_at_issue(check: Check, stdout: str) -> CheckResult | None:
    """MET if the dtypes are as claimed, ABSENT if they are equal now. None if they are not at issue."""
    if check.role is not Role.BUG or check.kind is not CheckKind.OUTPUT or len(check.lines) != 2:
        return None
    one, other = check.lines
    claimed = _dtypes(check.lines)
    if len(claimed) != 2 or len(set(claimed)) != 2 or not same_tokens(tokens_of(one), tokens_of(other)):
        return None
    lines = [line for line in stdout.splitlines()[:_MOST_LINES] if _DTYPE.search(line)]
    seen = _dtypes(lines)
    if len(seen) != 2 or not all(same_tokens(tokens_of(one), tokens_of(line)) for line in lines):
        return CheckResult.OTHER
    if seen == claimed:
        return CheckResult.MET
    return CheckResult.ABSENT if len(set(seen)) == 1 and seen[0] in claimed else CheckResult.OTHER


def in_any_unit(bug: Check, expected: Check, result: Result) -> tuple[Check, Result] | None:
    """An expected dtype of times and the output, both without units; None if the bug is one of times, too."""
    if not any(map(_UNIT.search, expected.lines)) or any(map(_UNIT.search, bug.lines)):
        return None
    lines = tuple(map(_without_units, expected.lines))
    seen = result.observation.model_copy(update={"stdout": _without_units(result.observation.stdout)})
    return expected.model_copy(update={"lines": lines}), result.model_copy(update={"observation": seen})


def _without_units(text: str) -> str:
    return _UNIT.sub(lambda match: f"{match['kind']}[ns", text)


def _dtypes(lines: Sequence[str]) -> list[str]:
    return [name for line in lines for name in _DTYPE.findall(line)]
