"""Named matrices, as data: settings that are laid over devices and toolchains of the fleet, with what is added and what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.errors import InputError
from app.targets.pattern import ANY, Pattern
from worker.contract import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named matrix: devices × toolchains × settings, over what the fleet has."""

    name: str
    summary: str
    settings: tuple[dict[str, str], ...] = ({},)
    # None named: each that the fleet has.
    devices: tuple[Device, ...] = ()
    # Empty is the newest, `*` each that has what the script imports.
    toolchains: tuple[str, ...] = ("",)
    # A cell for each kind of card (its capability) instead of one for whichever card is free.
    each_card: bool = False
    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    # What a "never" of this preset rests on: a failure in 45 % of attempts is missed once in twenty series of 5, one in 26 % of 10.
    repeats: int = 5
    # Of the operator, from the file that SAMEHERE_PRESETS names.
    own: bool = False

    @property
    def versions(self) -> bool:
        """Whether it covers every toolchain."""
        return ANY in self.toolchains


_ISA = ({"cpu-isa": "avx2"}, {"cpu-isa": "sse4.2"}, {"cpu-isa": "compatible"})
_DETERMINISM = ({"deterministic": "on"}, {"threads": "1"})

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="quick",
            summary="The newest toolchain, on the CPU and on a GPU if there is one. The first answer.",
        ),
        Preset(
            name="device",
            summary="The newest toolchain on the CPU and on each kind of GPU that there is. For what differs between machines.",
            each_card=True,
        ),
        Preset(
            name="version",
            summary="Every toolchain that has what the script imports, the newest first. For since when it happens.",
            toolchains=(ANY,),
        ),
        Preset(
            name="cpu-isa",
            summary="As quick, and with the CPU's math library made to take its AVX2, SSE4.2 and compatible paths. "
            "For numbers that nobody else gets.",
            settings=({}, *_ISA),
        ),
        Preset(
            name="determinism",
            summary="As quick, and with deterministic algorithms, and with one thread. For results that change from run to run.",
            settings=({}, *_DETERMINISM),
            repeats=10,
        ),
        Preset(
            name="full",
            summary="Every toolchain on every kind of device, with every setting that tests for a cause. Look first: it is many cells.",
            settings=({}, *_DETERMINISM, {"fill": "nan"}, {"tf32": "off"}, *_ISA),
            toolchains=(ANY,),
            each_card=True,
            exclude=(
                Pattern(device=Device.CPU, settings=(("tf32", ANY),)),
                Pattern(device=Device.CUDA, settings=(("cpu-isa", ANY),)),
            ),
        ),
    )
}
# Names from before, which still mean the same.
# What runs that belong to a bisection are named; there is no such matrix.
BISECTION = "bisection"
FORMER_NAMES = {"versions": "version"}


def preset_named(name: str, presets: Mapping[str, Preset] = PRESETS) -> Preset:
    """The preset. Raises InputError that lists what exists."""
    known = FORMER_NAMES.get(name, name)
    if known not in presets:
        raise InputError(
            f"There is no such preset. The presets are: {', '.join(presets)}.",
            code="unknown_preset",
            field="preset",
        )
    return presets[known]
