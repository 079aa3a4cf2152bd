"""The command that starts pip in a toolchain's Python, which needs no pip itself.

It is our own pip, or an older one for a Python that ours does not support.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import tempfile
import zipfile
from pathlib import Path

from packaging.specifiers import SpecifierSet

from worker.contract.own_process import python_command
from worker.toolchains.errors import ToolchainError
from worker.toolchains.limits import Budget
from worker.toolchains.locking import pip_alone
from worker.toolchains.venv import Interpreter

# Only wheels: the build system of a source distribution would be untrusted code. See also `pip_alone`.
ONLY_WHEELS = ("--only-binary=:all:", "--no-input", "--progress-bar=off", "--disable-pip-version-check")
# The last pip for Python 3.8. The hash is that of its wheel: pip runs outside the sandbox.
OLD_PIP = "25.0.1"
OLD_PIP_SHA256 = "c46efd13b6aa8279f33f2864459c8ce587ea6a1a59ee20de055868d8f7688f7f"
_RUNNER = "__pip-runner__.py"


def pip_for(base: Interpreter, root: Path, budget: Budget) -> list[str]:
    """The command that starts pip in that interpreter.

    `root`: the folder of toolchains, where the older pip is kept. Raises ToolchainError.
    """
    runner = _own_runner() if _own_pip_supports(base) else _old_runner(base, root, budget)
    program = Path(pip_alone.__file__).read_text(encoding="utf-8")
    return [str(base.executable), "-I", "-B", "-c", program, str(runner)]


def _own_runner() -> Path:
    spec = importlib.util.find_spec("pip")
    if spec is None or spec.origin is None:
        raise ToolchainError("pip, which chooses wheels, is not installed: run pip install 'samehere[node]'.")
    return Path(spec.origin).with_name(_RUNNER)


def _own_pip_supports(base: Interpreter) -> bool:
    try:
        required = importlib.metadata.metadata("pip")["Requires-Python"]
    except (importlib.metadata.PackageNotFoundError, KeyError):
        return True
    return not required or SpecifierSet(str(required)).contains(base.release)


def _old_runner(base: Interpreter, root: Path, budget: Budget) -> Path:
    """Fetch the older pip from the operator's indexes, unless that is done."""
    folder = root / ".pip" / OLD_PIP
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetched-", dir=folder.parent) as name:
            work = Path(name)
            wheel = _fetch_old_pip(base, work, budget)
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(work / "unpacked")
            # Fails if another build was faster: its folder holds the same.
            with contextlib.suppress(OSError):
                (work / "unpacked").rename(folder)
    return folder / "pip" / _RUNNER


def _fetch_old_pip(base: Interpreter, work: Path, budget: Budget) -> Path:
    requirements = work / "requirements.txt"
    requirements.write_text(f"pip=={OLD_PIP} --hash=sha256:{OLD_PIP_SHA256}\n", encoding="utf-8")
    command = python_command(
        "-m", "pip", "download", "--quiet", *ONLY_WHEELS, "--no-deps", "--require-hashes"
    )
    try:
        budget.run([*command, f"--dest={work}", f"--requirement={requirements}"], measured_folder=work)
    except ToolchainError as error:
        raise ToolchainError(
            f"Wheels for Python {base.release} are chosen by pip {OLD_PIP}, since the installed pip does not "
            f"support it. That one can't be fetched:\n{error}"
        ) from error
    return next(work.glob("*.whl"))
