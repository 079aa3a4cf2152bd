"""The folder of toolchains: which there are, in what state, and what a sandbox must be shown for one.

NAME                      a link to what was built, or the folder of one that was adopted
.built/DIGEST/ONCE/       what was built: by its lock and its interpreter; several names may lead to one
.recipes/NAME.json        the lock behind a name, from which it is built again
.packages/KEY/            unpacked wheels, of which the files of what was built are further names
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worker.contract import ToolchainFacts
from worker.contract.names import split_layers
from worker.contract.target_settings import effective_cpu_isa
from worker.machine.hardware import read_cpu
from worker.machine.locks import HostLock, SharedLock
from worker.sandbox.job import Bind
from worker.toolchains.errors import CancelledError, ToolchainError
from worker.toolchains.locking.lock import Lock

_NAME = re.compile(r"[a-z0-9][a-z0-9._+-]{0,99}")
# Where the one that an attempt runs in is shown besides: tracebacks of its packages name this, and not a folder of the operator's.
INSIDE = "/opt/samehere"
# Between the name of one that was removed and what makes its folder's name its own.
_REMOVED = "~removed-"
# How long packages that could not be added are not tried again.
RETRY_SECONDS = 3600.0
# Already shown by the sandbox's own policy.
_ALWAYS_SHOWN = Path("/usr")


class Manifest(BaseModel):
    """Lies in a ready toolchain; a folder without one is none."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: Literal["built", "adopted"]
    build_id: str
    requirements: list[str] = Field(default_factory=list)
    adopted_from: str = ""
    # Folders of the host, besides the toolchain's own, without which it doesn't run.
    needs: list[str] = Field(default_factory=list)
    # What is found in these folders is what the facts were read from; a change of theirs makes the facts stale.
    site_packages: list[str] = Field(default_factory=list)
    stamp: str = ""
    # Of what was built from a lock: the stored wheels, and the digest of all their files, bytecode included.
    packages: list[str] = Field(default_factory=list)
    lock_digest: str = ""
    files_digest: str = ""
    facts: ToolchainFacts


