"""A target: the requested device, toolchain and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from worker.contract import Device, cards_needed
from worker.contract.bounds import Name, SettingValues


class Target(BaseModel):
    """One requested configuration. An empty `toolchain` means the newest one that serves the device."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: Device = Device.CPU
    gpus: int = Field(default=0, ge=0, le=16)
    capability: Name | None = None  # such as "sm90"
    toolchain: Name = ""
    settings: SettingValues = Field(default_factory=dict)

    @property
    def cards_needed(self) -> int:
        """The count of cards that an attempt on this target needs."""
        return cards_needed(self.device, self.gpus)

    def label(self) -> str:
        """The text form of the target, `cuda@torch-2.13:cpu-isa=sse4.2,threads=1`."""
        return label_of(self)


class _HasTarget(Protocol):
    @property
    def target(self) -> Mapping[str, Any]: ...


def target_of(row: _HasTarget) -> Target:
    """The target of a database row, which has it as JSON data."""
    return Target.model_validate(row.target)


class Configuration(Protocol):
    """The fields of a target, also those of a target in a run object."""

    @property
    def device(self) -> str: ...
    @property
    def gpus(self) -> int: ...
    @property
    def capability(self) -> str | None: ...
    @property
    def toolchain(self) -> str: ...
    @property
    def settings(self) -> dict[str, str]: ...


def label_of(target: Configuration) -> str:
    """The text form of a target."""
    return _label(target, target.toolchain)


def label_without_toolchain(target: Configuration) -> str:
    """The text form without the toolchain, which is the same for all toolchains."""
    return _label(target, "")


def _label(target: Configuration, toolchain: str) -> str:
    device = str(target.device)
    if target.gpus > 1:
        device += f"*{target.gpus}"
    if target.capability:
        device += f"/{target.capability}"
    settings = ",".join(
        key if key == "deterministic" else f"{key}={value}" for key, value in sorted(target.settings.items())
    )
    return device + (f"@{toolchain}" if toolchain else "") + (f":{settings}" if settings else "")
