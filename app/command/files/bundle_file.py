"""Bundles as files. A bundle is written whole or not at all, and read up to a limit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from app.command.files.source import display_name, read_bytes
from app.errors import InputError, TooLargeError

_FIELD = "--bundle"
CONTENTS_NOTE = "The bundle holds the text of the report and the output of the script."


def check_writable(name: str) -> None:
    """Raises InputError if no file can be written there. Called before anything is run."""
    path = Path(name)
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(
            f"{display_name(name)} can't be written: give a file in an existing folder.",
            code="unwritable_file",
            field=_FIELD,
        )


def write_bundle(name: str, bundle: dict[str, Any]) -> None:
    """Write the bundle as JSON. Raises InputError."""
    temporary = Path(f"{name}.{os.getpid()}.new")
    try:
        temporary.write_text(
            json.dumps(bundle, indent=1, ensure_ascii=True, allow_nan=False) + "\n", encoding="ascii"
        )
        temporary.replace(name)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(
            f"{display_name(name)} can't be written: {error.strerror}.", code="unwritable_file", field=_FIELD
        ) from error


def read_file(name: str, *, most_bytes: int) -> bytes:
    """The bytes of a bundle, or of standard input for `-`. Raises InputError or TooLargeError."""
    data = read_bytes(name, most_bytes)
    if len(data) > most_bytes:
        raise TooLargeError(f"{display_name(name)} is larger than {most_bytes} bytes.", field="file")
    return data
