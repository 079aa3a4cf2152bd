"""A run's verdict from its jobs': where it was seen, where not, how far a "no" goes, and what is left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.claims import Check, CheckKind, Claim, Over, Role
from app.intake.reading import NeedKind, Reading, ScriptRole
from app.judging.cause import cause_of
from app.judging.job import LEAST_FOR_NEVER, counted
from app.judging.judged import JudgedCell
from app.judging.judgement import CheckResult, Defect, Finding, Scope, Verdict
from app.judging.output import contains, equal_tokens, tokens_of
from app.judging.places import release_of, same_release, system_of, torch_of
from app.judging.reach import NO_SIDES, TOO_FEW_ATTEMPTS
from app.judging.sides import without_name
from worker.contract import Environment, Outcome, Result, Start

# `reproduced` and `flaky` are sightings of the claim itself.
SEEN = {Verdict.REPRODUCED, Verdict.FLAKY}
NOT_SEEN = {Verdict.NOT_REPRODUCED, Verdict.DIFFERENT}
WITHOUT_RESULT = {Verdict.NO_RESULT}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJudgement:
    """What is concluded of a run. `verdict` is the interim one while jobs are open."""

    verdict: Verdict | None
    seen: bool = False
    defect: Defect = Defect.UNDECIDED
    cause: str | None = None
    scope: Scope | None = None
    scope_differs: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    not_where: tuple[str, ...] = ()
    newest: str | None = None
    without_result: int = 0
    pairs: tuple[Finding, ...] = ()


def judge_run(reading: Reading, cells: Sequence[JudgedCell]) -> RunJudgement:
    """Judge a run by its jobs. Total; jobs without a judgement yet are left out."""
    if reading.ask:
        return RunJudgement(verdict=Verdict.NEEDS_INFO)
    # A control shows how things should be; what happens to it is no verdict on the claim.
    judged = [cell for cell in cells if cell.verdict is not None and cell.role is not ScriptRole.CONTROL]
    done = without_tests(judged)
    pairs = _judge_pairs(reading.claim, done)
    verdicts = {cell.verdict for cell in done} | {_PAIR_VERDICT[finding.result] for finding in pairs}
    verdict = next((verdict for verdict in Verdict if verdict in verdicts), None)
    if verdict is None and all(cell.verdict is not None for cell in cells):
        verdict = Verdict.NO_RESULT
    where = tuple(dict.fromkeys(cell.target.label() for cell in done if cell.verdict in SEEN))
    not_where = tuple(dict.fromkeys(cell.target.label() for cell in done if cell.verdict in NOT_SEEN))
    cause, defect = cause_of(reading.claim, reading.scripts, judged)
    scope, differs = _scope(verdict, reading, done)
    return RunJudgement(
        verdict=verdict,
        seen=bool(where) or any(finding.result is CheckResult.MET for finding in pairs),
        defect=defect,
        cause=cause,
        scope=scope,
        scope_differs=differs,
        where=where,
        not_where=tuple(label for label in not_where if label not in where),
        newest=_newest(done),
        without_result=sum(cell.verdict in WITHOUT_RESULT for cell in done),
        pairs=pairs,
    )


def without_tests(cells: Sequence[JudgedCell]) -> list[JudgedCell]:
    """The cells that speak of the claim: not those that only test for a cause."""
    return [cell for cell in cells if not _only_tests(cell, cells)]


def _only_tests(cell: JudgedCell, cells: Sequence[JudgedCell]) -> bool:
    """Whether memory is filled, what is claimed is not seen in that, and a cell without filling is there."""
    if "fill" not in cell.target.settings or cell.verdict in SEEN:
        return False
    settings = {name: value for name, value in cell.target.settings.items() if name != "fill"}
    plain = cell.target.model_copy(update={"settings": settings})
    return any(other.target == plain and other.script == cell.script for other in cells)


def _judge_pairs(claim: Claim, cells: Sequence[JudgedCell]) -> tuple[Finding, ...]:
    bugs = claim.having(Role.BUG)
    return tuple(_judge_pair(check, cells) for check in bugs if check.over is Over.PAIR and check.kind is CheckKind.DIFFERS)


def _judge_pair(check: Check, cells: Sequence[JudgedCell]) -> Finding:
    """A difference between two targets: the plainest cell of each side, by what its first attempt that ended prints."""
    sides = {side: _ended_on(side, cells) for side in check.sides}
    if len(sides) < 2 or not all(sides.values()):
        return Finding(text=check.text, result=CheckResult.UNREACHED, reason=NO_SIDES)
    firsts = {side: ended[0].observation.stdout for side, ended in sides.items()}
    shown = "\n".join(f"{side}: {stdout.strip()[:150]}" for side, stdout in firsts.items())
    said = [[token for line in stdout.splitlines() for token in without_name(line, side)] for side, stdout in firsts.items()]
    if not all(said):
        return Finding(text=check.text, result=CheckResult.UNREACHED, observed=shown, reason=NO_SIDES)
    if all(equal_tokens(said[0], other) for other in said[1:]):
        if min(len(ended) for ended in sides.values()) < LEAST_FOR_NEVER:
            return Finding(text=check.text, result=CheckResult.UNREACHED, observed=shown, reason=TOO_FEW_ATTEMPTS)
        return Finding(text=check.text, result=CheckResult.ABSENT, observed=shown)
    claimed = zip(check.sides, check.side_lines, strict=False)
    as_claimed = all(contains(tokens_of(firsts[side]), without_name(line, side)) for side, line in claimed if line)
    return Finding(text=check.text, result=CheckResult.MET if as_claimed else CheckResult.OTHER, observed=shown)


def _ended_on(side: str, cells: Sequence[JudgedCell]) -> list[Result]:
    """The cold attempts that ended, of the plainest cell on this device that could show anything."""
    able = [cell for cell in cells if cell.target.device == side and cell.verdict in {Verdict.OBSERVED, *SEEN, *NOT_SEEN}]
    for cell in sorted(able, key=lambda cell: len(cell.target.settings)):
        ended = [result for result in counted(cell.results) if result.outcome is Outcome.COMPLETED and result.start is Start.COLD]
        if ended:
            return ended
    return []


_PAIR_VERDICT = {
    CheckResult.MET: Verdict.REPRODUCED,
    CheckResult.ABSENT: Verdict.NOT_REPRODUCED,
    CheckResult.OTHER: Verdict.DIFFERENT,
    CheckResult.UNREACHED: Verdict.CANNOT_SHOW,
}


def _newest(cells: Sequence[JudgedCell]) -> str | None:
    """The label of the newest toolchain's target that reached a verdict of its own."""
    reached = [cell for cell in cells if cell.verdict not in {Verdict.NO_RESULT, Verdict.CANNOT_SHOW}]
    if not reached:
        return None
    return max(reached, key=lambda cell: (release_of(_torch_of(cell)), -len(cell.target.settings))).target.label()


