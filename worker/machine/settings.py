"""The settings of a node, from environment variables that begin with SAMEHERE_."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, field_validator, model_validator

from worker.contract import FIRST_UID, GIB, MIB, Level
from worker.contract.broker.url import check_broker_url
from worker.contract.home import default_home
from worker.contract.log_settings import LogSettings
from worker.contract.secret_file import complete_urls
from worker.machine import allowed_packages, attempt_variables
from worker.machine.lending import Lending, read_hours
from worker.machine.locks import host_folder

# The numbers above have other uses: see `worker.slots.places` and `worker.sandbox.backend`.
_MOST_SLOTS = 96
# The numbers 96, 98 and 99.
MOST_PREVIEW_PLACES = 3


def default_slots(settings: Mapping[str, Any]) -> int:
    """Half the cores, at most four, because torch uses all cores that it gets.

    With more than one of `card_places`, at least one for each attempt that may be under way for a card.
    """
    slots = max(1, min(4, len(os.sched_getaffinity(0)) // 2))
    places = int(settings.get("card_places", 1))
    return max(slots, min(_MOST_SLOTS, _count_cards() * places)) if places > 1 else slots


def default_warm_memory(settings: Mapping[str, Any]) -> int:
    """Enough for an interpreter of each place on a machine with cards, whose torch takes more memory."""
    if not _count_cards():
        return GIB
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    places = int(settings.get("slots", 1)) + int(settings.get("preview_places", 1))
    return max(GIB, min(memory // 4, places * 512 * MIB))


def default_preview_places(settings: Mapping[str, Any]) -> int:
    """One; as many as there may be where previews share a card, since otherwise they wait for each other."""
    return MOST_PREVIEW_PLACES if settings.get("card_sharing") and _count_cards() else 1


def _count_cards() -> int:
    return len(list(Path("/dev").glob("nvidia[0-9]*")))


class NodeSettings(LogSettings):
    """The settings, read at the start. The variable of a field is SAMEHERE_ and its name in capitals."""

    home: Path = Field(default_factory=default_home, description="The folder with all state.")
    toolchains: Path | None = Field(
        default=None, description="Folder of the toolchains; default: `toolchains` in the home."
    )
    locks: Path | None = Field(
        default=None,
        description="Folder of the locks on slots and cards; default: one for all nodes of this user on this "
        "machine.",
    )
    node_name: str = Field(
        default="local",
        pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$",
        description="The public name of the node. Do not use the host name.",
    )
    card_places: int = Field(
        default=1,
        ge=1,
        le=64,
        description="The number of attempts that may be under way for each GPU. With more than 1, an attempt "
        "starts without its GPU and gets it at its first touch; only one has it at a time.",
    )
    card_wait_seconds: float = Field(
        default=300.0,
        gt=0,
        le=3600,
        description="The longest time that a started attempt waits for its GPU; then it goes back, and has "
        "its GPU from the start the next time.",
    )
    card_sharing: bool = Field(
        default=False,
        description="Let several attempts compute on a GPU at the same time if they start warm, each in a "
        "context of its own. They count only if an attempt alone shows the same.",
    )
    slots: int = Field(
        default_factory=default_slots,
        ge=1,
        le=_MOST_SLOTS,
        description="The number of attempts that may run at the same time.",
    )
    preview_places: int = Field(
        default_factory=default_preview_places,
        ge=1,
        le=MOST_PREVIEW_PLACES,
        description="The number of previews that may run at the same time, beside the slots.",
    )
    first_uid: int = Field(
        default=FIRST_UID,
        ge=1000,
        le=2**31 - 200,
        description="The uid of slot 0 on a node of root. Slot N has this uid plus N, previews have it plus "
        "96, 98 and 99, `doctor` has it plus 97. Nodes of root with different folders of locks need "
        "different uids.",
    )
    level: Level | None = Field(
        default=None, description="Use only this isolation level; default: the strongest that works."
    )
    variables: dict[str, str] = Field(
        default={},
        description='Variables for every attempt, as JSON: {"NCCL_NVLS_ENABLE": "0"}. '
        "Results show them, so do not set secrets.",
    )
    broker_url: SecretStr | None = Field(
        default=None, description="Redis or Valkey, for `node` only: redis://, rediss:// or redis+socket://."
    )
    broker_password_file: Path | None = Field(
        default=None, description="File with the password of the broker; the URL then has none."
    )
    heartbeat_seconds: float = Field(
        default=5.0,
        gt=0,
        le=60,
        description="Time between two heartbeats. A heartbeat expires after three times as long.",
    )
    hello_seconds: float = Field(
        default=60.0, gt=0, description="Time between two messages with the node's offer."
    )
    drain_seconds: float = Field(
        default=60.0, ge=0, description="Time after SIGTERM in which running attempts may end."
    )
    hours: str = Field(
        default="",
        description="Hours in which the node works, in local time: `22:00-07:00, sat-sun 00:00-24:00`; "
        "default: always.",
    )
    pause_file: Path | None = Field(
        default=None,
        description="While this file exists, the node takes no attempts. If it contains the word `now`, "
        "the node also stops the running ones, and other nodes run them. "
        "Default: `pause` in the node's folder in the home.",
    )
    card_check_seconds: float = Field(
        default=600.0,
        gt=0,
        description="A GPU is used only if it passed a check with known answers within this time.",
    )
    card_check_memory_bytes: int = Field(
        default=2 * GIB, ge=0, description="The amount of a GPU's memory that the check writes and reads."
    )
    cards_overwrite: bool = Field(
        default=False,
        description="Overwrite the memory of a GPU after each attempt, before another one gets the GPU.",
    )
    cards_alone: bool = Field(default=True, description="Use no GPU on which another program computes.")
    warm: bool = Field(
        default=True,
        description="Start attempts from a paused interpreter if they ask for it and it changes no result.",
    )
    warm_memory_bytes: int = Field(
        default_factory=default_warm_memory,
        ge=0,
        description="Memory limit for all paused interpreters; each takes about 170 MiB, and 440 MiB with a "
        "torch for GPUs. Default: 1 GiB; on a machine with GPUs 512 MiB for each slot and one more, at most "
        "a quarter of its memory.",
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
        description="The share of warm attempts that also run cold, for a comparison.",
    )
    toolchain_seconds: float = Field(
        default=1800.0, gt=0, description="Time limit for the build of a toolchain."
    )
    toolchain_bytes: int = Field(
        default=24 * GIB, gt=0, description="Size limit for the unpacked wheels of one toolchain."
    )
    toolchain_wait_seconds: float = Field(
        default=180.0,
        ge=0,
        le=600,
        description="The time that an attempt waits for the build of its toolchain; 0: nothing is built.",
    )
    packages_allowed: str = Field(
        default=allowed_packages.DEFAULT,
        description="Packages that a report may add to a toolchain: names with spaces between them, "
        "or the path of a file with one name a line.",
    )
    probe_seconds: float = Field(
        default=180.0, gt=0, le=600, description="Time limit for the probe that records an environment."
    )
    message_bytes: int = Field(
        default=8 * 1024 * 1024, ge=64 * 1024, description="The longest message that the node reads."
    )

    @model_validator(mode="before")
    @classmethod
    def _read_password(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return complete_urls(settings, ("broker",))

    @field_validator("broker_url")
    @classmethod
    def _check_broker_url(cls, url: SecretStr | None) -> SecretStr | None:
        check_broker_url(url.get_secret_value() if url is not None else "")
        return url

    @field_validator("variables")
    @classmethod
    def _check_variables(cls, variables: dict[str, str]) -> dict[str, str]:
        return attempt_variables.check(variables)

    @field_validator("hours")
    @classmethod
    def _check_hours(cls, text: str) -> str:
        read_hours(text)
        return text

    @field_validator("packages_allowed")
    @classmethod
    def _check_packages(cls, text: str) -> str:
        allowed_packages.read(text)
        return text

    def reveal_broker_url(self) -> str:
        """The URL of the broker with its password; empty without a broker. Show it to nobody."""
        return self.broker_url.get_secret_value() if self.broker_url is not None else ""

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
        """The hours and the pause file of a node."""
        return Lending(self.pause_file or self.home / "nodes" / node / "pause", read_hours(self.hours))

    def spool_folder(self, node: str) -> Path:
        return self.home / "nodes" / node / "spool"
