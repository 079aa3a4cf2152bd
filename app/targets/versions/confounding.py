"""Confounded targets, which differ in several axes, and the cells between them that separate the axes."""

from __future__ import annotations

from collections.abc import Iterator

from app.targets.target import Target
from worker.contract import Device

DEVICE, TOOLCHAIN = "device", "toolchain"


def axes_between(baseline: Target, candidate: Target) -> tuple[str, ...]:
    """The axes in which two targets differ, in the order in which they should be changed.

    An axis is `device`, `toolchain` or the name of a setting. The toolchain changes while the device is the
    CPU, since every build runs on a CPU.
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
    """The cells between two targets, each with one more axis changed. Empty if at most one axis differs."""
    return tuple(_walk(baseline, candidate))[:-1]


def missing_cell(baseline: Target, candidate: Target) -> Target | None:
    """The first cell to run for a confounded comparison; it differs from the baseline in one axis.

    Else None.
    """
    return next(iter(missing_cells(baseline, candidate)), None)


def _walk(baseline: Target, candidate: Target) -> Iterator[Target]:
    here = baseline
    for axis in axes_between(baseline, candidate):
        here = _with_axis_of(here, candidate, axis)
        yield here


def _with_axis_of(target: Target, other: Target, axis: str) -> Target:
    if axis == DEVICE:
        return target.model_copy(
            update={"device": other.device, "gpus": other.gpus, "capability": other.capability}
        )
    if axis == TOOLCHAIN:
        return target.model_copy(update={"toolchain": other.toolchain})
    settings = {name: value for name, value in target.settings.items() if name != axis}
    return target.model_copy(
        update={"settings": settings | ({axis: other.settings[axis]} if axis in other.settings else {})}
    )
