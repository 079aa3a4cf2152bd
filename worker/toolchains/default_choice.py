"""Chooses the toolchain that the next attempt will probably need: the last one, else the newest torch."""

from __future__ import annotations

from pathlib import Path

import structlog
from packaging.version import Version

from worker.contract import ToolchainFacts
from worker.contract.versions import parse_release
from worker.toolchains.store import Toolchain, ToolchainStore

_log = structlog.get_logger(__name__)


def choose_default(store: ToolchainStore, *, note: Path | None) -> Toolchain | None:
    """The toolchain named in the file `note`, else the one with the newest torch; None if none is ready."""
    last = None if note is None else _read_note(store, note)
    if last is not None and last.facts.torch is not None:
        return last
    candidates = [facts for facts in store.list() if facts.state == "ready" and facts.torch is not None]
    return store.find(max(candidates, key=_release).name) if candidates else None


def choose_for_cards(store: ToolchainStore) -> Toolchain | None:
    """The toolchain with the newest torch for NVIDIA's cards; None if none is ready."""
    candidates = [
        facts
        for facts in store.list()
        if facts.state == "ready" and facts.torch is not None and facts.cuda_build is not None
    ]
    return store.find(max(candidates, key=_release).name) if candidates else None


def store_default(note: Path, toolchain: Toolchain) -> None:
    """Write the toolchain's name to the file `note`, for the next start.

    Only logs an error: no attempt depends on it.
    """
    try:
        note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        note.write_text(toolchain.name, encoding="utf-8")
    except OSError as error:
        _log.warning("toolchain_not_noted", kind=type(error).__name__)


def _read_note(store: ToolchainStore, note: Path) -> Toolchain | None:
    try:
        return store.find(note.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def _release(facts: ToolchainFacts) -> tuple[Version, bool]:
    """A sort key: torch's release; of one release, the build without CUDA comes last."""
    return parse_release(facts.torch), facts.cuda_build is None
