"""Named matrices. Each is a list of settings that is laid over the devices of the fleet."""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named matrix: the newest toolchain, or each that has what the script needs, × each device there is × these settings."""

    name: str
    summary: str
    settings: tuple[dict[str, str], ...]
    versions: bool = False
    # What a "never" of this preset rests on: a failure in 45 % of attempts is missed once in twenty series of 5, one in 26 % of 10.
    repeats: int = 5


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="quick",
            summary="The newest torch, on the CPU and on a GPU if there is one. The first answer.",
            settings=({},),
        ),
        Preset(
            name="cpu-isa",
            summary="The same, with the CPU's math library made to take its AVX2, SSE4.2 and compatible paths. "
            "For numbers that nobody else gets.",
            settings=({}, {"cpu-isa": "avx2"}, {"cpu-isa": "sse4.2"}, {"cpu-isa": "compatible"}),
        ),
        Preset(
            name="determinism",
            summary="As it is, with deterministic algorithms, and with one thread. For results that change from run to run.",
            settings=({}, {"deterministic": "on"}, {"threads": "1"}),
            repeats=10,
        ),
        Preset(
            name="versions",
            summary="Every toolchain that has what the script imports, the newest first. For since when it happens.",
            settings=({},),
            versions=True,
        ),
    )
}


def preset_named(name: str) -> Preset:
    """The preset. Raises InputError that lists what exists."""
    if name not in PRESETS:
        raise InputError(f"There is no such preset. The presets are: {', '.join(PRESETS)}.", code="unknown_preset", field="preset")
    return PRESETS[name]
