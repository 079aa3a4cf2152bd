"""The folder of toolchains: lists them with their state, and the folders that a sandbox must show.

NAME                      a link to a build, or the folder of an adopted toolchain .built/DIGEST/RANDOM/     a
build; the digest is of its lock and interpreter, and several names may lead to one .recipes/NAME.json
the lock of a name, from which it can be built again .packages/KEY/            unpacked wheels; the files of
builds are hard links to theirs .state/NAME.json          a build that runs or has failed .locks/, .building/
locks, and work in progress
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from worker.contract import ToolchainFacts
from worker.contract.names import split_layers
from worker.contract.target_settings import effective_cpu_isa
from worker.machine.hardware import read_cpu
from worker.machine.locks import HostLock, SharedLock
from worker.sandbox.job import Bind
from worker.toolchains.errors import CancelledError, ToolchainError
from worker.toolchains.records import (
    MANIFEST_NAME,
    BuildState,
    Manifest,
    Recipe,
    write_atomically,
    write_manifest,
)

_NAME = re.compile(r"[a-z0-9][a-z0-9._+-]{0,99}")
# The sandbox also shows an attempt's toolchain here, so that tracebacks do not name a folder of the operator.
INSIDE = "/opt/samehere"
# In the name of a removed toolchain's folder: between the toolchain's name and a random part.
_REMOVED = "~removed-"
# Packages that could not be added are tried again after this time.
RETRY_SECONDS = 3600.0
# The sandbox shows this folder in any case.
_ALWAYS_SHOWN = Path("/usr")


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """A toolchain that is ready; `binds` are the folders that a sandbox must show for it."""

    name: str
    folder: Path
    build_id: str
    facts: ToolchainFacts
    binds: tuple[Bind, ...]

    @property
    def python(self) -> str:
        """The interpreter's path on the host; the same inside the sandbox."""
        return self.facts.python

    @property
    def python_inside(self) -> str:
        """The interpreter's path for attempts, inside the sandbox only."""
        return f"{INSIDE}/bin/python"


