"""Gives back disk: what no name leads to, what no attempt used for long, and the wheels that nothing has any more."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from worker.machine.locks import SharedLock
from worker.toolchains.errors import ToolchainError
from worker.toolchains.limits import size_of
from worker.toolchains.packages import PackageStore, remove_tree
from worker.toolchains.store import Manifest, ToolchainStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What was given back. Names that lost what was built keep their locks and are built again when needed."""

    names: list[str]
    environments: int
    packages: int
    bytes: int


def prune(store: ToolchainStore, *, unused_seconds: float) -> Pruned:
    """Remove what was not used for that long and is not in use; adopted ones and those without a lock stay. Raise ToolchainError."""
    # Attempts may begin meanwhile: they hold what they run in. Builds may not: they are made of what would be removed.
    try:
        with SharedLock(store.collecting_path, alone=True):
            return _prune(store, before=time.time() - unused_seconds)
    except BlockingIOError as error:
        raise ToolchainError("A toolchain is being built; prune when it is done.") from error


def _prune(store: ToolchainStore, *, before: float) -> Pruned:
    leads_to = {
        name: (store.root / name).resolve() for name in store.names() if (store.root / name).is_symlink()
    }
    used = size_of(store.root)
    kept: set[str] = set()
    names: list[str] = []
    removed = 0
    for folder in sorted(store.root.glob(".built/*/*")):
        mine = [name for name, target in leads_to.items() if target == folder.resolve()]
        if (mine and store.last_used(folder) >= before) or not _remove(store, folder, mine):
            kept.update(_packages_of(folder))
            continue
        names += mine
        removed += 1
    stored = PackageStore(store.root)
    gone = [
        key
        for key in _entries(stored.folder)
        if key not in kept and (stored.folder / key).stat().st_mtime < before
    ]
    for key in gone:
        remove_tree(stored.folder / key)
    store.delete_removed()
    _tidy(store)
    return Pruned(
        names=sorted(names), environments=removed, packages=len(gone), bytes=used - size_of(store.root)
    )


def _remove(store: ToolchainStore, folder: Path, names: list[str]) -> bool:
    """Whether it could be: not while an attempt uses it."""
    try:
        with store.use_lock(folder, alone=True):
            for name in names:
                (store.root / name).unlink()
                recipe = store.read_recipe(name)
                if recipe is not None and recipe.base:
                    # Nobody asked for it but a report.
                    store.forget(name)
            leaving = store.root / ".building" / f"env-{folder.name}-{os.getpid()}"
            leaving.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(leaving)
            store.use_path(folder).unlink(missing_ok=True)
    except BlockingIOError:
        return False
    remove_tree(leaving)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()
    return True


def _packages_of(folder: Path) -> list[str]:
    try:
        return Manifest.model_validate_json((folder / ToolchainStore.MANIFEST).read_bytes()).packages
    except (OSError, ValueError):
        return []


def _entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _tidy(store: ToolchainStore) -> None:
    """What builds left that were interrupted; none runs now. An adopted one may be being made: it has a name's lock."""
    for path in (store.root / ".building").glob("*"):
        if path.name.startswith(("package-", "env-")):
            remove_tree(path)
