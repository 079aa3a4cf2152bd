"""Presets: named matrices of devices, toolchains and settings, with inclusions and exclusions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.errors import InputError
from app.targets.pattern import ANY, Pattern
from worker.contract import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named matrix: devices × toolchains × settings of the fleet."""

    name: str
    summary: str
    settings: tuple[dict[str, str], ...] = ({},)
    # Empty means each device of the fleet.
    devices: tuple[Device, ...] = ()
    # An empty name is the newest toolchain, `*` each one that has the packages of the script.
    toolchains: tuple[str, ...] = ("",)
    # One cell for each kind of card (its capability), instead of one for any card.
    each_card: bool = False
    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    # Attempts for a "never". 5 attempts miss a failure with a rate of 45 % once in 20 times, 10 miss one of
    # 26 %.
    repeats: int = 5
    # Whether it comes from the operator's file (SAMEHERE_PRESETS).
    own: bool = False

    @property
    def versions(self) -> bool:
        """Whether it covers every toolchain."""
        return ANY in self.toolchains


_ISA = ({"cpu-isa": "avx2"}, {"cpu-isa": "sse4.2"}, {"cpu-isa": "compatible"})
# The preset of `samehere explain`.
EXPLAIN = "explain"
_DETERMINISM = ({"deterministic": "on"}, {"threads": "1"})

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="quick",
            summary="The newest toolchain on the CPU and, if there is one, on a GPU. For a first answer.",
        ),
        Preset(
            name="device",
            summary="The newest toolchain on the CPU and on each kind of GPU. "
            "For differences between machines.",
            each_card=True,
        ),
        Preset(
            name="version",
            summary="Every toolchain that has the packages of the script, newest first. "
            "To find the version with which it began.",
            toolchains=(ANY,),
        ),
        Preset(
            name="cpu-isa",
            summary="Like quick, and also with the AVX2, SSE4.2 and compatible paths of the math library. "
            "For numbers that others do not get.",
            settings=({}, *_ISA),
        ),
        Preset(
            name="determinism",
            summary="Like quick, and also with deterministic algorithms and with one thread. "
            "For results that change from run to run.",
            settings=({}, *_DETERMINISM),
            repeats=10,
        ),
        Preset(
            name=EXPLAIN,
            summary="Like quick, and also with every operation of torch held against float64. "
            "For the question whether a number is wrong or only rounded.",
            settings=({}, {"trace": "on"}),
            repeats=3,
        ),
        Preset(
            name="full",
            summary="Every toolchain on every kind of device, with every setting that tests for a cause. "
            "Check the plan first: it has many cells.",
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
# The preset name of runs that belong to a bisection. It is no matrix.
BISECTION = "bisection"
# Older names that still work.
FORMER_NAMES = {"versions": "version"}


def preset_named(name: str, presets: Mapping[str, Preset] = PRESETS) -> Preset:
    """The preset with this name. Raises InputError, which lists the names."""
    known = FORMER_NAMES.get(name, name)
    if known not in presets:
        raise InputError(
            f"There is no such preset. The presets are: {', '.join(presets)}.",
            code="unknown_preset",
            field="preset",
        )
    return presets[known]
