"""Frees disk space: removes builds that were long unused, and wheels that no build has."""

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
from worker.toolchains.records import MANIFEST_NAME, Manifest
from worker.toolchains.store import ToolchainStore


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    """The result of `prune`: names that lost their build, and numbers of builds, packages and freed bytes.

    The names keep their locks, and are built again when they are needed.
    """

    names: list[str]
    environments: int
    packages: int
    bytes: int


def prune(store: ToolchainStore, *, unused_seconds: float) -> PruneResult:
    """Remove builds and packages that were unused for this time.

    Raises ToolchainError while something is built.

    Adopted toolchains and those without a lock stay.
    """
    # Attempts may start meanwhile: each one locks its toolchain.
    # A build may not: it could use a package that is removed.
    try:
        with SharedLock(store.collecting_path, alone=True):
            return _prune(store, before=time.time() - unused_seconds)
    except BlockingIOError as error:
        raise ToolchainError("A toolchain is being built. Prune after the build.") from error


def _prune(store: ToolchainStore, *, before: float) -> PruneResult:
    leads_to = {
        name: (store.root / name).resolve() for name in store.names() if (store.root / name).is_symlink()
    }
    bytes_before = size_of(store.root)
    used_packages: set[str] = set()
    names: list[str] = []
    removed = 0
    for folder in sorted(store.root.glob(".built/*/*")):
        own_names = [name for name, target in leads_to.items() if target == folder.resolve()]
        is_recent = bool(own_names) and store.last_used(folder) >= before
        if is_recent or not _remove(store, folder, own_names):
            used_packages.update(_packages_of(folder))
            continue
        names += own_names
        removed += 1
    packages = PackageStore(store.root).folder
    unused = [
        key
        for key in _entries(packages)
        if key not in used_packages and (packages / key).stat().st_mtime < before
    ]
    for key in unused:
        remove_tree(packages / key)
    store.delete_removed()
    _tidy(store)
    return PruneResult(
        names=sorted(names),
        environments=removed,
        packages=len(unused),
        bytes=bytes_before - size_of(store.root),
    )


def _remove(store: ToolchainStore, folder: Path, names: list[str]) -> bool:
    """Remove a build and these names; False if an attempt uses it."""
    try:
        with store.use_lock(folder, alone=True):
            for name in names:
                (store.root / name).unlink()
                recipe = store.read_recipe(name)
                if recipe is not None and recipe.base:
                    # Only a report asked for this toolchain.
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
        return Manifest.model_validate_json((folder / MANIFEST_NAME).read_bytes()).packages
    except (OSError, ValueError):
        return []


def _entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _tidy(store: ToolchainStore) -> None:
    """Remove the folders of interrupted builds: no build runs now.

    Folders of adoptions, which may run, stay.
    """
    for path in (store.root / ".building").glob("*"):
        if path.name.startswith(("package-", "env-")):
            remove_tree(path)
