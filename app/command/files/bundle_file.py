"""Bundles as files: written whole or not at all, read with a limit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from app.command.files.source import STDIN, read_bytes
from app.errors import InputError, TooLargeError

_FIELD = "--bundle"
HOLDS = "The bundle holds the text of the report and what the script printed."


def check_writable(name: str) -> None:
    """Before anything is run: whether a file can be made there. Raises InputError."""
    path = Path(name)
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(
            f"{ascii(name)[1:-1]} can't be written: give a file in a folder that is there.",
            code="unwritable_file",
            field=_FIELD,
        )


def write_bundle(name: str, bundle: dict[str, Any]) -> None:
    """Write it. Raises InputError."""
    fresh = Path(f"{name}.{os.getpid()}.new")
    try:
        fresh.write_text(
            json.dumps(bundle, indent=1, ensure_ascii=True, allow_nan=False) + "\n", encoding="ascii"
        )
        fresh.replace(name)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise InputError(
            f"{ascii(name)[1:-1]} can't be written: {error.strerror}.", code="unwritable_file", field=_FIELD
        ) from error


def read_file(name: str, *, most_bytes: int) -> bytes:
    """The bytes of a bundle, or of standard input for `-`. Raises InputError."""
    data = read_bytes(name, most_bytes)
    if len(data) > most_bytes:
        shown = "Standard input" if name == STDIN else ascii(name)[1:-1]
        raise TooLargeError(f"{shown} is larger than {most_bytes} bytes.", field="file")
    return data
