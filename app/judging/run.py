"""A run's verdict from its jobs': where it was seen, where not, how far a "no" goes, and what is left open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.claims import Check, CheckKind, Claim, Over
from app.intake.reading import Reading
from app.judging.cause import cause_of
from app.judging.judged import JudgedCell
from app.judging.judgement import CheckResult, Defect, Finding, Scope, Verdict
from app.judging.numbers import numbers_in
from app.judging.output import fingerprint
from worker.contract import Environment, Outcome, Result

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
    done = [cell for cell in cells if cell.verdict is not None]
    pairs = _judge_pairs(reading.claim, done)
    verdicts = {cell.verdict for cell in done} | {verdict for verdict in map(_pair_verdict, pairs) if verdict is not None}
    verdict = next((verdict for verdict in Verdict if verdict in verdicts), None)
    if verdict is None and not cells:
        verdict = Verdict.NO_RESULT
    where = tuple(dict.fromkeys(cell.target.label() for cell in done if cell.verdict in SEEN))
    not_where = tuple(dict.fromkeys(cell.target.label() for cell in done if cell.verdict in NOT_SEEN))
    cause, defect = cause_of(reading.claim, reading.scripts, done)
    scope, differs = _scope(verdict, reading.environment, done)
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


def _judge_pairs(claim: Claim, cells: Sequence[JudgedCell]) -> tuple[Finding, ...]:
    return tuple(_judge_pair(check, cells) for check in claim.checks if check.over is Over.PAIR and check.kind is CheckKind.DIFFERS)


def _judge_pair(check: Check, cells: Sequence[JudgedCell]) -> Finding:
    """A difference between two targets: the plainest cell of each side, by what their first ended attempts print."""
    sides: dict[str, Result] = {}
    for side in check.sides:
        for cell in sorted(cells, key=lambda cell: len(cell.target.settings)):
            if cell.target.device == side and cell.verdict in {Verdict.OBSERVED, *SEEN, *NOT_SEEN}:
                ended = next((result for result in cell.results if result.outcome is Outcome.COMPLETED), None)
                if ended is not None:
                    sides.setdefault(side, ended)
    if len(sides) < 2 or len(sides) != len(check.sides):
        return Finding(text=check.text, result=CheckResult.UNREACHED)
    said = {fingerprint(_without_device_names(result.observation.stdout)) for result in sides.values()}
    shown = "\n".join(f"{side}: {result.observation.stdout.strip()[:150]}" for side, result in sides.items())
    return Finding(text=check.text, result=CheckResult.MET if len(said) > 1 else CheckResult.ABSENT, observed=shown)


def _without_device_names(stdout: str) -> str:
    return re.sub(r"\b(?:cpu|cuda(?::\d+)?|gpu)\b|,?\s*device='[^']*'", " ", stdout, flags=re.IGNORECASE)


def _pair_verdict(finding: Finding) -> Verdict | None:
    return {
        CheckResult.MET: Verdict.REPRODUCED,
        CheckResult.ABSENT: Verdict.NOT_REPRODUCED,
        CheckResult.OTHER: Verdict.DIFFERENT,
        CheckResult.UNREACHED: Verdict.CANNOT_SHOW,
    }[finding.result]


def _newest(cells: Sequence[JudgedCell]) -> str | None:
    """The label of the newest toolchain's target that reached a verdict of its own."""
    reached = [cell for cell in cells if cell.verdict not in {Verdict.NO_RESULT, Verdict.CANNOT_SHOW}]
    if not reached:
        return None
    return max(reached, key=lambda cell: (_release(_torch_of(cell)), -len(cell.target.settings))).target.label()


def _torch_of(cell: JudgedCell) -> str:
    version = next((result.environment.get("torch.version") for result in cell.results), None)
    return version if isinstance(version, str) else cell.target.toolchain


def _release(version: str) -> tuple[float, ...]:
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(float(part) for part in found.group().split(".")) if found else ()


def _scope(verdict: Verdict | None, claimed: Environment, cells: Sequence[JudgedCell]) -> tuple[Scope | None, tuple[str, ...]]:
    """How far a "no" goes: as reported only where version, device and system are the reporter's."""
    if verdict is not Verdict.NOT_REPRODUCED:
        return None, ()
    said_no = [cell for cell in cells if cell.verdict is Verdict.NOT_REPRODUCED]
    missing = [_differing(claimed, cell) for cell in said_no]
    best = min(missing, key=len, default=("torch.version", "device", "os.name"))
    return (Scope.AS_REPORTED if not best else Scope.ELSEWHERE), best


def _differing(claimed: Environment, cell: JudgedCell) -> tuple[str, ...]:
    """The fields in which a cell is not the reporter's place; what was not claimed is not known to be equal."""
    found = cell.results[0].environment if cell.results else {}
    differs = []
    if not _same_minor(claimed.get("torch.version"), found.get("torch.version")):
        differs.append("torch.version")
    if not _same_device(claimed, cell, found):
        differs.append("device")
    if not _same_system(claimed.get("os.name"), found.get("os.name")):
        differs.append("os.name")
    return tuple(differs)


def _same_minor(claimed: object, found: object) -> bool:
    if not isinstance(claimed, str) or not isinstance(found, str):
        return False
    one, other = numbers_in(claimed.partition("+")[0]), numbers_in(found.partition("+")[0])
    return _release(claimed)[:2] == _release(found)[:2] if one or other or claimed else False


def _same_device(claimed: Environment, cell: JudgedCell, found: Environment) -> bool:
    model = claimed.get("gpu.model")
    if isinstance(model, str):
        seen = found.get("gpu.model")
        return isinstance(seen, str) and (model.casefold() in seen.casefold() or seen.casefold() in model.casefold())
    return str(claimed.get("device", "")) == cell.target.device


_SYSTEMS = ("windows", "mac", "linux", "ubuntu", "debian", "arch", "fedora", "centos", "red hat", "suse")


def _same_system(claimed: object, found: object) -> bool:
    """Linux distributions count as one system; Windows and macOS are others."""
    if not isinstance(claimed, str) or not isinstance(found, str):
        return False

    def family(text: str) -> str:
        word = next((word for word in _SYSTEMS if word in text.casefold()), "")
        return "linux" if word not in {"windows", "mac", ""} else word

    return bool(family(claimed)) and family(claimed) == family(found)
