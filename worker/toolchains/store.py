"""The folder of toolchains: which there are, in what state, and what a sandbox must be shown for one."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worker.contract import ToolchainFacts
from worker.locks import HostLock
from worker.machine import read_cpu
from worker.sandbox.job import Bind
from worker.target_settings import effective_cpu_isa
from worker.toolchains.errors import ToolchainError

_NAME = re.compile(r"[a-z0-9][a-z0-9._+-]{0,63}")
_MANIFEST = "samehere-toolchain.json"
# Where the one that an attempt runs in is shown besides: tracebacks of its packages name this, and not a folder of the operator's.
INSIDE = "/opt/samehere"
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
    facts: ToolchainFacts


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


class ToolchainStore:
    """Several processes may use one folder at the same time."""

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

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """One builder per name on the whole machine; others wait."""
        with HostLock(self.root / ".locks" / f"{name}.lock"):
            yield

    def note(self, name: str, state: Literal["building", "failed"], detail: str = "") -> None:
        path = self._trouble_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_Trouble(state=state, detail=detail).model_dump_json(), encoding="utf-8")

    def forget_note(self, name: str) -> None:
        self._trouble_path(name).unlink(missing_ok=True)

    def read_manifest(self, name: str) -> Manifest | None:
        try:
            return Manifest.model_validate_json((self.folder(name) / _MANIFEST).read_bytes())
        except (OSError, ValidationError):
            return None

    def publish(self, name: str, manifest: Manifest) -> None:
        """Rename a finished work folder into place."""
        write_manifest(self.work_folder(name), manifest)
        self.work_folder(name).rename(self.folder(name))
        self.forget_note(name)

    def find(self, name: str) -> Toolchain | None:
        """A ready toolchain by its full name."""
        if not _NAME.fullmatch(name):
            return None
        manifest = self.read_manifest(name)
        if manifest is None:
            return None
        folder = self.folder(name)
        shown = [folder, *(Path(path) for path in manifest.needs)]
        binds = tuple(Bind(str(path), str(path)) for path in _outermost(shown) if not path.is_relative_to(_ALWAYS_SHOWN))
        # At its own place too, for what names it by its path: installed commands, an interpreter that is a link.
        binds = (*binds, Bind(str(folder), INSIDE))
        return Toolchain(name=name, folder=folder, build_id=manifest.build_id, facts=self._facts(name, manifest), binds=binds)

    def list(self) -> list[ToolchainFacts]:
        """Ready ones first, then those that are being built or failed, each by name."""
        ready = {}
        if self.root.is_dir():
            for entry in sorted(self.root.iterdir()):
                found = None if entry.name.startswith(".") else self.find(entry.name)
                if found is not None:
                    ready[entry.name] = found.facts
        trouble = [facts for facts in self._list_trouble() if facts.name not in ready]
        return [*ready.values(), *trouble]

    def remove(self, name: str) -> None:
        folder = self.folder(name)
        with self.exclusive(name):
            noted = self._trouble_path(name).exists()
            if not folder.exists() and not noted:
                raise ToolchainError(f"There is no toolchain {name}.")
            self.forget_note(name)
            # Out of sight first: nobody meets half of one.
            if folder.exists():
                leaving = self.root / ".building" / f"{name}.removed-{os.getpid()}"
                leaving.parent.mkdir(parents=True, exist_ok=True)
                folder.rename(leaving)
                shutil.rmtree(leaving)
            shutil.rmtree(self.work_folder(name), ignore_errors=True)

    def _facts(self, name: str, manifest: Manifest) -> ToolchainFacts:
        cpu = read_cpu()
        isa = effective_cpu_isa(mkl=manifest.facts.mkl, vendor=cpu.vendor, flags=cpu.flags)
        return manifest.facts.model_copy(update={"name": name, "python": str(self.folder(name) / "bin" / "python"), "cpu_isa": isa})

    def _trouble_path(self, name: str) -> Path:
        return self.root / ".state" / f"{name}.json"

    def _list_trouble(self) -> Iterator[ToolchainFacts]:
        for path in sorted((self.root / ".state").glob("*.json")):
            try:
                trouble = _Trouble.model_validate(json.loads(path.read_bytes()))
            except (OSError, ValueError):
                continue
            state, detail = trouble.state, trouble.detail
            if state == "building" and self._is_abandoned(path.stem):
                state, detail = "failed", "The build was interrupted; add it again."
            yield ToolchainFacts(name=path.stem, state=state, detail=detail)

    def _is_abandoned(self, name: str) -> bool:
        lock = HostLock(self.root / ".locks" / f"{name}.lock")
        if not lock.acquire():
            return False
        lock.release()
        return True


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace it in one step, for readers that come meanwhile."""
    fresh = folder / f"{_MANIFEST}.new"
    fresh.write_text(manifest.model_dump_json(indent=1), encoding="utf-8")
    fresh.replace(folder / _MANIFEST)


def _outermost(paths: list[Path]) -> list[Path]:
    """Each folder once, without those that lie in another."""
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda candidate: len(candidate.parts)):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return kept
