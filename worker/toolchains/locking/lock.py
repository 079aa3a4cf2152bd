"""The lock of a toolchain: version, file and hash of each wheel.

Reads and writes it as a standard `pylock.toml`.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import tomli_w
from packaging.pylock import Package, PackageWheel, Pylock, PylockValidationError
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from worker.contract.versions import parse_version
from worker.toolchains.errors import ToolchainError
from worker.toolchains.venv import Interpreter

_CREATOR = "samehere"
_SCHEMES = {"file", "https", "http"}


class LockedPackage(BaseModel):
    """One wheel. The hash identifies it; the address is where it was found."""

    model_config = ConfigDict(frozen=True)

    name: str
    version: str
    file: str
    sha256: str
    url: str

    @field_validator("name")
    @classmethod
    def _one_spelling(cls, name: str) -> str:
        return canonicalize_name(name)

    @field_validator("version")
    @classmethod
    def _is_version(cls, version: str) -> str:
        parsed = parse_version(version)
        if parsed is None:
            raise ValueError("this is not a version")
        return str(parsed)

    @field_validator("file")
    @classmethod
    def _is_wheel(cls, file: str) -> str:
        try:
            parse_wheel_filename(file)
        except InvalidWheelFilename as error:
            raise ValueError("this is not a wheel's file name") from error
        if "/" in file or "\0" in file:
            raise ValueError("this is not a wheel's file name")
        return file

    @field_validator("sha256")
    @classmethod
    def _is_digest(cls, digest: str) -> str:
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise ValueError("this is not a SHA-256 in hex")
        return digest

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in _SCHEMES or any(
            ord(character) <= 32 or ord(character) == 127 for character in url
        ):
            raise ValueError("this is not a wheel's address")
        # Without credentials: a lock may be given to others, who have their own.
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


class Lock(BaseModel):
    """All wheels of a toolchain, sorted by name, and the kind of Python that they were chosen for."""

    model_config = ConfigDict(frozen=True)

    python: str
    implementation: str
    platform: str
    requirements: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    packages: tuple[LockedPackage, ...]

    @field_validator("packages")
    @classmethod
    def _each_once(cls, packages: tuple[LockedPackage, ...]) -> tuple[LockedPackage, ...]:
        if len({package.name for package in packages}) < len(packages):
            raise ValueError("a package is named twice")
        return tuple(sorted(packages, key=lambda package: package.name))

    @property
    def digest(self) -> str:
        """The SHA-256 (hex) of the wheels and the kind of Python; not of addresses and requirements."""
        wheels = [[package.name, package.version, package.sha256] for package in self.packages]
        content = json.dumps([self.implementation, self.platform, self.minor, wheels])
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def minor(self) -> str:
        """The version of Python that the wheels are for, such as "3.11"."""
        return _minor(self.python)

    def versions(self) -> dict[str, str]:
        """The version of each package by its name."""
        return {package.name: package.version for package in self.packages}

    def check_fits(self, base: Interpreter) -> None:
        """Raise ToolchainError if the interpreter is of another kind, which needs other wheels."""
        kind = (self.implementation, self.platform, self.minor)
        if (base.implementation, base.platform, _minor(base.release)) != kind:
            raise ToolchainError(
                f"The lock is for {self.implementation} {self.minor} on {self.platform}; "
                f"{base.executable} is {base.implementation} {_minor(base.release)} on {base.platform}."
            )


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def name_of_file(url: str) -> str:
    """The file name at the end of an address."""
    return unquote(urlsplit(url).path).rpartition("/")[2]


def write_lock(lock: Lock) -> str:
    """The lock as the text of a `pylock.toml` (PEP 751), which pip and uv can read."""
    packages = [
        Package(
            name=canonicalize_name(package.name),
            version=Version(package.version),
            wheels=[PackageWheel(name=package.file, url=package.url, hashes={"sha256": package.sha256})],
        )
        for package in lock.packages
    ]
    ours = {
        "python": lock.python,
        "implementation": lock.implementation,
        "platform": lock.platform,
        "requirements": list(lock.requirements),
        "indexes": list(lock.indexes),
    }
    document = Pylock(
        lock_version=Version("1.0"), created_by=_CREATOR, packages=packages, tool={_CREATOR: ours}
    )
    text: str = tomli_w.dumps(_plain(document.to_dict()))
    return text


def _plain(value: Any) -> Any:
    """The value with only the types that TOML has."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def read_lock(text: str) -> Lock:
    """The lock in the text of a `pylock.toml`. Raises ToolchainError if it is not one of ours."""
    try:
        document = Pylock.from_dict(tomllib.loads(text))
        ours = (document.tool or {}).get(_CREATOR)
        if not isinstance(ours, Mapping):
            raise ToolchainError(
                "The lock does not name its Python: create it with samehere toolchain lock NAME."
            )
        return Lock.model_validate({**ours, "packages": [_package(each) for each in document.packages]})
    except (tomllib.TOMLDecodeError, PylockValidationError, ValidationError) as error:
        first = (
            str(error).splitlines()[0][:200]
            if not isinstance(error, ValidationError)
            else error.errors()[0]["msg"]
        )
        raise ToolchainError(f"This is not a lock: {first}") from error


def _package(package: Package) -> dict[str, str]:
    wheel = package.wheels[0] if package.wheels else None
    if wheel is None or wheel.url is None or package.version is None:
        raise ToolchainError(f"The lock names no wheel with an address for {package.name}.")
    return {
        "name": package.name,
        "version": str(package.version),
        "file": wheel.name or name_of_file(wheel.url),
        "sha256": str(wheel.hashes.get("sha256", "")),
        "url": wheel.url,
    }
