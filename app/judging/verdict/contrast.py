"""The contrast of a `reproduced`: a place of the run where the same check is not met.

A script can fail for another reason than the one in the report. That it does not fail somewhere speaks
against that. Without a contrast the verdict is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.intake.claim.claims import Claim, Role, Where
from app.intake.reading import Reading, ScriptRole
from app.judging.judgement import SIGHTINGS, DifferentKind, JudgedCell, Verdict
from app.judging.verdict.attempts_needed import draws_do_not_show, may_vary
from app.judging.verdict.rates import homogeneity

# Another value shows that the script came to its point. Another failure may come before it.
_OTHER_VALUES = {DifferentKind.OTHER_VALUE, DifferentKind.NEAR_VALUE}


class ContrastKind(StrEnum):
    """The kinds of contrast."""

    TARGET = "target"  # the same script on another target
    CONTROL = "control"  # the script that the report gives as one that works
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Contrast:
    """The contrast, and the label of its target; None without one."""

    kind: ContrastKind
    target: str | None = None
    # The label of the cell that was added to look for one, and whether its attempts go on.
    added: str | None = None
    is_open: bool = False


def claim_in_contrast(claim: Claim) -> Claim:
    """The claim as a cell judges it that was added to look for a contrast: of its place, only the device.

    Elsewhere a "no" from another version or mode than the claimed one says nothing. Here that is the
    question.
    """
    checks = tuple(
        check.model_copy(update={"where": Where(device=check.where.device, package=check.where.package)})
        if check.role is Role.BUG
        else check
        for check in claim.checks
    )
    further = tuple(map(claim_in_contrast, claim.further))
    return claim.model_copy(update={"checks": checks, "further": further})


def contrast_of(
    cells: Sequence[JudgedCell],
    controls: Sequence[JudgedCell],
    added: Sequence[JudgedCell] = (),
    *,
    by_chance: Sequence[JudgedCell] = (),
) -> Contrast:
    """The strongest contrast among what the run has. `cells` are evidence about the claim.

    `added` are the cells that were added to look for one. Those in `by_chance` are none: chance may explain
    that they lack the claim.
    """
    chance = {id(cell) for cell in by_chance}
    contrast = _strongest([cell for cell in cells if id(cell) not in chance], controls)
    if contrast.kind is ContrastKind.NONE:
        contrast = _strongest([cell for cell in added if id(cell) not in chance], ())
    if not added:
        return contrast
    is_open = any(cell.verdict is None for cell in added)
    return replace(contrast, added=added[0].target.label(), is_open=is_open)


def _strongest(cells: Sequence[JudgedCell], controls: Sequence[JudgedCell]) -> Contrast:
    missing = [cell for cell in cells if cell.verdict is Verdict.NOT_REPRODUCED]
    free = [cell for cell in controls if _is_free(cell)]
    other = [cell for cell in cells if cell.verdict is Verdict.DIFFERENT and _shows_other_value(cell)]
    for kind, candidates in (
        (ContrastKind.TARGET, missing),
        (ContrastKind.CONTROL, free),
        (ContrastKind.TARGET, other),
    ):
        if candidates:
            return Contrast(kind, candidates[0].target.label())
    return Contrast(ContrastKind.NONE)


def _is_free(cell: JudgedCell) -> bool:
    """Whether a control ran without the bug. That is an observation without a reason."""
    judgement = cell.judgement
    return (
        cell.role is ScriptRole.CONTROL
        and judgement is not None
        and judgement.verdict is Verdict.OBSERVED
        and judgement.reason is None
        and judgement.of > 0
    )


def _shows_other_value(cell: JudgedCell) -> bool:
    reason = None if cell.judgement is None else cell.judgement.reason
    return reason is not None and reason.code in _OTHER_VALUES


def may_be_chance(reading: Reading, cells: Sequence[JudgedCell], cell: JudgedCell) -> bool:
    """Whether a cell without the claim may show by chance alone what differs from the cells with it.

    Only of a script that shows its claim sometimes, or whose code or report says that it may vary.
    """
    there = [
        other
        for other in cells
        if other.verdict in SIGHTINGS and other.script == cell.script and other.judgement is not None
    ]
    if cell.verdict is not Verdict.NOT_REPRODUCED or cell.judgement is None or not there:
        return False
    if not any(other.verdict is Verdict.FLAKY for other in there) and not _varies(reading, there):
        return False
    judgements = [other.judgement for other in there if other.judgement is not None]
    pooled = sum(one.matched for one in judgements), sum(one.of for one in judgements)
    test = homogeneity([pooled, (cell.judgement.matched, cell.judgement.of)])
    return test is not None and test.may_be_equal


def _varies(reading: Reading, there: Sequence[JudgedCell]) -> bool:
    script = next((one for one in reading.scripts if one.digest == there[0].script), None)
    return (
        script is not None
        and may_vary(reading.claim, script)
        and not all(draws_do_not_show(reading.claim, script, cell.results) for cell in there)
    )
