"""The cells of a preset for a report: scripts × devices × toolchains × settings of the fleet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from app.intake.claim.claims import Claim
from app.intake.reading import NeedKind, Reading, Script
from app.targets.fleet import capabilities_of, cards_of_kind
from app.targets.packages import nearest_to_claim, versions_for
from app.targets.parse import check_target
from app.targets.pattern import ANY, Pattern
from app.targets.planning.cause_tests import cause_tests, kernel_tests, layer_tests, variation_tests
from app.targets.planning.presets import EXPLAIN, Preset
from app.targets.target import Target
from worker.contract import Device, Hello

# The digest of a script, and the target on which it should run.
PlannedCell = tuple[str, Target]


def devices_of(fleet: Sequence[Hello]) -> tuple[Device, ...]:
    """The devices of the fleet: always the CPU, and CUDA if a node has a card."""
    return (Device.CPU, *((Device.CUDA,) if any(hello.gpus for hello in fleet) else ()))


def cells_of_preset(
    preset: Preset, reading: Reading, scripts: Mapping[str, Script], fleet: Sequence[Hello]
) -> list[PlannedCell]:
    """The cells of the preset, those that test for a cause, and those nearest to the reporter's versions.

    A preset of the operator, or one over all toolchains, gets no additional cells. A script that needs
    several cards gets them if a node has so many.
    """
    devices = [device for device in devices_of(fleet) if not preset.devices or device in preset.devices]
    cells = [
        (digest, target)
        for device in devices
        for digest, script in scripts.items()
        for target in _product(preset, script, device, fleet)
        if not any(pattern.fits(target) for pattern in preset.exclude)
    ]
    if preset.versions or preset.own:
        return _with_cards(cells, scripts, fleet) + cells_of_patterns(preset.include, scripts, fleet)
    cells += [
        (each.digest, target) for each in scripts.values() for target in _tests(reading.claim, each, devices)
    ]
    if preset.name == EXPLAIN:
        cells += [
            (each.digest, check_target(Target(device=device, settings=settings)))
            for each in scripts.values()
            for device in devices
            for settings in (*layer_tests(each), *variation_tests(each), *kernel_tests(each, device))
            # Each script has threads: without a claim that repeats differ they are not tried.
            if "threads" not in settings
        ]
    near = [(device, nearest_to_claim(reading, device, fleet)) for device in devices]
    cells += [
        (digest, check_target(Target(device=device, toolchain=name)))
        for device, name in near
        if name
        for digest in scripts
    ]
    return _with_cards(cells, scripts, fleet) + cells_of_patterns(preset.include, scripts, fleet)


def _with_cards(
    cells: Sequence[PlannedCell], scripts: Mapping[str, Script], fleet: Sequence[Hello]
) -> list[PlannedCell]:
    """The cells with as many cards as their scripts need, where a node has so many of the kind."""
    needed = {
        digest: max((need.count for need in script.needs if need.kind is NeedKind.GPU), default=0)
        for digest, script in scripts.items()
    }
    return [
        (digest, target.model_copy(update={"gpus": needed[digest]}))
        if target.gpus < needed[digest]
        and any(len(cards_of_kind(hello, target)) >= needed[digest] for hello in fleet)
        and target.device is Device.CUDA
        else (digest, target)
        for digest, target in cells
    ]


def cells_of_patterns(
    patterns: Sequence[Pattern], scripts: Mapping[str, Script], fleet: Sequence[Hello]
) -> list[PlannedCell]:
    """The cells that inclusions add, for each script."""
    return [
        (digest, target)
        for pattern in patterns
        for digest, script in scripts.items()
        for target in pattern.targets(devices_of(fleet), partial(_versions, script, fleet))
    ]


def _versions(script: Script, fleet: Sequence[Hello], device: Device) -> list[str]:
    """All toolchains that fit; without any, the empty name, which gives a cell with a reason."""
    return versions_for(script, device, fleet) or [""]


def _product(preset: Preset, script: Script, device: Device, fleet: Sequence[Hello]) -> Iterator[Target]:
    kinds = capabilities_of(fleet) if preset.each_card and device is Device.CUDA else ()
    for name in preset.toolchains:
        for toolchain in _versions(script, fleet, device) if name == ANY else [name]:
            for settings in sorted(preset.settings, key=lambda each: (len(each), sorted(each.items()))):
                # With only one kind of card, its name is not needed.
                for capability in kinds if len(kinds) > 1 else (None,):
                    yield check_target(
                        Target(device=device, capability=capability, toolchain=toolchain, settings=settings)
                    )


def _tests(claim: Claim, script: Script, devices: Sequence[Device]) -> Iterator[Target]:
    for test_device, settings in cause_tests(claim, script):
        for device in devices:
            if test_device in (None, device):
                yield check_target(Target(device=device, settings=settings))
