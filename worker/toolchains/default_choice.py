"""Which toolchain the next attempt is likely to ask for: the one that was used last, else the newest torch."""

from __future__ import annotations

from pathlib import Path

import structlog
from packaging.version import InvalidVersion, Version

from worker.contract import ToolchainFacts
from worker.toolchains.store import Toolchain, ToolchainStore

_log = structlog.get_logger(__name__)


def usual(store: ToolchainStore, *, note: Path | None) -> Toolchain | None:
    """None where no toolchain with torch is ready."""
    noted = None if note is None else _noted(store, note)
    if noted is not None and noted.facts.torch is not None:
        return noted
    able = [facts for facts in store.list() if facts.state == "ready" and facts.torch is not None]
    return store.find(max(able, key=_age).name) if able else None


def for_cards(store: ToolchainStore) -> Toolchain | None:
    """The newest torch that is built for NVIDIA's cards; None where none is ready."""
    able = [
        facts
        for facts in store.list()
        if facts.state == "ready" and facts.torch is not None and facts.cuda_build is not None
    ]
    return store.find(max(able, key=_age).name) if able else None


def note_usual(note: Path, toolchain: Toolchain) -> None:
    """Keep its name for the next start; that it can't be kept is no trouble of an attempt's."""
    try:
        note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        note.write_text(toolchain.name, encoding="utf-8")
    except OSError as error:
        _log.warning("toolchain_not_noted", kind=type(error).__name__)


def _noted(store: ToolchainStore, note: Path) -> Toolchain | None:
    try:
        return store.find(note.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def _age(facts: ToolchainFacts) -> tuple[Version, bool]:
    """As a target without a toolchain is resolved: of two builds of one release the plain one."""
    try:
        release = Version(Version(facts.torch or "0").base_version)
    except InvalidVersion:
        release = Version("0")
    return release, facts.cuda_build is None
