"""Chooses the wheels, once: by pip, which knows the operator's indexes, folders, constraints and credentials. Nothing is installed."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import ValidationError

from worker.toolchains.errors import ToolchainError
from worker.toolchains.limits import Budget
from worker.toolchains.locking import pip_alone
from worker.toolchains.locking.lock import Lock, LockedPackage, name_of_file
from worker.toolchains.venv import Interpreter

# Wheels only: the build system of a source distribution would be strangers' code. See also `pip_alone`.
OF_WHEELS = ("--only-binary=:all:", "--no-input", "--progress-bar=off", "--disable-pip-version-check")
_INDEX_OPTIONS = ("index-url", "extra-index-url", "find-links")


def pip_for(python: Path) -> list[str]:
    """The words that start our pip for that interpreter, which needs none of its own. Raise ToolchainError."""
    found = importlib.util.find_spec("pip")
    if found is None or found.origin is None:
        raise ToolchainError(
            "pip, which chooses wheels, is not installed here: pip install 'samehere[node]'."
        )
    program = Path(pip_alone.__file__).read_text(encoding="utf-8")
    return [str(python), "-I", "-B", "-c", program, str(Path(found.origin).with_name("__pip-runner__.py"))]


def check_requirements(requirements: Sequence[str]) -> tuple[str, ...]:
    """The same, each once, in one order. Raise ToolchainError for what is no package, or could run code of its own."""
    if not requirements:
        raise ToolchainError("Name at least one requirement, such as torch==2.13.0.")
    if any(requirement.lstrip().startswith("-") for requirement in requirements):
        raise ToolchainError("Requirements are packages, not options of pip.")
    return tuple(sorted({_checked(requirement.strip()) for requirement in requirements}))


def _checked(requirement: str) -> str:
    if requirement.endswith(".whl") and Path(requirement).is_file():
        return str(Path(requirement).resolve())
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement as error:
        raise ToolchainError(
            f"This is neither a requirement nor the file of a wheel: {requirement[:200]!r}"
        ) from error
    if parsed.url is not None and not parsed.url.partition("#")[0].endswith(".whl"):
        raise ToolchainError(
            f"Only wheels are installed, and this is the address of something else: {requirement[:200]!r}"
        )
    return requirement


def resolve(
    requirements: Sequence[str],
    base: Interpreter,
    budget: Budget,
    *,
    pinned: Mapping[str, str] | None = None,
    known: Lock | None = None,
) -> Lock:
    """The lock of these requirements on this interpreter, with the pinned versions left as they are. Raise ToolchainError in pip's words.

    The wheels of a lock that is known are taken from it where the same version is chosen.
    """
    wanted = check_requirements(requirements)
    with ThreadPoolExecutor(max_workers=1) as beside:
        indexes = beside.submit(_indexes, budget)
        answer = _ask_pip(wanted, base, budget, pinned or {})
    same = {(package.name, package.version): package for package in (known.packages if known else ())}
    try:
        chosen = [_package(item) for item in json.loads(answer)["install"]]
        return Lock(
            python=base.release,
            implementation=base.implementation,
            platform=base.platform,
            requirements=wanted,
            indexes=indexes.result(),
            packages=tuple(same.get((package.name, package.version), package) for package in chosen),
        )
    except (ValueError, KeyError, TypeError, SyntaxError, ValidationError) as error:
        raise ToolchainError("pip chose something that is no wheel with a hash.") from error


def _ask_pip(wanted: Sequence[str], base: Interpreter, budget: Budget, pinned: Mapping[str, str]) -> str:
    """Its report, as JSON."""
    with tempfile.TemporaryDirectory(prefix="samehere-resolve-") as folder:
        constraints = Path(folder, "constraints.txt")
        constraints.write_text(
            "".join(f"{name}=={version}\n" for name, version in pinned.items()), encoding="utf-8"
        )
        command = [*pip_for(base.executable), "install", "--dry-run", "--ignore-installed", "--quiet"]
        return budget.run(
            [*command, *OF_WHEELS, "--report=-", "--constraint", str(constraints), "--", *wanted]
        )


def _package(item: Mapping[str, Mapping[str, object]]) -> LockedPackage:
    download = item["download_info"]
    archive, url = download["archive_info"], str(download["url"])
    if not isinstance(archive, dict):
        raise TypeError("no archive")
    return LockedPackage(
        name=str(item["metadata"]["name"]),
        version=str(item["metadata"]["version"]),
        file=name_of_file(url),
        sha256=archive["hashes"]["sha256"],
        url=url,
    )


def _indexes(budget: Budget) -> tuple[str, ...]:
    """What pip was told of indexes and folders, by its files and variables; empty where it was told nothing."""
    said = budget.run([sys.executable, "-m", "pip", "config", "list", "--disable-pip-version-check"])
    found = []
    for line in said.splitlines():
        option, _, value = line.partition("=")
        if option.rpartition(".")[2] in _INDEX_OPTIONS:
            found += [
                f"{option.rpartition('.')[2]} {_without_credentials(each)}"
                for each in str(ast.literal_eval(value)).split()
            ]
    return tuple(dict.fromkeys(found))


def _without_credentials(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else url
