"""The verdict of a run, from the verdicts of its jobs, with the targets that show the claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.intake.claim.claims import Role
from app.intake.reading import NeedKind, Reading, ScriptRole
from app.judging.cause.cause import CauseFinding, cause_of
from app.judging.check.places import release_of, same_release, system_of, torch_of
from app.judging.check.reach import MET_WHEN_OBSERVED, TWO_READINGS
from app.judging.judgement import (
    SIGHTINGS,
    CheckResult,
    Defect,
    DifferentKind,
    FacetJudgement,
    Finding,
    JudgedCell,
    Scope,
    Verdict,
)
from app.judging.verdict.contrast import Contrast, contrast_of, may_be_chance
from app.judging.verdict.facets import over_facets
from app.judging.verdict.pairs import judge_pairs
from app.targets.packages import packages_of
from app.targets.target import Target
from worker.contract import Environment

# A target with one of these settings only tests for a cause, if the same target without it is there.
CAUSE_TESTS = frozenset({"trace", "fill", "fix", "compile"})
# `reproduced` and `flaky` are sightings of the claim itself.
NOT_SEEN = {Verdict.NOT_REPRODUCED, Verdict.DIFFERENT}
WITHOUT_RESULT = {Verdict.NO_RESULT}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacet:
    """The verdict of a run about one of several claims of its report, with the targets that show it."""

    name: str
    verdict: Verdict
    where: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJudgement:
    """The conclusion of a run. While jobs are open, `verdict` is the interim verdict."""

    verdict: Verdict | None
    seen: bool = False
    defect: Defect = Defect.UNDECIDED
    cause: str | None = None
    # The whole finding: the source of variation, the target that showed it, and a removal.
    finding: CauseFinding = field(default_factory=CauseFinding)
    scope: Scope | None = None
    scope_differs: tuple[str, ...] = ()
    # Those of them that the report names. Nobody knows the others of the reporter's environment.
    scope_named: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    not_where: tuple[str, ...] = ()
    # Those of them where chance may explain it: too few attempts of a script that varies.
    chance_where: tuple[str, ...] = ()
    # Only for a verdict of REPRODUCED.
    contrast: Contrast | None = None
    newest: str | None = None
    without_result: int = 0
    pairs: tuple[Finding, ...] = ()
    # Empty if the report makes one claim.
    facets: tuple[RunFacet, ...] = ()


def judge_run(reading: Reading, cells: Sequence[JudgedCell]) -> RunJudgement:
    """Judge a run by its judged jobs. It never raises."""
    if reading.ask:
        return RunJudgement(verdict=Verdict.NEEDS_INFO)
    # A control shows the expected behaviour. Its result is no verdict on the claim.
    added = [cell for cell in cells if cell.is_contrast]
    cells = [cell for cell in cells if not cell.is_contrast]
    judged = [cell for cell in cells if cell.verdict is not None and cell.role is not ScriptRole.CONTROL]
    done = _without_other_outputs(without_tests(judged))
    pairs = judge_pairs(reading.claim, done)
    verdicts = {cell.verdict for cell in done} | {_PAIR_VERDICT[finding.result] for finding in pairs}
    verdict = next((verdict for verdict in Verdict if verdict in verdicts), None)
    facets = _facets(done)
    if facets and not pairs:
        verdict = over_facets([facet.verdict for facet in facets])
    if verdict is Verdict.NOT_REPRODUCED and any(_is_left_open(cell) for cell in done):
        verdict = Verdict.OBSERVED
    if verdict is None and all(cell.verdict is not None for cell in cells):
        verdict = Verdict.NO_RESULT
    where = tuple(dict.fromkeys(cell.target.label() for cell in done if cell.verdict in SIGHTINGS))
    not_where = tuple(dict.fromkeys(cell.target.label() for cell in done if cell.verdict in NOT_SEEN))
    # So few attempts of a script that varies tell no place without it from one with it.
    by_chance = [cell for cell in (*done, *added) if may_be_chance(reading, done, cell)]
    controls = [cell for cell in cells if cell.role is ScriptRole.CONTROL]
    finding = cause_of(reading.claim, reading.scripts, judged)
    scope, differs = _scope(verdict, reading, done)
    unnamed = {
        name for name in differs if name != "device" and not isinstance(reading.environment.get(name), str)
    }
    return RunJudgement(
        verdict=verdict,
        seen=bool(where) or any(finding.result is CheckResult.MET for finding in pairs),
        defect=finding.defect,
        cause=finding.cause,
        finding=finding,
        scope=scope,
        scope_differs=differs,
        scope_named=tuple(name for name in differs if name not in unnamed),
        where=where,
        not_where=tuple(label for label in not_where if label not in where),
        chance_where=tuple(
            dict.fromkeys(
                label
                for cell in by_chance
                if (label := cell.target.label()) in not_where and label not in where
            )
        ),
        contrast=contrast_of(done, controls, added, by_chance=by_chance)
        if verdict is Verdict.REPRODUCED
        else None,
        newest=_newest(done),
        without_result=sum(cell.verdict in WITHOUT_RESULT for cell in done),
        pairs=pairs,
        facets=facets,
    )


def _facets(cells: Sequence[JudgedCell]) -> tuple[RunFacet, ...]:
    """The verdict on each of the claims of a report: the first that a cell has, as for a run."""
    labels: dict[str, dict[Verdict, list[str]]] = {}
    for cell in cells:
        for facet in _facets_in(cell):
            labels.setdefault(facet.name, {}).setdefault(facet.verdict, []).append(cell.target.label())
    return tuple(
        RunFacet(
            name=name,
            verdict=next(verdict for verdict in Verdict if verdict in places),
            where=tuple(dict.fromkeys(label for each in SIGHTINGS for label in places.get(each, ()))),
        )
        for name, places in labels.items()
    )


def _facets_in(cell: JudgedCell) -> tuple[FacetJudgement, ...]:
    return () if cell.judgement is None else cell.judgement.facets


def _is_left_open(cell: JudgedCell) -> bool:
    """Whether a reading of the report was met in the cell, and it could not be decided which one is meant."""
    reason = None if cell.judgement is None else cell.judgement.reason
    return cell.verdict is Verdict.OBSERVED and reason in (TWO_READINGS, MET_WHEN_OBSERVED)


def without_tests(cells: Sequence[JudgedCell]) -> list[JudgedCell]:
    """The cells that are evidence about the claim, without those that only test for a cause."""
    return [cell for cell in cells if not _only_tests(cell, cells)]


def _without_other_outputs(cells: Sequence[JudgedCell]) -> list[JudgedCell]:
    """The cells, without other scripts that only print something else than the claim of the main one.

    The report shows the output of its main script. Where that one says "no", the output of another one says
    nothing about it.
    """
    settled = [cell.target for cell in cells if _is_no_of_main(cell)]
    return [
        cell for cell in cells if not (cell.role is ScriptRole.ALTERNATIVE and _prints_other(cell, settled))
    ]


def _is_no_of_main(cell: JudgedCell) -> bool:
    return cell.role is ScriptRole.MAIN and cell.verdict is Verdict.NOT_REPRODUCED


def _prints_other(cell: JudgedCell, settled: Sequence[Target]) -> bool:
    reason = None if cell.judgement is None else cell.judgement.reason
    return (
        cell.target in settled
        and cell.verdict is Verdict.DIFFERENT
        and reason is not None
        and reason.code == DifferentKind.OTHER_VALUE
    )


def _only_tests(cell: JudgedCell, cells: Sequence[JudgedCell]) -> bool:
    """Whether the cell only tests for a cause: the same cell without the test setting exists.

    A cell with filled memory that shows the claim is evidence about the claim too.
    """
    tests = CAUSE_TESTS.intersection(cell.target.settings)
    if not tests or (tests == {"fill"} and cell.verdict in SIGHTINGS):
        return False
    settings = {name: value for name, value in cell.target.settings.items() if name not in tests}
    plain = cell.target.model_copy(update={"settings": settings})
    return any(other.target == plain and other.script == cell.script for other in cells)


_PAIR_VERDICT = {
    CheckResult.MET: Verdict.REPRODUCED,
    CheckResult.ABSENT: Verdict.NOT_REPRODUCED,
    CheckResult.OTHER: Verdict.DIFFERENT,
    CheckResult.UNREACHED: Verdict.CANNOT_SHOW,
}


def _newest(cells: Sequence[JudgedCell]) -> str | None:
    """The label of the target with the newest toolchain, of those that gave a result."""
    reached = [cell for cell in cells if cell.verdict not in {Verdict.NO_RESULT, Verdict.CANNOT_SHOW}]
    if not reached:
        return None
    return max(
        reached, key=lambda cell: (release_of(_torch_of(cell)), -len(cell.target.settings))
    ).target.label()


def _torch_of(cell: JudgedCell) -> str:
    return torch_of(cell.results[0] if cell.results else None, cell.target)


def _scope(
    verdict: Verdict | None, reading: Reading, cells: Sequence[JudgedCell]
) -> tuple[Scope | None, tuple[str, ...]]:
    """The scope of a "no", and the fields that differ from the reporter's environment.

    AS_REPORTED needs the reporter's version, device and system.
    """
    if verdict is not Verdict.NOT_REPRODUCED:
        return None, ()
    cells_without = [cell for cell in cells if cell.verdict is Verdict.NOT_REPRODUCED]
    differing = [_differing(reading, cell) for cell in cells_without]
    best = min(differing, key=len, default=("torch.version", "device", "os.name"))
    return (Scope.AS_REPORTED if not best else Scope.ELSEWHERE), best


def _differing(reading: Reading, cell: JudgedCell) -> tuple[str, ...]:
    """The fields in which a cell differs from the reporter's environment.

    A version or system that the report does not name counts as different.
    """
    claimed, observed = reading.environment, cell.results[0].environment if cell.results else {}
    system = claimed.get("os.name")
    differs = []
    for field_name, present in _versions_that_count(reading, cell, observed).items():
        version = claimed.get(field_name)
        if not isinstance(version, str) or not same_release(version, present):
            differs.append(field_name)
    if not _same_device(reading, cell, observed):
        differs.append("device")
    if not isinstance(system, str) or system_of(system) != system_of(str(observed.get("os.name") or "linux")):
        differs.append("os.name")
    return tuple(differs)


def _versions_that_count(reading: Reading, cell: JudgedCell, observed: Environment) -> dict[str, str]:
    """The versions by which a cell is in the reporter's environment: that of torch, or of what is imported.

    A report about numpy has no version of torch.
    """
    packages = {name for script in reading.scripts for name in packages_of(script)}
    versions = {f"package.{name}": observed.get(f"package.{name}") for name in sorted(packages)}
    others = {name: version for name, version in versions.items() if isinstance(version, str)}
    if not others or "torch" in packages or "torch.version" in reading.environment:
        return {"torch.version": _torch_of(cell)}
    return others


def _same_device(reading: Reading, cell: JudgedCell, observed: Environment) -> bool:
    """Whether the cell has the device of the claim.

    Any device will do for a claim that names no GPU, needs none and used none.
    """
    about_gpu = any(
        check.where.device == "cuda" or "cuda" in check.sides for check in reading.claim.having(Role.BUG)
    )
    needs_gpu = any(need.kind is NeedKind.GPU for script in reading.scripts for need in script.needs)
    # The reporter's probe may show that the script used a GPU there.
    used_gpu = reading.probe is not None and any(
        device.startswith("cuda") for device in reading.probe.devices_used
    )
    model = reading.environment.get("gpu.0.model")
    if not (about_gpu or needs_gpu or used_gpu):
        return True
    if isinstance(model, str):
        seen = observed.get("gpu.0.model")
        return isinstance(seen, str) and (
            model.casefold() in seen.casefold() or seen.casefold() in model.casefold()
        )
    return cell.target.device == "cuda"
