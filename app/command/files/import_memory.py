"""What an import has told already, in a file beside the issues, so that the next one tells only what is new."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from app.errors import InputError

MOST_BYTES = 64 * 1024 * 1024


class ToldIssue(BaseModel):
    """An issue that was submitted, and the verdict that was told of it."""

    report: str
    verdict: str | None = None
    # Its address: another key with the same one is the issue with another text.
    url: str = ""


class Told(BaseModel):
    """By service and key. `change` is the newest change that was looked at."""

    issues: dict[str, ToldIssue] = Field(default_factory=dict)
    change: str = ""


class ToldFile(BaseModel):
    """The file: what was told of each service."""

    servers: dict[str, Told] = Field(default_factory=dict)


def read_told(path: Path) -> ToldFile:
    """What the file holds; nothing where there is none. Raises InputError for a file of something else."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(
                f"{str(path)!a} is too large for what it should be; name another with --told.", field="told"
            )
        return ToldFile.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return ToldFile()
    except (OSError, ValidationError) as error:
        raise InputError(
            f"{str(path)!a} is not what an earlier import has written; name another with --told.",
            code="bad_told",
            field="told",
        ) from error


def write_told(path: Path, told: ToldFile) -> None:
    """Write it whole or not at all. Raises InputError."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
        ) as file:
            file.write(told.model_dump_json(indent=1))
        Path(file.name).replace(path)
    except OSError as error:
        raise InputError(
            f"{str(path)!a} can't be written: {error.strerror}; name another with --told.", field="told"
        ) from error