class ToolchainStore:
    """The toolchains in one folder. Several processes may use it at the same time."""

    def __init__(self, root: Path) -> None:
        # pip and uv start in another folder.
        self.root = root.absolute()

    def folder(self, name: str) -> Path:
        """The folder or link of this name. Raises ToolchainError if the name is not allowed."""
        if not _NAME.fullmatch(name):
            raise ToolchainError(
                "A toolchain's name has at most 100 characters, only a-z, 0-9, '.', '_', '+' and '-', "
                "and begins with a letter or a digit."
            )
        return self.root / name

    def work_folder(self, name: str) -> Path:
        """The folder in which a toolchain is made, before it is renamed into place."""
        return self.root / ".building" / name

    def lock(self, name: str) -> HostLock:
        """The lock of this name: only one process of the machine builds it at a time."""
        return HostLock(self.root / ".locks" / f"{name}.lock")

    @property
    def collecting_path(self) -> Path:
        """The path of the lock that builds share, and that `prune` takes exclusively."""
        return self.root / ".locks" / ".collecting"

    @contextmanager
    def tracking(self, name: str) -> Iterator[None]:
        """Record the state "building" during a build, and the error if it fails.

        Raises ToolchainError then.
        """
        self.write_state(name, "building")
        try:
            yield
        except CancelledError:
            self.delete_state(name)
            raise
        except (ToolchainError, OSError) as error:
            self.write_state(name, "failed", str(error))
            raise error if isinstance(error, ToolchainError) else ToolchainError(str(error)) from error
        self.delete_state(name)

    def find_build(self, digest: str) -> Path | None:
        """The folder of a build with this digest, or None.

        Each build has a new folder, so that an attempt that still uses an old one never sees files of the new
        one.
        """
        manifests = sorted((self.root / ".built" / digest).glob(f"*/{MANIFEST_NAME}"))
        return manifests[0].parent if manifests else None

    def write_state(self, name: str, state: Literal["building", "failed"], detail: str = "") -> None:
        """Record that a build runs or has failed now."""
        path = self._state_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, BuildState(state=state, detail=detail, at=time.time()).model_dump_json())

    def delete_state(self, name: str) -> None:
        """Forget that a build ran or failed."""
        self._state_path(name).unlink(missing_ok=True)

    def failed_at(self, name: str) -> float | None:
        """The time of the last build if it failed, in seconds since the epoch, else None."""
        state = self._read_state(name)
        return state.at if state is not None and state.state == "failed" else None

    def read_recipe(self, name: str) -> Recipe | None:
        """The recipe of this name, or None."""
        if not _NAME.fullmatch(name):
            return None
        try:
            return Recipe.model_validate_json((self.root / ".recipes" / f"{name}.json").read_bytes())
        except (OSError, ValidationError):
            return None

    def write_recipe(self, name: str, recipe: Recipe) -> None:
        """Store the recipe of this name."""
        folder = self.root / ".recipes"
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / f"{name}.json", recipe.model_dump_json(indent=1))

    def read_manifest(self, name: str) -> Manifest | None:
        """The manifest of the toolchain that is ready under this name, or None."""
        try:
            return Manifest.model_validate_json((self.folder(name) / MANIFEST_NAME).read_bytes())
        except (OSError, ValidationError):
            return None

    def publish(self, name: str, manifest: Manifest) -> None:
        """Rename the finished work folder of an adopted toolchain into place."""
        write_manifest(self.work_folder(name), manifest)
        self.work_folder(name).rename(self.folder(name))
        self.delete_state(name)

    def point(self, name: str, build: Path) -> None:
        """Make a name lead to a build.

        Attempts may still run in its former build, which `prune` removes later.
        """
        link = self.root / ".building" / f"{name}.link-{os.getpid()}"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(build, self.root))
        folder = self.folder(name)
        if folder.is_dir() and not folder.is_symlink():
            # An older version of samehere built it, without a lock.
            self._delete(folder)
        link.replace(folder)
        self.delete_state(name)

    def find(self, name: str) -> Toolchain | None:
        """The toolchain that is ready under this name, or None."""
        if not _NAME.fullmatch(name):
            return None
        manifest = self.read_manifest(name)
        if manifest is None:
            return None
        folder = self.folder(name)
        real = folder.resolve()
        visible_paths = [real, *(Path(path) for path in manifest.needs)]
        binds = tuple(
            Bind(str(path), str(path))
            for path in _outermost(visible_paths)
            if not path.is_relative_to(_ALWAYS_SHOWN)
        )
        # It is also shown at its own path, which installed
        # commands of older toolchains and links may contain.
        binds = (*binds, Bind(str(real), INSIDE))
        return Toolchain(
            name=name, folder=real, build_id=manifest.build_id, facts=self._facts(name, manifest), binds=binds
        )

    @contextmanager
    def use(self, name: str) -> Iterator[Toolchain | None]:
        """The toolchain of this name, or None. It is not removed while the context lasts.

        There is no such protection if this user may only read the store: its owner prunes when no attempts
        run.
        """
        toolchain = self.find(name)
        if toolchain is None:
            yield None
            return
        lock = self.use_lock(toolchain.folder)
        try:
            lock.acquire()
        except OSError:
            yield toolchain
            return
        try:
            # It may have been removed before we got the lock.
            current = self.find(name)
            if current is not None and current.folder == toolchain.folder:
                with contextlib.suppress(OSError):
                    os.utime(self.use_path(toolchain.folder))
                yield current
            else:
                yield None
        finally:
            lock.release()

    def use_lock(self, folder: Path, *, alone: bool = False) -> SharedLock:
        """The lock of a build: attempts in it share the lock; `alone` is for removing the build."""
        return SharedLock(self.use_path(folder), alone=alone)

    def last_used(self, folder: Path) -> float:
        """The time of the build's last use or of the build itself, in seconds since the epoch."""
        times = [
            path.stat().st_mtime for path in (self.use_path(folder), folder / MANIFEST_NAME) if path.exists()
        ]
        return max(times, default=0.0)

    def use_path(self, folder: Path) -> Path:
        """The path of the lock that attempts share. Its modification time is that of the last use.

        The folder may be outside of the store, if a link leads there.
        """
        real, root = folder.resolve(), self.root.resolve()
        inside = real.is_relative_to(root)
        name = (
            "-".join(real.relative_to(root).parts)
            if inside
            else f"elsewhere-{hashlib.sha256(bytes(real)).hexdigest()[:16]}"
        )
        return self.root / ".locks" / "use" / f"{name}.lock"

    def names(self) -> list[str]:
        """The names of all toolchains that are ready or can be built, sorted."""
        ready = (
            [entry.name for entry in self.root.iterdir() if not entry.name.startswith(".")]
            if self.root.is_dir()
            else []
        )
        locked = [path.stem for path in (self.root / ".recipes").glob("[a-z0-9]*.json")]
        return sorted({*ready, *locked})

    def list(self) -> list[ToolchainFacts]:
        """The facts of all toolchains by name: first the ready ones, then all others."""
        ready, others = {}, {}
        for name in self.names():
            toolchain = self.find(name)
            if toolchain is not None:
                ready[name] = toolchain.facts
            elif (recipe := self.read_recipe(name)) is not None:
                others[name] = recipe.locked_facts(name)
        for facts in self._list_states():
            if facts.name not in ready and not self._may_retry(facts):
                locked = others.get(facts.name, facts)
                others[facts.name] = locked.model_copy(update={"state": facts.state, "detail": facts.detail})
        return [*ready.values(), *(others[name] for name in sorted(others))]

    def remove(self, name: str) -> None:
        """Remove the name and its lock. `prune` removes the build, in which attempts may still run.

        Raises ToolchainError if there is no such toolchain.
        """
        folder = self.folder(name)
        with self.lock(name):
            has_state, has_recipe = self._state_path(name).exists(), self.read_recipe(name) is not None
            if not folder.exists() and not folder.is_symlink() and not has_state and not has_recipe:
                raise ToolchainError(
                    f"There is no toolchain {name}; `samehere toolchain list` shows all toolchains."
                )
            if folder.is_symlink():
                folder.unlink()
            elif folder.exists():
                self._delete(folder)
            self.forget(name)
            shutil.rmtree(self.work_folder(name), ignore_errors=True)

    def forget(self, name: str) -> None:
        """Remove the lock file and the state of a name that has no build."""
        self.delete_state(name)
        (self.root / ".recipes" / f"{name}.json").unlink(missing_ok=True)

    def _delete(self, folder: Path) -> None:
        """Move a folder away, so that nobody finds half of it; delete it unless an attempt uses it."""
        removed = self.root / ".building" / f"{folder.name}{_REMOVED}{secrets.token_hex(4)}"
        removed.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(removed)
        self.delete_removed()

    def delete_removed(self) -> None:
        """Delete the folders that `_delete` moved away, except those that an attempt still uses."""
        for path in (self.root / ".building").glob(f"*{_REMOVED}*"):
            # The name may lead to another folder by now.
            used = self.root / ".locks" / "use" / f"{path.name.rpartition(_REMOVED)[0]}.lock"
            with contextlib.suppress(BlockingIOError, FileNotFoundError), SharedLock(used, alone=True):
                shutil.rmtree(path)

    def _facts(self, name: str, manifest: Manifest) -> ToolchainFacts:
        cpu = read_cpu()
        isa = effective_cpu_isa(mkl=manifest.facts.mkl, vendor=cpu.vendor, flags=cpu.flags)
        recipe = self.read_recipe(name)
        own = {
            "name": name,
            "base": recipe.base if recipe else "",
            "python": str(self.folder(name) / "bin" / "python"),
            "cpu_isa": isa,
        }
        return manifest.facts.model_copy(update=own)

    def _state_path(self, name: str) -> Path:
        return self.root / ".state" / f"{name}.json"

    def _read_state(self, name: str) -> BuildState | None:
        try:
            return BuildState.model_validate(json.loads(self._state_path(name).read_bytes()))
        except (OSError, ValueError):
            return None

    def _list_states(self) -> Iterator[ToolchainFacts]:
        for path in sorted((self.root / ".state").glob("*.json")):
            build = self._read_state(path.stem)
            if build is None or not _NAME.fullmatch(path.stem):
                continue
            state, detail = build.state, build.detail
            if state == "building" and self._is_abandoned(path.stem):
                state, detail = "failed", "The build was interrupted; add it again."
            yield ToolchainFacts(name=path.stem, state=state, detail=detail)

    def _may_retry(self, facts: ToolchainFacts) -> bool:
        """Whether a failure to add packages is old enough to be forgotten: only a report asked for them."""
        failed_at = self.failed_at(facts.name)
        added = split_layers(facts.name, self.names()) is not None
        return added and failed_at is not None and time.time() - failed_at >= RETRY_SECONDS

    def _is_abandoned(self, name: str) -> bool:
        lock = self.lock(name)
        try:
            free = lock.acquire()
        except OSError:
            # The store belongs to another user.
            return False
        if not free:
            return False
        lock.release()
        return True


def _outermost(paths: list[Path]) -> list[Path]:
    """The folders without those that lie in another one, each once."""
    outermost: list[Path] = []
    for path in sorted(set(paths), key=lambda candidate: len(candidate.parts)):
        if not any(path.is_relative_to(other) for other in outermost):
            outermost.append(path)
    return outermost
