"""Chooses wheels with pip, which knows the operator's indexes, folders and credentials. Installs nothing."""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import ValidationError

from worker.contract.own_process import python_command
from worker.toolchains.errors import ToolchainError
from worker.toolchains.limits import Budget
from worker.toolchains.locking.lock import Lock, LockedPackage, name_of_file
from worker.toolchains.locking.pip_command import ONLY_WHEELS, pip_for
from worker.toolchains.venv import Interpreter

_INDEX_OPTIONS = ("index-url", "extra-index-url", "find-links")


def check_requirements(requirements: Sequence[str]) -> tuple[str, ...]:
    """The requirements, sorted and each once.

    Raises ToolchainError for one that is no package or might run code.
    """
    if not requirements:
        raise ToolchainError("Name at least one requirement, such as torch==2.13.0.")
    if any(requirement.lstrip().startswith("-") for requirement in requirements):
        raise ToolchainError("Requirements must be packages, not options of pip.")
    return tuple(sorted({_check(requirement.strip()) for requirement in requirements}))


def _check(requirement: str) -> str:
    if requirement.endswith(".whl") and Path(requirement).is_file():
        return str(Path(requirement).resolve())
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement as error:
        raise ToolchainError(
            f"This is neither a requirement nor a wheel's file: {requirement[:200]!r}"
        ) from error
    if parsed.url is not None and not parsed.url.partition("#")[0].endswith(".whl"):
        raise ToolchainError(
            f"Only wheels can be installed, and this is not the address of one: {requirement[:200]!r}"
        )
    return requirement


def resolve(
    requirements: Sequence[str],
    base: Interpreter,
    budget: Budget,
    *,
    root: Path,
    pinned: Mapping[str, str] | None = None,
    known: Lock | None = None,
) -> Lock:
    """The lock of these requirements for this interpreter. Raises ToolchainError with pip's message.

    `root`: the folder of toolchains. `pinned`: versions of packages that must not change. `known`: a lock
    whose wheels are used if pip chooses the same version.
    """
    required = check_requirements(requirements)
    with ThreadPoolExecutor(max_workers=1) as executor:
        indexes = executor.submit(_indexes, budget)
        answer = _ask_pip(required, base, root, budget, pinned or {})
    same = {(package.name, package.version): package for package in (known.packages if known else ())}
    try:
        chosen = [_package(item) for item in json.loads(answer)["install"]]
        return Lock(
            python=base.release,
            implementation=base.implementation,
            platform=base.platform,
            requirements=required,
            indexes=indexes.result(),
            packages=tuple(same.get((package.name, package.version), package) for package in chosen),
        )
    except (ValueError, KeyError, TypeError, SyntaxError, ValidationError) as error:
        raise ToolchainError("pip chose something that is not a wheel with a hash.") from error


def _ask_pip(
    required: Sequence[str], base: Interpreter, root: Path, budget: Budget, pinned: Mapping[str, str]
) -> str:
    """The installation report of pip, as JSON text."""
    with tempfile.TemporaryDirectory(prefix="samehere-resolve-") as folder:
        constraints = Path(folder, "constraints.txt")
        constraints.write_text(
            "".join(f"{name}=={version}\n" for name, version in pinned.items()), encoding="utf-8"
        )
        command = [*pip_for(base, root, budget), "install", "--dry-run", "--ignore-installed", "--quiet"]
        return budget.run(
            [*command, *ONLY_WHEELS, "--report=-", "--constraint", str(constraints), "--", *required]
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
    """The indexes and folders in pip's configuration, as OPTION ADDRESS, without credentials."""
    output = budget.run(python_command("-m", "pip", "config", "list", "--disable-pip-version-check"))
    indexes = []
    for line in output.splitlines():
        option, _, value = line.partition("=")
        if option.rpartition(".")[2] in _INDEX_OPTIONS:
            indexes += [
                f"{option.rpartition('.')[2]} {_without_credentials(each)}"
                for each in str(ast.literal_eval(value)).split()
            ]
    return tuple(dict.fromkeys(indexes))


def _without_credentials(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else url
