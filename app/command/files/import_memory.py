"""The memory of an import, in a file beside the issues, so that the next import reports only the news."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from app.errors import InputError

MOST_BYTES = 64 * 1024 * 1024


class SubmittedIssue(BaseModel):
    """An issue that was submitted, with its report and the verdict that was reported last."""

    report: str
    verdict: str | None = None
    # Another key with the same address is the same issue with another text.
    url: str = ""


class ServiceMemory(BaseModel):
    """The issues submitted to one service, by key, and the id of the newest change that was seen."""

    issues: dict[str, SubmittedIssue] = Field(default_factory=dict)
    change: str = ""


class ImportMemory(BaseModel):
    """The whole file: a memory for each service, by its address."""

    servers: dict[str, ServiceMemory] = Field(default_factory=dict)


def read_memory(path: Path) -> ImportMemory:
    """The memory in the file; an empty one if there is no file. Raises InputError for any other file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(
                f"{str(path)!a} is too large for the memory of an import; name another file with --told.",
                field="told",
            )
        return ImportMemory.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return ImportMemory()
    except (OSError, ValidationError) as error:
        raise InputError(
            f"{str(path)!a} was not written by an earlier import; name another file with --told.",
            code="bad_told",
            field="told",
        ) from error


def write_memory(path: Path, memory: ImportMemory) -> None:
    """Write the whole file or nothing. Raises InputError."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
        ) as file:
            file.write(memory.model_dump_json(indent=1))
        Path(file.name).replace(path)
    except OSError as error:
        raise InputError(
            f"{str(path)!a} can't be written: {error.strerror}; name another file with --told.", field="told"
        ) from error
