"""Versions in texts that come from elsewhere."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from worker.contract.bounds import MOST_NAME

NO_VERSION = Version("0")


def parse_version(text: object) -> Version | None:
    """The version that a text names; None if it names none. It never raises, whatever the text is."""
    if not isinstance(text, str) or len(text) > MOST_NAME:
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


def parse_release(text: object) -> Version:
    """The release of the version in a text, without local parts, and with 0 if it names no version."""
    version = parse_version(text)
    return NO_VERSION if version is None else Version(version.base_version)
