"""Removes private values from an environment: paths of users, identities of cards, the host's name."""

from __future__ import annotations

import platform
from functools import cache

from worker.contract import Environment
from worker.harness.scrub import is_private

_MAX_KEYS = 5000
_MAX_TEXT = 1000


def scrub(environment: Environment) -> Environment:
    """Remove fields that look private, or that are too long. Sorts by name.

    The probe asks for no private values, but packages and drivers may report some.
    """
    clean: Environment = {}
    for name, value in list(environment.items())[:_MAX_KEYS]:
        texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
        if any(is_private(text) or len(text) > _MAX_TEXT for text in [name, *texts]):
            continue
        if any(host and host in text for text in texts for host in [_host_name()]):
            continue
        clean[name] = value
    return dict(sorted(clean.items()))


@cache
def _host_name() -> str:
    """The host's name. Empty if it is short or common, since ordinary words could contain it."""
    name = platform.node()
    return name if len(name) > 5 and name not in {"localhost", "sandbox"} else ""
