"""Two targets that differ in more than one axis are confounded: which cell between them would tell the axes apart."""

from __future__ import annotations

from collections.abc import Iterator

from app.targets.target import Target
from worker.contract import Device

DEVICE, TOOLCHAIN = "device", "toolchain"


def axes_between(baseline: Target, candidate: Target) -> tuple[str, ...]:
    """The axes in which two targets differ: `device`, `toolchain` and the names of settings, in the order in which they should be changed.

    The toolchain is changed while the device is the CPU: a build with CUDA runs there, and a build without it runs nowhere else.
    """
    device = (baseline.device, baseline.gpus, baseline.capability) != (
        candidate.device,
        candidate.gpus,
        candidate.capability,
    )
    toolchain = baseline.toolchain != candidate.toolchain
    first = [*([TOOLCHAIN] if toolchain else []), *([DEVICE] if device else [])]
    if baseline.device is Device.CUDA and candidate.device is Device.CPU:
        first.reverse()
    names = sorted({*baseline.settings, *candidate.settings})
    return (*first, *(name for name in names if baseline.settings.get(name) != candidate.settings.get(name)))


def missing_cells(baseline: Target, candidate: Target) -> tuple[Target, ...]:
    """The cells between two targets, each differing from the one before in one axis; none where they differ in at most one."""
    return tuple(_walk(baseline, candidate))[:-1]


def missing_cell(baseline: Target, candidate: Target) -> Target | None:
    """The first cell to run where a comparison is confounded: it differs from the baseline in one axis. None where it is not confounded."""
    return next(iter(missing_cells(baseline, candidate)), None)


def _walk(baseline: Target, candidate: Target) -> Iterator[Target]:
    here = baseline
    for axis in axes_between(baseline, candidate):
        here = _changed(here, candidate, axis)
        yield here


def _changed(target: Target, wanted: Target, axis: str) -> Target:
    if axis == DEVICE:
        return target.model_copy(
            update={"device": wanted.device, "gpus": wanted.gpus, "capability": wanted.capability}
        )
    if axis == TOOLCHAIN:
        return target.model_copy(update={"toolchain": wanted.toolchain})
    kept = {name: value for name, value in target.settings.items() if name != axis}
    return target.model_copy(
        update={"settings": kept | ({axis: wanted.settings[axis]} if axis in wanted.settings else {})}
    )
