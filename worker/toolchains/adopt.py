"""Makes a toolchain from an existing environment, such as a GPU machine's own torch, without changing it."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from worker.toolchains import inspect
from worker.toolchains.errors import ToolchainError
from worker.toolchains.records import Manifest, write_manifest
from worker.toolchains.store import ToolchainStore
from worker.toolchains.venv import Interpreter, add_hook, ask_interpreter, make_venv

ADOPTED_PTH = "samehere_adopted.pth"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Environment:
    prefix: Path
    site_packages: list[Path]
    system_packages: bool


def adopt(store: ToolchainStore, name: str, *, python: Path) -> Manifest:
    """Create a thin environment on the same interpreter, with the adopted packages on its path.

    If the name already stands for this environment, only its facts are refreshed. Raises ToolchainError.
    """
    store.folder(name)
    if not python.is_absolute():
        python = Path.cwd() / python
    if not python.exists():
        raise ToolchainError(f"{python} does not exist.")
    with store.lock(name):
        existing = store.read_manifest(name)
        if existing is not None:
            if existing.adopted_from == str(python):
                return refresh(store, name, existing)
            raise ToolchainError(
                f"A toolchain {name} already exists. Remove it first or choose another name."
            )
        try:
            return _adopt(store, name, python)
        finally:
            shutil.rmtree(store.work_folder(name), ignore_errors=True)


def refresh(store: ToolchainStore, name: str, manifest: Manifest) -> Manifest:
    """Read the facts again if the packages of the adopted environment have changed.

    Returns the current manifest.
    """
    folders = [Path(path) for path in manifest.site_packages]
    stamp = inspect.stamp(folders)
    if manifest.kind != "adopted" or stamp == manifest.stamp:
        return manifest
    updated = manifest.model_copy(
        update={
            "facts": inspect.read_facts(name, folders, detail=manifest.facts.detail),
            "stamp": stamp,
            "build_id": secrets.token_hex(8),
        }
    )
    write_manifest(store.folder(name), updated)
    return updated


def _adopt(store: ToolchainStore, name: str, python: Path) -> Manifest:
    base = ask_interpreter(python)
    adopted = _look_at(python, base)
    folder = store.work_folder(name)
    shutil.rmtree(folder, ignore_errors=True)
    own = make_venv(folder, base, system_packages=adopted.system_packages)
    add_hook(own)
    # Only the paths: the code in the environment's own .pth files does not run.
    in_venv = (
        [path for path in adopted.site_packages if not path.is_relative_to(base.prefix)]
        if adopted.prefix != base.prefix
        else []
    )
    if in_venv:
        (own / ADOPTED_PTH).write_text("".join(f"{path}\n" for path in in_venv), encoding="utf-8")
    manifest = Manifest(
        kind="adopted",
        build_id=secrets.token_hex(8),
        adopted_from=str(python),
        needs=[str(base.prefix), str(adopted.prefix)],
        site_packages=[str(path) for path in adopted.site_packages],
        stamp=inspect.stamp(adopted.site_packages),
        facts=inspect.read_facts(
            name, adopted.site_packages, detail=f"Python {'.'.join(map(str, base.version))}, adopted"
        ),
    )
    store.publish(name, manifest)
    return manifest


def adopted_paths(folder: Path, own: Path) -> tuple[list[str], bool]:
    """The paths that a thin environment adds, and whether it includes its interpreter's own packages."""
    try:
        paths = (own / ADOPTED_PTH).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        paths = []
    config = _read_config(folder / "pyvenv.cfg") or {}
    return paths, config.get("include-system-site-packages") == "true"


def _look_at(python: Path, base: Interpreter) -> _Environment:
    """Find the folders of its packages: by its config if it is a virtual environment, else in its prefix."""
    prefix = python.parent.parent
    config = _read_config(prefix / "pyvenv.cfg")
    system = [
        path
        for path in (
            base.prefix / base.library / "site-packages",
            Path("/usr/local") / base.library / "dist-packages",
            base.prefix / "lib/python3/dist-packages",
        )
        if path.is_dir() and (path.is_relative_to(base.prefix) or base.prefix == Path("/usr"))
    ]
    if config is None:
        return _Environment(prefix=base.prefix, site_packages=system, system_packages=True)
    own = prefix / base.library / "site-packages"
    if not own.is_dir():
        raise ToolchainError(f"{prefix} is a virtual environment without {base.library}/site-packages.")
    with_system = config.get("include-system-site-packages", "false").lower() == "true"
    return _Environment(
        prefix=prefix, site_packages=[own, *(system if with_system else [])], system_packages=with_system
    )


def _read_config(path: Path) -> dict[str, str] | None:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    return {key.strip().lower(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
