"""Which cells a run covers: scripts × targets, cheap ones first; what no node serves is a cell with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import InputError
from app.intake.claims import Claim
from app.intake.reading import Reading, Script, ScriptRole
from app.targets.cause_tests import cause_tests
from app.targets.fleet import is_meant, nearest_lack, ready_toolchains, resolve_toolchain
from app.targets.matrix import Matrix
from app.targets.parse import check_target
from app.targets.presets import preset_named
from app.targets.target import Target
from worker.contract import Device, Hello, Level, Reason, WhoCanAct

MOST_CELLS = 400
MOST_REPEATS = 250
DEFAULT_REPEATS = 5
# Parts are in others, and are not run by themselves.
_RUN = {ScriptRole.MAIN, ScriptRole.ALTERNATIVE, ScriptRole.CONTROL}


@dataclass(frozen=True, slots=True)
class RepeatPlan:
    """How many counted attempts a job has at most. `exact`: that many, no more and no less."""

    at_most: int
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One script on one target, its toolchain resolved. With a `reason` no node serves it and nothing is run."""

    script: str
    target: Target
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells of a run, in the order in which they should start."""

    cells: tuple[Cell, ...]
    repeats: RepeatPlan
    preset: str | None = None


def plan(
    reading: Reading,
    *,
    preset: str | None,
    targets: Sequence[Target] | None,
    repeats: int | None,
    fleet: Sequence[Hello],
    required_level: Level,
    most_cells: int = MOST_CELLS,
    most_repeats: int = MOST_REPEATS,
) -> Plan:
    """Expand a preset or explicit targets over the scripts of a reading. Raises InputError for what can't be planned.

    Beside a preset's own cells, a script may get others on the same devices that test for a cause (`cause_tests`).
    """
    if preset is not None and targets:
        raise InputError("Give either a preset or targets.", code="preset_or_targets", field="targets")
    if repeats is not None and not 1 <= repeats <= most_repeats:
        raise InputError(f"repeats is a number from 1 to {most_repeats}.", code="bad_repeats", field="repeats")
    chosen = None if targets else preset_named(preset or "quick")
    scripts = {script.digest: script for script in reading.scripts if script.role in _RUN}
    if chosen:
        wanted = [(digest, target) for target in expand(chosen.settings, fleet) for digest in scripts]
        wanted += [(each.digest, target) for each in scripts.values() for target in _tests(reading.claim, each, fleet)]
    else:
        wanted = [(digest, check_target(target)) for target in targets or () for digest in scripts]
    cells: dict[tuple[str, str], Cell] = {}
    for digest, target in sorted(wanted, key=lambda pair: _cost(pair[1])):
        whole, reason = _resolve(target, fleet, required_level=required_level, explicit=chosen is None)
        cells.setdefault((digest, whole.label()), Cell(digest, whole, reason))
    if len(cells) > most_cells:
        raise InputError(f"This makes {len(cells)} cells; a run has at most {most_cells}.", code="too_many_cells", field="targets")
    at_most = repeats or (chosen.repeats if chosen else DEFAULT_REPEATS)
    return Plan(tuple(cells.values()), RepeatPlan(at_most, exact=repeats is not None), chosen.name if chosen else None)


def expand(settings: Sequence[Mapping[str, str]], fleet: Sequence[Hello]) -> list[Target]:
    """Settings over the devices that the fleet has: the CPU always, CUDA where a node has a card."""
    devices = (Device.CPU, *((Device.CUDA,) if any(hello.gpus for hello in fleet) else ()))
    return list(Matrix(devices=devices, settings=tuple(settings)).targets())


def _tests(claim: Claim, script: Script, fleet: Sequence[Hello]) -> list[Target]:
    wanted = [(device, target) for device, settings in cause_tests(claim, script) for target in expand([settings], fleet)]
    return [target for device, target in wanted if device in (None, target.device)]


def _cost(target: Target) -> tuple[int, int]:
    return (target.gpus, len(target.settings))


def _resolve(target: Target, fleet: Sequence[Hello], *, required_level: Level, explicit: bool) -> tuple[Target, Reason | None]:
    name = resolve_toolchain(fleet, target, required_level=required_level)
    if name is not None:
        whole = target.model_copy(update={"toolchain": name})
        return whole, nearest_lack(fleet, whole, required_level=required_level)
    known = ready_toolchains(fleet)
    meant = [other for other in sorted(known) if is_meant(other, target.toolchain)]
    if explicit and target.toolchain and known and not meant:
        raise InputError(
            f"There is no such toolchain. The toolchains are: {', '.join(sorted(known))}.", code="unknown_toolchain", field="toolchain"
        )
    # One that can't be used with the device says more than none.
    whole = target.model_copy(update={"toolchain": meant[0]}) if target.toolchain and meant else target
    lack = nearest_lack(fleet, whole, required_level=required_level)
    return target, lack or Reason(code="no_toolchain", detail="No node has this toolchain ready.", who_can_act=WhoCanAct.OPERATOR)
