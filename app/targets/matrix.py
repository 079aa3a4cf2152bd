"""A matrix: devices × toolchains × settings, with what is added and what is left out; what is left out stays out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.targets.fleet import is_meant
from app.targets.parse import check_target
from app.targets.target import Target
from worker.contract import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Leaves out every target that fits all that it names; one that names nothing leaves out none."""

    device: Device | None = None
    toolchain: str = ""
    settings: tuple[tuple[str, str], ...] = ()

    def fits(self, target: Target) -> bool:
        """Whether the target is left out."""
        if self.device is None and not self.toolchain and not self.settings:
            return False
        return (
            self.device in (None, target.device)
            and is_meant(target.toolchain, self.toolchain)
            and all(target.settings.get(name) == value for name, value in self.settings)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """What is multiplied, what is added to that, and what is then left out. An empty toolchain is the newest."""

    devices: tuple[Device, ...]
    toolchains: tuple[str, ...] = ("",)
    settings: tuple[Mapping[str, str], ...] = ({},)
    include: tuple[Target, ...] = ()
    exclude: tuple[Exclusion, ...] = ()

    def targets(self) -> tuple[Target, ...]:
        """The targets, each once, in one order whatever the order of what is multiplied. Raises InputError for what does not exist."""
        wanted = {target.label(): target for target in map(check_target, (*self._product(), *self.include)) if not self._left_out(target)}
        return tuple(sorted(wanted.values(), key=lambda target: (target.device, target.gpus, len(target.settings), target.label())))

    def _product(self) -> Iterator[Target]:
        for device in self.devices:
            for toolchain in self.toolchains:
                for settings in self.settings:
                    yield Target(device=device, toolchain=toolchain, settings=dict(settings))

    def _left_out(self, target: Target) -> bool:
        return any(exclusion.fits(target) for exclusion in self.exclude)
