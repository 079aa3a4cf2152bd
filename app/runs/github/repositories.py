"""The repositories in which the App acts, from the file that SAMEHERE_GITHUB_REPOSITORIES names."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from app.errors import SetupError
from app.settings import ServiceSettings
from worker.contract.names import TOOLCHAIN_NAME

MOST_BYTES = 256 * 1024
# GitHub's own rules for names of owners and repositories.
REPOSITORY = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100}$"
SHA_CHARACTERS = 12
_Label = Annotated[str, StringConstraints(min_length=1, max_length=50)]
_Preset = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]

# GitHub's roles, each with what the ones before it may do.
ROLES = ("read", "triage", "write", "maintain", "admin")


class Repository(BaseModel):
    """How the App acts in one repository."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # The presets that may be asked for; the first one is taken if none is.
    presets: tuple[_Preset, ...] = Field(default=("quick",), min_length=1, max_length=20)
    # The label that starts a run.
    label: _Label = "samehere"
    # With one of these, the App does nothing.
    banned: tuple[_Label, ...] = Field(default=("agents-banned",), max_length=20)
    # The least role of those who may start a run.
    role: Literal["triage", "write", "maintain", "admin"] = "triage"
    # Where the two sides of a pull request run, and their toolchains. Without these there are no checks.
    device: Literal["cpu", "cuda"] = "cpu"
    base: str | None = Field(default=None, max_length=64)
    head: str | None = Field(default=None, max_length=64)

    def allows(self, role: str) -> bool:
        """Whether somebody with this role may start a run."""
        return role in ROLES and ROLES.index(role) >= ROLES.index(self.role)

    def bans(self, labels: Collection[str]) -> bool:
        """Whether one of these labels, in small letters, keeps the App away."""
        return any(label.lower() in labels for label in self.banned)

    @property
    def checks(self) -> bool:
        """Whether pull requests get a check."""
        return self.base is not None and self.head is not None

    def sides(self, sha: str) -> tuple[str, str]:
        """The toolchains of the base and of the head of a pull request with this head commit."""
        base, head = ((name or "").replace("{sha}", sha[:SHA_CHARACTERS]) for name in (self.base, self.head))
        return base, head


def repositories(settings: ServiceSettings) -> Mapping[str, Repository]:
    """The repositories by their names in small letters. Reads a changed file again. Raises SetupError."""
    path = settings.github_repositories
    if path is None:
        return {}
    try:
        facts = path.stat()
        return _read(path, facts.st_mtime_ns, facts.st_size)
    except OSError as error:
        raise _error(f"the file can't be read: {error.strerror}") from error


@lru_cache(maxsize=8)
def _read(path: Path, _changed: int, size: int) -> Mapping[str, Repository]:
    if size > MOST_BYTES:
        raise _error(f"the file is larger than {MOST_BYTES} bytes")
    try:
        return repositories_in(path.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise _error("the file is not valid UTF-8") from error


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    repositories: dict[Annotated[str, StringConstraints(pattern=REPOSITORY)], Repository]


def repositories_in(text: str) -> Mapping[str, Repository]:
    """The repositories of a file's text. Raises SetupError, which says what is wrong."""
    try:
        file = _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise _error(f"this is no TOML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise _error(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    for name, repository in file.repositories.items():
        _check_toolchains(name, repository)
    return {name.lower(): repository for name, repository in file.repositories.items()}


def _check_toolchains(name: str, repository: Repository) -> None:
    if (repository.base is None) != (repository.head is None):
        raise _error(f"{name}: `base` and `head` belong together")
    if repository.base is None or repository.head is None:
        return
    base, head = repository.sides("0" * SHA_CHARACTERS)
    if TOOLCHAIN_NAME.fullmatch(base) is None:
        raise _error(f"{name}: `base` is no name of a toolchain")
    # Without the commit in its name, a build of an older commit would pass for this one.
    if "{sha}" not in repository.head or TOOLCHAIN_NAME.fullmatch(head) is None:
        raise _error(f"{name}: `head` is a name of toolchains with {{sha}} in it, such as pr-{{sha}}")
    if base == head:
        raise _error(f"{name}: `base` and `head` are one toolchain")


def _error(message: str) -> SetupError:
    return SetupError(f"SAMEHERE_GITHUB_REPOSITORIES: {message}.", code="bad_repositories")
