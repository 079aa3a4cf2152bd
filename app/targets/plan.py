"""Which cells a run covers: scripts × targets, cheap ones first; what no node serves is a cell with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import InputError
from app.intake.claims import Claim
from app.intake.reading import Reading, Script, ScriptRole
from app.targets.cause_tests import cause_tests
from app.targets.fleet import is_meant, nearest_lack, resolve_toolchain, usable_toolchains
from app.targets.matrix import Matrix
from app.targets.packages import nearest_to_claim, versions_for, with_packages
from app.targets.parse import check_target
from app.targets.presets import Preset, preset_named
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

    Beside a preset's own cells, a script may get others on the same devices: those that test for a cause (`cause_tests`), and one with the
    versions that are nearest to the reporter's. Packages that it needs and nodes may add are added.
    """
    if preset is not None and targets:
        raise InputError("Give either a preset or targets.", code="preset_or_targets", field="targets")
    if repeats is not None and not 1 <= repeats <= most_repeats:
        raise InputError(f"repeats is a number from 1 to {most_repeats}.", code="bad_repeats", field="repeats")
    chosen = None if targets else preset_named(preset or "quick")
    scripts = {script.digest: script for script in reading.scripts if script.role in _RUN}
    if chosen:
        wanted = _of_preset(chosen, reading, scripts, fleet)
    else:
        wanted = [(digest, check_target(target)) for target in targets or () for digest in scripts]
    cells: dict[tuple[str, str], Cell] = {}
    for digest, target in sorted(wanted, key=lambda pair: _cost(pair[1])):
        whole, reason = _resolve(target, fleet, required_level=required_level, explicit=chosen is None)
        if reason is None:
            whole = with_packages(whole, scripts[digest], fleet, required_level=required_level)
        cells.setdefault((digest, whole.label()), Cell(digest, whole, reason))
    if len(cells) > most_cells:
        raise InputError(f"This makes {len(cells)} cells; a run has at most {most_cells}.", code="too_many_cells", field="targets")
    at_most = repeats or (chosen.repeats if chosen else DEFAULT_REPEATS)
    return Plan(tuple(cells.values()), RepeatPlan(at_most, exact=repeats is not None), chosen.name if chosen else None)


def expand(settings: Sequence[Mapping[str, str]], fleet: Sequence[Hello]) -> list[Target]:
    """Settings over the devices that the fleet has: the CPU always, CUDA where a node has a card."""
    return list(Matrix(devices=_devices(fleet), settings=tuple(settings)).targets())


def _devices(fleet: Sequence[Hello]) -> tuple[Device, ...]:
    return (Device.CPU, *((Device.CUDA,) if any(hello.gpus for hello in fleet) else ()))


def _of_preset(preset: Preset, reading: Reading, scripts: Mapping[str, Script], fleet: Sequence[Hello]) -> list[tuple[str, Target]]:
    """Its own cells, those that test for a cause, and the toolchains that are nearest to what the report says of versions."""
    if preset.versions:
        return [
            (digest, target)
            for device in _devices(fleet)
            for digest, script in scripts.items()
            for target in _over_versions(script, device, preset, fleet)
        ]
    wanted = [(digest, target) for target in expand(preset.settings, fleet) for digest in scripts]
    wanted += [(each.digest, target) for each in scripts.values() for target in _tests(reading.claim, each, fleet)]
    near = [(device, nearest_to_claim(reading, device, fleet)) for device in _devices(fleet)]
    wanted += [(digest, check_target(Target(device=device, toolchain=name))) for device, name in near if name for digest in scripts]
    return wanted


def _over_versions(script: Script, device: Device, preset: Preset, fleet: Sequence[Hello]) -> list[Target]:
    names = versions_for(script, device, fleet) or [""]
    return [check_target(Target(device=device, toolchain=name, settings=settings)) for name in names for settings in preset.settings]


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
    known = usable_toolchains(fleet)
    meant = [other for other in sorted(known) if is_meant(other, target.toolchain)]
    if explicit and target.toolchain and known and not meant:
        raise InputError(
            f"There is no such toolchain. The toolchains are: {', '.join(sorted(known))}.", code="unknown_toolchain", field="toolchain"
        )
    # One that can't be used with the device says more than none.
    whole = target.model_copy(update={"toolchain": meant[0]}) if target.toolchain and meant else target
    lack = nearest_lack(fleet, whole, required_level=required_level)
    return target, lack or Reason(code="no_toolchain", detail="No node has this toolchain ready.", who_can_act=WhoCanAct.OPERATOR)
