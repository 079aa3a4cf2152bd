"""A target: the device that is granted, the toolchain, the settings. Asked for, never found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from worker.contract import Device, cards_needed


class Target(BaseModel):
    """One requested configuration. `toolchain` empty means the newest that serves the device."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: Device = Device.CPU
    gpus: int = Field(default=0, ge=0, le=16)
    capability: str | None = None  # such as "sm90"
    toolchain: str = ""
    settings: dict[str, str] = Field(default_factory=dict)

    @property
    def cards_needed(self) -> int:
        """How many cards an attempt of this target takes."""
        return cards_needed(self.device, self.gpus)

    def label(self) -> str:
        """The target as the command line writes it, `cuda@torch-2.13:cpu-isa=sse4.2,threads=1`."""
        return label_of(self)


class _HasTarget(Protocol):
    @property
    def target(self) -> Mapping[str, Any]: ...


def target_of(row: _HasTarget) -> Target:
    """The target of a row, which holds it as JSON data."""
    return Target.model_validate(row.target)


class Configuration(Protocol):
    """What is written like a target: one that was asked for, or as a run object tells it."""

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
    """The target as the command line writes it."""
    return _label(target, target.toolchain)


def label_without_toolchain(target: Configuration) -> str:
    """What a target shares with those on other toolchains."""
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
