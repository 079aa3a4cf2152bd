"""Two claimed lines that differ in nothing but the dtype, where a report says that they should not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import same_tokens, tokens_of

_MOST_LINES = 200
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


def _dtypes(lines: Sequence[str]) -> list[str]:
    return [name for line in lines for name in _DTYPE.findall(line)]
