"""Checks the variables that an operator sets in every attempt. They must not be secrets.

The sandbox clears the variables of the node, but some machines need variables of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from worker.contract import Environment
from worker.machine.scrub import scrub

MOST = 32
MOST_CHARACTERS = 200
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
# The sandbox or the settings of a target set these, or they could change which program runs.
_RESERVED = re.compile(
    r"(?:PATH|HOME|USER|LOGNAME|LANG|TMPDIR|LC_.*|LD_.*|PYTHON.*|SAMEHERE_.*|BASH_.*|ENV|IFS|SHELL)"
)
# Parts of names that suggest a secret. Every script can read the variables, and every result shows them.
_SECRET = frozenset({"AUTH", "CERT", "COOKIE", "KEY", "KEYS", "PASS", "PASSWD", "PRIVATE", "PWD"})
_SECRET_WITHIN = ("APIKEY", "CREDENTIAL", "PASSPHRASE", "PASSWORD", "SECRET", "TOKEN")


def check(variables: Mapping[str, str]) -> dict[str, str]:
    """A copy of the variables. Raises ValueError, with a message for the operator, if one may not be set."""
    if len(variables) > MOST:
        raise ValueError(f"at most {MOST} variables")
    for name, value in variables.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name[:64]!r} is no name: A-Z, 0-9 and _, at most 64, beginning with a letter")
        if _RESERVED.fullmatch(name):
            raise ValueError(f"{name} is set by the sandbox or by a target, or decides which program runs")
        if _SECRET & set(name.split("_")) or any(word in name for word in _SECRET_WITHIN):
            raise ValueError(
                f"{name} looks like a secret: every script could read it, and every result would show it"
            )
        if not value.isprintable() or len(value) > MOST_CHARACTERS:
            raise ValueError(
                f"the value of {name} must be printable, and at most {MOST_CHARACTERS} characters"
            )
        if not environment_fields({name: value}):
            raise ValueError(
                f"the value of {name} looks like a path or an identity of this machine, "
                "which no result may hold"
            )
    return dict(variables)


def environment_fields(variables: Mapping[str, str]) -> Environment:
    """The variables as fields of an environment. Other variables make another environment."""
    return scrub({f"variable.{name}": value for name, value in variables.items()})
