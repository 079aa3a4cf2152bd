"""Finds interpreters, and creates virtual environments: links, a config file and empty folders."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from worker.harness import hook_source
from worker.toolchains.errors import ToolchainError

HOOK_MODULE = "samehere_hook"
# One line, as a .pth file needs it. It removes the module again, so that the script doesn't find it.
HOOK_PTH = f"import sys, {HOOK_MODULE}; {HOOK_MODULE}.start(); sys.modules.pop('{HOOK_MODULE}', None)\n"

# Prints facts about the interpreter. `-S` skips the
# environment's start-up files, and `-B` avoids writing bytecode.
_PROGRAM = (
    "import json, sys, sysconfig;"
    " executable = getattr(sys, '_base_executable', sys.executable);"
    " facts = [executable, sys.base_prefix, list(sys.version_info[:3])];"
    " print(json.dumps([*facts, sys.implementation.name, sysconfig.get_platform()]))"
)
# `worker.harness` and what else runs in a toolchain's Python is written for it.
OLDEST = (3, 8)
_ANY_VERSION = re.compile(r"\d{1,3}\.\d{1,3}(?:\.\d{1,3})?")
_VERSION = re.compile(r"3\.\d{1,2}(?:\.\d{1,2})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python on which environments are based."""

    executable: Path
    prefix: Path
    version: tuple[int, int, int]
    implementation: str = "cpython"
    platform: str = ""

    @property
    def release(self) -> str:
        """The full version, such as "3.11.7"."""
        return ".".join(map(str, self.version))

    @property
    def library(self) -> str:
        """The relative path of its library, such as "lib/python3.11"."""
        return f"lib/python{self.version[0]}.{self.version[1]}"


def ask_interpreter(python: Path) -> Interpreter:
    """The interpreter on which this one is based; itself if it is in no virtual environment.

    Raises ToolchainError.
    """
    command = [str(python), "-I", "-S", "-B", "-c", _PROGRAM]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=True, env={}, cwd="/"
        )
        executable, prefix, version, implementation, platform = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        _refuse_old(python, _version_of(python))
        raise ToolchainError(
            f"{python} does not work as a Python interpreter. "
            "Name one by its path, or by a version that is on PATH or that pyenv or uv has installed."
        ) from error
    _refuse_old(python, ".".join(map(str, version)))
    return Interpreter(
        executable=Path(executable).resolve(),
        prefix=Path(prefix).resolve(),
        version=(version[0], version[1], version[2]),
        implementation=implementation,
        platform=platform,
    )


def _version_of(python: Path) -> str:
    """The version that an interpreter names, even if it is too old for our options; "" if it names none."""
    try:
        answer = subprocess.run(
            [str(python), "--version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={},
            cwd="/",
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    # Python 2 writes it to stderr.
    match = re.search(r"^Python (\d{1,3}\.\d{1,3}\.\d{1,3})", answer.stdout or answer.stderr)
    return match[1] if match else ""


def _refuse_old(python: Path | None, version: str) -> None:
    """Raise ToolchainError if this version is older than the programs that watch an attempt."""
    if version and tuple(map(int, version.split("."))) < OLDEST:
        subject = f"{python} is Python {version}." if python else f"Python {version} is too old."
        raise ToolchainError(
            f"{subject} A toolchain needs Python {OLDEST[0]}.{OLDEST[1]} or newer: "
            "the programs that watch an attempt run in it."
        )


def find_interpreter(name: str | Path | None) -> Interpreter:
    """Find an interpreter by its path or by a version such as `3.11`; None is our own.

    Raises ToolchainError.
    """
    if name is None:
        return ask_interpreter(Path(sys.executable))
    if _ANY_VERSION.fullmatch(str(name)):
        _refuse_old(None, str(name))
    if not _VERSION.fullmatch(str(name)):
        return ask_interpreter(Path(name).absolute() if os.sep in str(name) else Path(name))
    parts = tuple(map(int, str(name).split(".")))
    tried: set[Path] = set()
    for candidate in _candidates(parts):
        # Do not resolve links: the link in a virtual environment leads to another interpreter.
        if candidate in tried or not os.access(candidate, os.X_OK):
            continue
        tried.add(candidate)
        try:
            interpreter = ask_interpreter(candidate)
        except ToolchainError:
            # For example, pyenv's stub for a version that is not active.
            continue
        if interpreter.version[: len(parts)] == parts:
            return interpreter
    raise ToolchainError(
        f"There is no Python {name} on this machine. Name an interpreter by --python /path/to/python."
    )


def _candidates(parts: tuple[int, ...]) -> Iterator[Path]:
    """Yield our own interpreter, those on PATH, and those of pyenv and uv."""
    minor = f"{parts[0]}.{parts[1]}"
    yield Path(sys.executable)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder, f"python{minor}")
            yield Path(folder, "python3")
    homes = (
        (Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions"), f"{minor}*"),
        (
            Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or Path.home() / ".local/share/uv/python"),
            f"cpython-{minor}*",
        ),
    )
    for home, pattern in homes:
        yield from sorted(home.glob(f"{pattern}/bin/python{minor}"), reverse=True)


def make_venv(folder: Path, base: Interpreter, *, system_packages: bool = False) -> Path:
    """Create an empty environment. Returns its site-packages folder."""
    site_packages = folder / base.library / "site-packages"
    site_packages.mkdir(parents=True)
    (folder / "lib64").symlink_to("lib")
    (folder / "include").mkdir()
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / "python").symlink_to(base.executable)
    for name in ("python3", f"python3.{base.version[1]}"):
        (binaries / name).symlink_to("python")
    # `relocatable` is for uv: the commands that it installs then find their interpreter in their own folder.
    (folder / "pyvenv.cfg").write_text(
        f"home = {base.executable.parent}\ninclude-system-site-packages = {str(system_packages).lower()}\n"
        f"version = {base.release}\nrelocatable = true\n",
        encoding="utf-8",
    )
    return site_packages


def add_hook(site_packages: Path) -> None:
    """Write the files that start the harness in an attempt, before the script."""
    (site_packages / f"{HOOK_MODULE}.py").write_text(hook_source(), encoding="utf-8")
    (site_packages / f"{HOOK_MODULE}.pth").write_text(HOOK_PTH, encoding="utf-8")
