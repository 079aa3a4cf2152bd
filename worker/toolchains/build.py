"""Builds a toolchain from wheels: no code of a package runs while it is built."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from worker.toolchains import inspect
from worker.toolchains.errors import ToolchainError
from worker.toolchains.store import Manifest, ToolchainStore
from worker.toolchains.venv import ask_interpreter, make_venv, running_interpreter

_SHOWN_LINES = 40


def add(store: ToolchainStore, name: str, *, requirements: Sequence[str], python: Path | None = None) -> Manifest:
    """Build one unless it is there already with the same requirements; raise ToolchainError in the resolver's words."""
    if not requirements:
        raise ToolchainError("Name at least one requirement, such as torch==2.13.0.")
    if any(requirement.startswith("-") for requirement in requirements):
        raise ToolchainError("Requirements are packages, not options of pip.")
    store.folder(name)
    wanted = sorted(set(requirements))
    with store.exclusive(name):
        existing = store.read_manifest(name)
        if existing is not None:
            if existing.requirements == wanted:
                return existing
            raise ToolchainError(f"There is a toolchain {name} with other requirements; remove it first or choose another name.")
        store.note(name, "building")
        try:
            return _build(store, name, wanted, python=python)
        except ToolchainError as error:
            store.note(name, "failed", str(error))
            raise
        finally:
            shutil.rmtree(store.work_folder(name), ignore_errors=True)


def _build(store: ToolchainStore, name: str, requirements: list[str], *, python: Path | None) -> Manifest:
    base = ask_interpreter(python) if python else running_interpreter()
    folder = store.work_folder(name)
    shutil.rmtree(folder, ignore_errors=True)
    site_packages = make_venv(folder, base)
    _install(folder / "bin" / "python", requirements)
    _point_scripts_home(folder / "bin", was=folder, now=store.folder(name))
    _compile(folder, final=store.folder(name))
    manifest = Manifest(
        kind="built",
        build_id=secrets.token_hex(8),
        requirements=requirements,
        needs=[str(base.prefix)],
        site_packages=[str(store.folder(name) / site_packages.relative_to(folder))],
        facts=inspect.read_facts(name, [site_packages], detail=f"Python {'.'.join(map(str, base.version))}"),
    )
    store.publish(name, manifest)
    return manifest


def _install(python: Path, requirements: list[str]) -> None:
    """By the pip of the interpreter that runs us, into an environment that has none."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--only-binary=:all:",
        "--no-compile",
        "--no-input",
        "--progress-bar=off",
    ]
    done = subprocess.run([*command, *requirements], capture_output=True, text=True, check=False, errors="replace")
    if done.returncode:
        words = [line for line in (done.stderr or done.stdout).splitlines() if line.strip() and not line.startswith("WARNING")]
        raise ToolchainError("\n".join(words[-_SHOWN_LINES:]) or "pip failed without a word.")


def _compile(folder: Path, *, final: Path) -> None:
    """Bytecode for all modules, since the sandbox shows them read-only; files that this Python can't compile stay as they are."""
    jobs = str(min(8, os.cpu_count() or 1))
    command = [str(folder / "bin" / "python"), "-I", "-S", "-m", "compileall", "-q", "-q", "-j", jobs, "-s", str(folder), "-p", str(final)]
    subprocess.run(
        [*command, "--invalidation-mode", "unchecked-hash", str(folder / "lib")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )


def _point_scripts_home(binaries: Path, *, was: Path, now: Path) -> None:
    """Installed commands name their interpreter by the folder in which they were built."""
    for path in binaries.iterdir():
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if content.startswith(b"#!") and str(was).encode() in content:
            path.write_bytes(content.replace(str(was).encode(), str(now).encode()))