def _torch_of(cell: JudgedCell) -> str:
    return torch_of(cell.results[0] if cell.results else None, cell.target)


def _scope(verdict: Verdict | None, reading: Reading, cells: Sequence[JudgedCell]) -> tuple[Scope | None, tuple[str, ...]]:
    """How far a "no" goes: as reported only where version, device and system are the reporter's."""
    if verdict is not Verdict.NOT_REPRODUCED:
        return None, ()
    said_no = [cell for cell in cells if cell.verdict is Verdict.NOT_REPRODUCED]
    differing = [_differing(reading, cell) for cell in said_no]
    best = min(differing, key=len, default=("torch.version", "device", "os.name"))
    return (Scope.AS_REPORTED if not best else Scope.ELSEWHERE), best


def _differing(reading: Reading, cell: JudgedCell) -> tuple[str, ...]:
    """The fields in which a cell is not the reporter's place; a version or a system that is not named is not known to be equal."""
    claimed, found = reading.environment, cell.results[0].environment if cell.results else {}
    version, system = claimed.get("torch.version"), claimed.get("os.name")
    differs = []
    if not isinstance(version, str) or not same_release(version, _torch_of(cell)):
        differs.append("torch.version")
    if not _same_device(reading, cell, found):
        differs.append("device")
    if not isinstance(system, str) or system_of(system) != system_of(str(found.get("os.name") or "linux")):
        differs.append("os.name")
    return tuple(differs)


def _same_device(reading: Reading, cell: JudgedCell, found: Environment) -> bool:
    """Whether the cell granted the device that the claim is about. A claim that names none and needs no card is about the CPU."""
    about_gpu = any(check.where.device == "cuda" or "cuda" in check.sides for check in reading.claim.having(Role.BUG))
    needs_gpu = any(need.kind is NeedKind.GPU for script in reading.scripts for need in script.needs)
    model = reading.environment.get("gpu.0.model")
    if not (about_gpu or needs_gpu):
        # The card of the reporter's machine matters only where the claim is about cards.
        return True
    if isinstance(model, str):
        seen = found.get("gpu.0.model")
        return isinstance(seen, str) and (model.casefold() in seen.casefold() or seen.casefold() in model.casefold())
    return cell.target.device == "cuda"
