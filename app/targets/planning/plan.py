"""The cells of a run: scripts × targets, cheap ones first. A cell that no node serves has a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import InputError
from app.intake.reading import Reading, Script, ScriptRole
from app.targets.fleet import is_meant, nearest_lack, resolve_toolchain, usable_toolchains
from app.targets.packages import with_packages
from app.targets.parse import check_target
from app.targets.pattern import parse_exclusion, parse_inclusion
from app.targets.planning.cell_limit import too_many
from app.targets.planning.expansion import cells_of_patterns, cells_of_preset
from app.targets.planning.presets import PRESETS, Preset, preset_named
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import Hello, Level, Reason, WhoCanAct

MOST_CELLS = 400
MOST_REPEATS = 250
DEFAULT_REPEATS = 5
# The other scripts are parts of these and are not run by themselves.
_RUN = {ScriptRole.MAIN, ScriptRole.ALTERNATIVE, ScriptRole.CONTROL}


@dataclass(frozen=True, slots=True)
class RepeatPlan:
    """The most counted attempts of a job. With `exact`, it is the exact number."""

    at_most: int
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One script on one target with a resolved toolchain.

    With a `reason`, no node serves it and nothing is run.
    """

    script: str
    target: Target
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells of a run in their starting order. `left_out` is how many cells each exclude removed."""

    cells: tuple[Cell, ...]
    repeats: RepeatPlan
    preset: str | None = None
    left_out: tuple[tuple[str, int], ...] = ()
    # Whether exactly these cells were asked for, so that no other one may be added.
    is_closed: bool = False


def make_plan(
    reading: Reading,
    request: RunRequest,
    *,
    fleet: Sequence[Hello],
    whole_fleet: Sequence[Hello] | None = None,
    required_level: Level,
    presets: Mapping[str, Preset] = PRESETS,
    most_cells: int = MOST_CELLS,
    most_repeats: int = MOST_REPEATS,
) -> Plan:
    """Expand the preset or the targets of a request over the scripts of a reading. Raises InputError.

    A preset also gives a script other cells on the same devices: cells that test for a cause (`cause_tests`),
    and one with the versions nearest to the reporter's. Packages that the script needs are added where nodes
    may add them. `fleet` is the part of `whole_fleet` that is not quarantined; by default it is the whole
    fleet.
    """
    preset, targets, repeats = request.preset, request.targets, request.repeats
    _check_choice(preset, targets)
    if repeats is not None and not 1 <= repeats <= most_repeats:
        message = f"repeats is a number from 1 to {most_repeats}."
        raise InputError(message, code="bad_repeats", field="repeats")
    chosen = None if targets else preset_named(preset or "quick", presets)
    scripts = runnable(reading)
    requested = (
        cells_of_preset(chosen, reading, scripts, fleet)
        if chosen
        else [(digest, target) for target in targets or () for digest in scripts]
    )
    extra = cells_of_patterns([parse_inclusion(text) for text in request.include], scripts, fleet)
    explicit = {target.label() for _, target in (extra if chosen else [*requested, *extra])}
    cells: dict[tuple[str, str], Cell] = {}
    for digest, target in sorted([*requested, *extra], key=lambda pair: _cost(pair[1])):
        cell = plan_cell(
            scripts[digest],
            check_target(target),
            fleet,
            whole_fleet=whole_fleet,
            required_level=required_level,
            explicit=target.label() in explicit,
        )
        cells.setdefault((digest, cell.target.label()), cell)
    remaining, left_out = _without(list(cells.values()), request.exclude)
    if len(remaining) > most_cells:
        raise too_many(
            [cell.target for cell in remaining],
            scripts=len(scripts),
            most=most_cells,
            preset=chosen.name if chosen else None,
        )
    at_most = repeats or (chosen.repeats if chosen else DEFAULT_REPEATS)
    return Plan(
        tuple(remaining),
        RepeatPlan(at_most, exact=repeats is not None),
        chosen.name if chosen else None,
        left_out,
        is_closed=chosen is None or bool(request.exclude),
    )


def _check_choice(preset: str | None, targets: Sequence[Target] | None) -> None:
    if targets is not None and not targets:
        raise InputError("Send at least one target.", code="no_targets", field="targets")
    if preset is not None and targets:
        raise InputError("Give either a preset or targets.", code="preset_or_targets", field="targets")


def runnable(reading: Reading) -> dict[str, Script]:
    """The scripts that are run by themselves, by digest."""
    return {script.digest: script for script in reading.scripts if script.role in _RUN}


def plan_cell(
    script: Script,
    target: Target,
    fleet: Sequence[Hello],
    *,
    whole_fleet: Sequence[Hello] | None = None,
    required_level: Level,
    explicit: bool,
) -> Cell:
    """Plan one script on one target: resolve the toolchain and add packages, or give the reason against it.

    Raises InputError for an explicit toolchain that does not exist.
    """
    whole, reason = _resolve(
        target, fleet, whole_fleet or fleet, required_level=required_level, explicit=explicit
    )
    if reason is None:
        whole = with_packages(whole, script, fleet, required_level=required_level)
    return Cell(script.digest, whole, reason)


def _without(cells: list[Cell], exclude: Sequence[str]) -> tuple[list[Cell], tuple[tuple[str, int], ...]]:
    """The remaining cells, and the count that each exclude removed.

    The first matching exclude counts a cell.
    """
    left_out = []
    remaining = cells
    for text in exclude:
        pattern = parse_exclusion(text)
        staying = [cell for cell in remaining if not pattern.fits(cell.target)]
        left_out.append((text.strip(), len(remaining) - len(staying)))
        remaining = staying
    if cells and not remaining:
        names = " and ".join(text for text, number in left_out if number)
        raise InputError(
            f"Nothing is left to run: exclude {names} removes all {len(cells)} cells. "
            "Exclude less, or include a target.",
            code="nothing_left",
            field="exclude",
        )
    return remaining, tuple(left_out)


def _cost(target: Target) -> tuple[int, int]:
    return (target.gpus, len(target.settings))


def _resolve(
    target: Target,
    fleet: Sequence[Hello],
    whole_fleet: Sequence[Hello],
    *,
    required_level: Level,
    explicit: bool,
) -> tuple[Target, Reason | None]:
    # A toolchain that only quarantined parts have is known too, but no node serves it.
    name = resolve_toolchain(fleet, target, required_level=required_level) or resolve_toolchain(
        whole_fleet, target, required_level=required_level
    )
    if name is not None:
        whole = target.model_copy(update={"toolchain": name})
        return whole, nearest_lack(fleet, whole, required_level=required_level)
    known = usable_toolchains(whole_fleet)
    meant = [other for other in sorted(known) if is_meant(other, target.toolchain)]
    if explicit and target.toolchain and known and not meant:
        raise InputError(
            f"There is no such toolchain. The toolchains are: {', '.join(sorted(known))}.",
            code="unknown_toolchain",
            field="toolchain",
        )
    # The reason for a toolchain that does not fit the device is more useful than that for no toolchain.
    whole = target.model_copy(update={"toolchain": meant[0]}) if target.toolchain and meant else target
    lack = nearest_lack(fleet, whole, required_level=required_level)
    return target, lack or Reason(
        code="no_toolchain", detail="No node has this toolchain ready.", who_can_act=WhoCanAct.OPERATOR
    )
