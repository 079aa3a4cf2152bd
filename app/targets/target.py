"""A target: the device that is granted, the toolchain, the settings. Asked for, never found."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from worker.contract import Device


class Target(BaseModel):
    """One requested configuration. `toolchain` empty means the newest that serves the device."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: Device = Device.CPU
    gpus: int = Field(default=0, ge=0, le=16)
    capability: str | None = None  # such as "sm90"
    toolchain: str = ""
    settings: dict[str, str] = Field(default_factory=dict)

    def label(self) -> str:
        """The target as the command line writes it, `cuda@torch-2.13:cpu-isa=sse4.2,threads=1`."""
        device = str(self.device)
        if self.gpus > 1:
            device += f"*{self.gpus}"
        if self.capability:
            device += f"/{self.capability}"
        settings = ",".join(key if key == "deterministic" else f"{key}={value}" for key, value in sorted(self.settings.items()))
        return device + (f"@{self.toolchain}" if self.toolchain else "") + (f":{settings}" if settings else "")
