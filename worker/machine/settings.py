"""What an operator can set on a node, by environment variables that begin with SAMEHERE_."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from worker.contract import GIB, Level
from worker.contract.home import default_home
from worker.machine import allowed_packages, attempt_variables
from worker.machine.lending import Lending, read_hours
from worker.machine.locks import host_folder


def default_slots() -> int:
    """Half the cores, at most four: attempts of torch take all cores they are given."""
    return max(1, min(4, len(os.sched_getaffinity(0)) // 2))


class NodeSettings(BaseSettings):
    """Read once at start; each field is set by SAMEHERE_ and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="SAMEHERE_", frozen=True, extra="ignore")

    home: Path = Field(default_factory=default_home, description="Where all state lives.")
    toolchains: Path | None = Field(
        default=None, description="Folder of the toolchains; default: `toolchains` in the home."
    )
    locks: Path | None = Field(
        default=None,
        description="Folder of the locks on slots and cards; default: one for all nodes of this user on this machine.",
    )
    node_name: str = Field(
        default="local",
        pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$",
        description="The node's public name; never the host's.",
    )
    slots: int = Field(
        default_factory=default_slots, ge=1, le=96, description="How many attempts may run at the same time."
    )
    level: Level | None = Field(
        default=None, description="Insist on this isolation level; default: the strongest that works."
    )
    variables: dict[str, str] = Field(
        default={},
        description='Variables set in every attempt, as JSON: {"NCCL_NVLS_ENABLE": "0"}; recorded with it, never secrets.',
    )
    broker_url: str = Field(
        default="", description="Redis or Valkey, for `node` only: redis://, rediss:// or redis+socket://."
    )
    heartbeat_seconds: float = Field(
        default=5.0,
        gt=0,
        le=60,
        description="How often the node's broker key is refreshed; it lives three times as long.",
    )
    hello_seconds: float = Field(
        default=60.0, gt=0, description="How often the node says again what it offers."
    )
    drain_seconds: float = Field(
        default=60.0, ge=0, description="After SIGTERM: how long running attempts may take to end."
    )
    hours: str = Field(
        default="",
        description="When it works, in local time: `22:00-07:00, sat-sun 00:00-24:00`; default: always.",
    )
    pause_file: Path | None = Field(
        default=None,
        description="While this file is there, nothing new is taken; with the word `now` in it what runs is given back too. "
        "Default: `pause` in the node's folder in the home.",
    )
    card_check_seconds: float = Field(
        default=600.0,
        gt=0,
        description="A GPU that is to be used has passed a check with known answers within this time.",
    )
    card_check_memory_bytes: int = Field(
        default=2 * GIB, ge=0, description="How much of a GPU's memory the check writes and reads."
    )
    cards_alone: bool = Field(
        default=True, description="Use no GPU on which a program of somebody else's computes."
    )
    warm: bool = Field(
        default=True,
        description="Start attempts from a paused interpreter where they ask for it and it changes nothing.",
    )
    warm_memory_bytes: int = Field(
        default=GIB, ge=0, description="What paused interpreters may take together; each takes about 170 MiB."
    )
    warm_jobs: int = Field(
        default=200, ge=1, description="A paused interpreter is replaced after this many attempts."
    )
    warm_seconds: float = Field(
        default=3600.0, gt=0, description="A paused interpreter is replaced at this age."
    )
    warm_audit_share: float = Field(
        default=0.02,
        ge=0,
        le=1,
        description="The share of warm attempts that are run cold as well, and compared.",
    )
    toolchain_seconds: float = Field(
        default=1800.0, gt=0, description="How long the build of a toolchain may take."
    )
    toolchain_bytes: int = Field(
        default=24 * GIB, gt=0, description="How large the wheels of one toolchain may be, unpacked."
    )
    toolchain_wait_seconds: float = Field(
        default=180.0,
        ge=0,
        le=600,
        description="How long an attempt waits for a toolchain that is built when it is needed; 0: never.",
    )
    packages_allowed: str = Field(
        default=allowed_packages.DEFAULT,
        description="Packages that a report may bring into a toolchain: names with spaces, or the path of a file with one a line.",
    )
    probe_seconds: float = Field(
        default=180.0, gt=0, le=600, description="Wall limit of the probe that records an environment."
    )
    message_bytes: int = Field(
        default=8 * 1024 * 1024, ge=64 * 1024, description="The longest message that is read."
    )

    @field_validator("variables")
    @classmethod
    def _check_variables(cls, given: dict[str, str]) -> dict[str, str]:
        return attempt_variables.check(given)

    @field_validator("hours")
    @classmethod
    def _check_hours(cls, given: str) -> str:
        read_hours(given)
        return given

    @field_validator("packages_allowed")
    @classmethod
    def _check_packages(cls, given: str) -> str:
        allowed_packages.read(given)
        return given

    @property
    def toolchain_folder(self) -> Path:
        return self.toolchains or self.home / "toolchains"

    @property
    def lock_folder(self) -> Path:
        return self.locks or host_folder()

    @property
    def cache_folder(self) -> Path:
        return self.home / "cache"

    def lending(self, node: str) -> Lending:
        """When this node works."""
        return Lending(self.pause_file or self.home / "nodes" / node / "pause", read_hours(self.hours))

    def spool_folder(self, node: str) -> Path:
        return self.home / "nodes" / node / "spool"
