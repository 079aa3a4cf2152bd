"""The files that describe a toolchain: its manifest, its recipe and the state of its build."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from worker.contract import ToolchainFacts
from worker.toolchains.locking.lock import Lock

MANIFEST_NAME = "samehere-toolchain.json"
# Several names may lead to one build, so it has none of its own. Older versions stored an empty name, which
# is no name any more.
NAME_OF_BUILDS = "build"


def _name_build(facts: Any) -> Any:
    return {**facts, "name": NAME_OF_BUILDS} if isinstance(facts, dict) and not facts.get("name") else facts


BuildFacts = Annotated[ToolchainFacts, BeforeValidator(_name_build)]


class Manifest(BaseModel):
    """Describes a ready toolchain, in its folder. A folder without one is no toolchain."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: Literal["built", "adopted"]
    build_id: str
    requirements: list[str] = Field(default_factory=list)
    adopted_from: str = ""
    # Folders of the host, besides the toolchain's own, that it needs to run.
    needs: list[str] = Field(default_factory=list)
    # The folders that the facts were read from, and their stamp: with another stamp, the facts are stale.
    site_packages: list[str] = Field(default_factory=list)
    stamp: str = ""
    # Only if it was built from a lock: keys of the stored
    # wheels, and the digest of all their files with bytecode.
    packages: list[str] = Field(default_factory=list)
    lock_digest: str = ""
    files_digest: str = ""
    facts: BuildFacts


class Recipe(BaseModel):
    """How to build the toolchain of a name, whether it is built or not."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    requirements: list[str] = Field(default_factory=list)
    # A version or a path, as the user gave it; empty for the interpreter of the node.
    python: str = ""
    lock: Lock
    # The toolchain to which this one adds packages. If that
    # one has no lock, its folders are used as they are.
    base: str = ""
    # The facts that its last build had.
    facts: BuildFacts | None = None

    def locked_facts(self, name: str) -> ToolchainFacts:
        """The facts while it is not built: those of its last build, else those that follow from the lock."""
        packages = self.lock.versions()
        facts = self.facts or ToolchainFacts(
            name=name,
            state="locked",
            packages=packages,
            torch=packages.get("torch"),
            cuda_build=_cuda_of(packages),
        )
        return facts.model_copy(
            update={"name": name, "state": "locked", "python": "", "cpu_isa": [], "base": self.base}
        )


class BuildState(BaseModel):
    """A build that runs or has failed; `at` is in seconds since the epoch."""

    state: Literal["building", "failed"]
    detail: str = ""
    at: float = 0.0


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it in one step: a reader gets the old or the new one."""
    write_atomically(folder / MANIFEST_NAME, manifest.model_dump_json(indent=1))


def write_atomically(path: Path, content: str) -> None:
    """Replace a file in one step."""
    new_path = path.with_name(f".{path.name}.new-{os.getpid()}")
    new_path.write_text(content, encoding="utf-8")
    new_path.replace(path)


def _cuda_of(packages: Mapping[str, str]) -> str | None:
    """The version of CUDA that the torch among these packages is built for, by its runtime libraries."""
    runtime = next(
        (
            version
            for name, version in packages.items()
            if name == "cuda-toolkit" or name.startswith("nvidia-cuda-runtime")
        ),
        None,
    )
    return ".".join(runtime.split(".")[:2]) if runtime and "torch" in packages else None
