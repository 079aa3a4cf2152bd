"""Makes a virtual environment by hand: a link to the interpreter and a configuration file are all there is to one."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from worker.harness import hook_source
from worker.toolchains.errors import ToolchainError

HOOK_MODULE = "samehere_hook"
# One line, as .pth files want it; the module goes again, so that the script doesn't find it.
HOOK_PTH = f"import sys, {HOOK_MODULE}; {HOOK_MODULE}.start(); sys.modules.pop('{HOOK_MODULE}', None)\n"

# `-S` keeps the environment's own start-up files from running, `-B` from leaving bytecode.
_ASK = (
    "import json, sys; print(json.dumps([getattr(sys, '_base_executable', sys.executable), sys.base_prefix, list(sys.version_info[:3])]))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python that environments stand on."""

    executable: Path
    prefix: Path
    version: tuple[int, int, int]

    @property
    def library(self) -> str:
        return f"lib/python{self.version[0]}.{self.version[1]}"


def ask_interpreter(python: Path) -> Interpreter:
    """The base of any interpreter, a virtual environment's too."""
    command = [str(python), "-I", "-S", "-B", "-c", _ASK]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env={}, cwd="/")
        executable, prefix, version = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"{python} does not answer as a Python interpreter.") from error
    if tuple(version) < (3, 8):
        raise ToolchainError("The interpreter must be Python 3.8 or newer.")
    return Interpreter(executable=Path(executable).resolve(), prefix=Path(prefix).resolve(), version=(version[0], version[1], version[2]))


def running_interpreter() -> Interpreter:
    return ask_interpreter(Path(sys.executable))


def make_venv(folder: Path, base: Interpreter, *, system_packages: bool = False) -> Path:
    """A fresh environment with our hook in it; gives its site-packages."""
    site_packages = folder / base.library / "site-packages"
    site_packages.mkdir(parents=True)
    (folder / "lib64").symlink_to("lib")
    (folder / "include").mkdir()
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / "python").symlink_to(base.executable)
    for name in ("python3", f"python3.{base.version[1]}"):
        (binaries / name).symlink_to("python")
    version = ".".join(map(str, base.version))
    (folder / "pyvenv.cfg").write_text(
        f"home = {base.executable.parent}\ninclude-system-site-packages = {str(system_packages).lower()}\nversion = {version}\n",
        encoding="utf-8",
    )
    (site_packages / f"{HOOK_MODULE}.py").write_text(hook_source(), encoding="utf-8")
    (site_packages / f"{HOOK_MODULE}.pth").write_text(HOOK_PTH, encoding="utf-8")
    return site_packages