class Recipe(BaseModel):
    """What a name stands for, whether it is built or not."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    requirements: list[str] = Field(default_factory=list)
    # A version or a path, as asked for; empty is the interpreter that runs us.
    python: str = ""
    lock: Lock
    # The toolchain that this one adds packages to; where that one has no lock, its folders are used as they are.
    base: str = ""
    # What was found in it when it was last built.
    facts: ToolchainFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """One that is ready."""

    name: str
    folder: Path
    build_id: str
    facts: ToolchainFacts
    binds: tuple[Bind, ...]

    @property
    def python(self) -> str:
        """On the host, and inside the sandbox as well."""
        return self.facts.python

    @property
    def python_inside(self) -> str:
        """What attempts run: inside the sandbox only."""
        return f"{INSIDE}/bin/python"


class _Trouble(BaseModel):
    state: Literal["building", "failed"]
    detail: str = ""
    at: float = 0.0


class ToolchainStore:
    """Several processes may use one folder at the same time."""

    MANIFEST = "samehere-toolchain.json"

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ToolchainError(
                "A toolchain's name is made of a-z, 0-9, '.', '_', '+' and '-', at most 64, and begins with a letter or a digit."
            )
        return self.root / name

    def work_folder(self, name: str) -> Path:
        """Where a toolchain grows until it is renamed into place."""
        return self.root / ".building" / name

    def lock(self, name: str) -> HostLock:
        """One builder per name on the whole machine; others wait."""
        return HostLock(self.root / ".locks" / f"{name}.lock")

    @property
    def collecting_path(self) -> Path:
        """The lock that builders share, and whoever removes wheels holds alone."""
        return self.root / ".locks" / ".collecting"

    @contextmanager
    def noting(self, name: str) -> Iterator[None]:
        """A build's state while it lasts, and its words when it fails."""
        self.note(name, "building")
        try:
            yield
        except CancelledError:
            self.forget_note(name)
            raise
        except (ToolchainError, OSError) as error:
            self.note(name, "failed", str(error))
            raise error if isinstance(error, ToolchainError) else ToolchainError(str(error)) from error
        self.forget_note(name)

    def built(self, digest: str) -> Path | None:
        """What was built of that digest; a folder of its own each time, so that nobody who still sees an older one meets this."""
        return next(
            (path.parent for path in sorted((self.root / ".built" / digest).glob(f"*/{self.MANIFEST}"))), None
        )

    def note(self, name: str, state: Literal["building", "failed"], detail: str = "") -> None:
        path = self._trouble_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, _Trouble(state=state, detail=detail, at=time.time()).model_dump_json())

    def forget_note(self, name: str) -> None:
        self._trouble_path(name).unlink(missing_ok=True)

    def failed_at(self, name: str) -> float | None:
        """When a build of it failed, unless it was built since."""
        trouble = self._trouble(name)
        return trouble.at if trouble is not None and trouble.state == "failed" else None

    def read_recipe(self, name: str) -> Recipe | None:
        if not _NAME.fullmatch(name):
            return None
        try:
            return Recipe.model_validate_json((self.root / ".recipes" / f"{name}.json").read_bytes())
        except (OSError, ValidationError):
            return None

    def write_recipe(self, name: str, recipe: Recipe) -> None:
        folder = self.root / ".recipes"
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / f"{name}.json", recipe.model_dump_json(indent=1))

    def read_manifest(self, name: str) -> Manifest | None:
        try:
            return Manifest.model_validate_json((self.folder(name) / self.MANIFEST).read_bytes())
        except (OSError, ValidationError):
            return None

    def publish(self, name: str, manifest: Manifest) -> None:
        """Rename the finished work folder of an adopted environment into place."""
        write_manifest(self.work_folder(name), manifest)
        self.work_folder(name).rename(self.folder(name))
        self.forget_note(name)

    def point(self, name: str, built: Path) -> None:
        """Let a name lead to what was built; what it led to before is left to `prune`, since attempts may run in it."""
        fresh = self.root / ".building" / f"{name}.link-{os.getpid()}"
        fresh.parent.mkdir(parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(os.path.relpath(built, self.root))
        folder = self.folder(name)
        if folder.is_dir() and not folder.is_symlink():
            # Of an older version, without a lock.
            self._delete(folder)
        fresh.replace(folder)
        self.forget_note(name)

    def find(self, name: str) -> Toolchain | None:
        """A ready toolchain by its full name."""
        if not _NAME.fullmatch(name):
            return None
        manifest = self.read_manifest(name)
        if manifest is None:
            return None
        folder = self.folder(name)
        real = folder.resolve()
        shown = [real, *(Path(path) for path in manifest.needs)]
        binds = tuple(
            Bind(str(path), str(path)) for path in _outermost(shown) if not path.is_relative_to(_ALWAYS_SHOWN)
        )
        # At its own place too, for what names it by its path: installed commands of older ones, an interpreter that is a link.
        binds = (*binds, Bind(str(real), INSIDE))
        return Toolchain(
            name=name, folder=real, build_id=manifest.build_id, facts=self._facts(name, manifest), binds=binds
        )

    @contextmanager
    def use(self, name: str) -> Iterator[Toolchain | None]:
        """The toolchain, which is not removed until it is given back; None where there is none of that name.

        Whoever may only read the store, another user's say, can't hold it: its owner prunes when no attempts run.
        """
        found = self.find(name)
        if found is None:
            yield None
            return
        lock = self.use_lock(found.folder)
        try:
            lock.acquire()
        except OSError:
            yield found
            return
        try:
            # It may have been removed before the lock was held.
            still = self.find(name)
            if still is not None and still.folder == found.folder:
                with contextlib.suppress(OSError):
                    os.utime(self.use_path(found.folder))
                yield still
            else:
                yield None
        finally:
            lock.release()

    def use_lock(self, folder: Path, *, alone: bool = False) -> SharedLock:
        """Shared by all who use what was built; `alone` for whoever removes it."""
        return SharedLock(self.use_path(folder), alone=alone)

    def last_used(self, folder: Path) -> float:
        """When an attempt last used what was built, or when it was built."""
        times = [
            path.stat().st_mtime for path in (self.use_path(folder), folder / self.MANIFEST) if path.exists()
        ]
        return max(times, default=0.0)

    def use_path(self, folder: Path) -> Path:
        """Of the lock that attempts share; its time is that of the last use. A folder elsewhere, which a link leads to, has one, too."""
        real, root = folder.resolve(), self.root.resolve()
        inside = real.is_relative_to(root)
        name = (
            "-".join(real.relative_to(root).parts)
            if inside
            else f"elsewhere-{hashlib.sha256(bytes(real)).hexdigest()[:16]}"
        )
        return self.root / ".locks" / "use" / f"{name}.lock"

    def names(self) -> list[str]:
        """Of all that are ready or could be built."""
        ready = (
            [entry.name for entry in self.root.iterdir() if not entry.name.startswith(".")]
            if self.root.is_dir()
            else []
        )
        known = [path.stem for path in (self.root / ".recipes").glob("[a-z0-9]*.json")]
        return sorted({*ready, *known})

    def list(self) -> list[ToolchainFacts]:
        """Ready ones first, then those that were locked only, are being built or failed, each by name."""
        ready, others = {}, {}
        for name in self.names():
            found = self.find(name)
            if found is not None:
                ready[name] = found.facts
            elif (recipe := self.read_recipe(name)) is not None:
                others[name] = _locked_facts(name, recipe)
        for facts in self._list_trouble():
            if facts.name not in ready and not self._is_forgiven(facts):
                known = others.get(facts.name, facts)
                others[facts.name] = known.model_copy(update={"state": facts.state, "detail": facts.detail})
        return [*ready.values(), *(others[name] for name in sorted(others))]

    def remove(self, name: str) -> None:
        """Forget the name and its lock; what was built, and what attempts run in, is left to `prune`."""
        folder = self.folder(name)
        with self.lock(name):
            noted, known = self._trouble_path(name).exists(), self.read_recipe(name) is not None
            if not folder.exists() and not folder.is_symlink() and not noted and not known:
                raise ToolchainError(
                    f"There is no toolchain {name}; `samehere toolchain list` names those that there are."
                )
            if folder.is_symlink():
                folder.unlink()
            elif folder.exists():
                self._delete(folder)
            self.forget(name)
            shutil.rmtree(self.work_folder(name), ignore_errors=True)

    def forget(self, name: str) -> None:
        """The lock and the state of a name that leads nowhere."""
        self.forget_note(name)
        (self.root / ".recipes" / f"{name}.json").unlink(missing_ok=True)

    def _delete(self, folder: Path) -> None:
        """Out of sight first: nobody meets half of one. What an attempt still runs in stays there until `delete_removed`."""
        leaving = self.root / ".building" / f"{folder.name}{_REMOVED}{secrets.token_hex(4)}"
        leaving.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(leaving)
        self.delete_removed()

    def delete_removed(self) -> None:
        """Of those without a lock; not while an attempt uses one of that name."""
        for path in (self.root / ".building").glob(f"*{_REMOVED}*"):
            # Not by where the name leads now.
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

    def _trouble_path(self, name: str) -> Path:
        return self.root / ".state" / f"{name}.json"

    def _trouble(self, name: str) -> _Trouble | None:
        try:
            return _Trouble.model_validate(json.loads(self._trouble_path(name).read_bytes()))
        except (OSError, ValueError):
            return None

    def _list_trouble(self) -> Iterator[ToolchainFacts]:
        for path in sorted((self.root / ".state").glob("*.json")):
            trouble = self._trouble(path.stem)
            if trouble is None:
                continue
            state, detail = trouble.state, trouble.detail
            if state == "building" and self._is_abandoned(path.stem):
                state, detail = "failed", "The build was interrupted; add it again."
            yield ToolchainFacts(name=path.stem, state=state, detail=detail)

    def _is_forgiven(self, facts: ToolchainFacts) -> bool:
        """Whether packages that could not be added may be tried again: nobody asked for them but a report."""
        failed_at = self.failed_at(facts.name)
        added = split_layers(facts.name, self.names()) is not None
        return added and failed_at is not None and time.time() - failed_at >= RETRY_SECONDS

    def _is_abandoned(self, name: str) -> bool:
        lock = self.lock(name)
        try:
            free = lock.acquire()
        except OSError:
            # Another user's store.
            return False
        if not free:
            return False
        lock.release()
        return True


def _locked_facts(name: str, recipe: Recipe) -> ToolchainFacts:
    """Of one that can be built: as it was found when it was last built, else what its lock says."""
    packages = recipe.lock.versions()
    facts = recipe.facts or ToolchainFacts(
        name=name,
        state="locked",
        packages=packages,
        torch=packages.get("torch"),
        cuda_build=_cuda_of(packages),
    )
    return facts.model_copy(
        update={"name": name, "state": "locked", "python": "", "cpu_isa": [], "base": recipe.base}
    )


def _cuda_of(packages: Mapping[str, str]) -> str | None:
    """The CUDA that a torch of this lock is built for, by what it needs at run time."""
    runtime = next(
        (
            version
            for name, version in packages.items()
            if name == "cuda-toolkit" or name.startswith("nvidia-cuda-runtime")
        ),
        None,
    )
    return ".".join(runtime.split(".")[:2]) if runtime and "torch" in packages else None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace it in one step, for readers that come meanwhile."""
    _replace(folder / ToolchainStore.MANIFEST, manifest.model_dump_json(indent=1))


def _replace(path: Path, content: str) -> None:
    fresh = path.with_name(f".{path.name}.new-{os.getpid()}")
    fresh.write_text(content, encoding="utf-8")
    fresh.replace(path)


def _outermost(paths: list[Path]) -> list[Path]:
    """Each folder once, without those that lie in another."""
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda candidate: len(candidate.parts)):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return kept
