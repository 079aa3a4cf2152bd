"""Reads all presets: the built-in ones, and the operator's from the file that SAMEHERE_PRESETS names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from app.errors import InputError, SetupError
from app.settings import ServiceSettings
from app.targets.planning.presets import PRESETS, Preset
from app.targets.planning.site_presets import presets_in

MOST_BYTES = 256 * 1024


def known_presets(settings: ServiceSettings) -> Mapping[str, Preset]:
    """All presets, the built-in ones first. Reads a changed file again.

    Raises SetupError if it can't be used.
    """
    if settings.presets is None:
        return PRESETS
    try:
        facts = settings.presets.stat()
        return _all(settings.presets, facts.st_mtime_ns, facts.st_size)
    except OSError as error:
        raise SetupError(
            f"SAMEHERE_PRESETS: the file can't be read: {error.strerror}.", code="bad_presets"
        ) from error


@lru_cache(maxsize=8)
def _all(path: Path, _changed: int, size: int) -> Mapping[str, Preset]:
    if size > MOST_BYTES:
        raise SetupError(f"SAMEHERE_PRESETS: the file is larger than {MOST_BYTES} bytes.", code="bad_presets")
    try:
        return {**PRESETS, **presets_in(path.read_text("utf-8"))}
    except UnicodeDecodeError as error:
        raise SetupError("SAMEHERE_PRESETS: the file is not valid UTF-8.", code="bad_presets") from error
    except InputError as error:
        raise SetupError(f"SAMEHERE_PRESETS: {error.message}.", code="bad_presets") from error
