"""Options and interrupts of commands that run scripts on this machine."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal

from pydantic import ValidationError

from app.command.files.source import STDIN
from app.command.terminal.consoles import errors
from app.errors import InputError, SetupError
from app.settings import ServiceSettings
from worker.contract import Level, Limits

MIB = 1024 * 1024
_BOUNDS = {
    "wall_seconds": ("--wall", "more than 0 and at most 600 seconds"),
    "memory_bytes": ("--memory", "at least 64 MiB"),
}
_WARNINGS = {
    Level.LANDLOCK: (
        "landlock+seccomp isolates less, and some scripts fail in it that would not fail elsewhere; "
        "see docs/security.md."
    ),
    Level.LIMITS_ONLY: (
        "limits-only does not isolate: the script can read, change and send whatever its user can."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOptions:
    """Options that a service decides for itself. None takes the default of this machine."""

    isolation: Literal["landlock+seccomp", "limits-only"] | None = None
    wall_seconds: float | None = None
    memory_mib: int | None = None


def check_machine_options(options: MachineOptions, *, file: str, server: str | None, command: str) -> None:
    """Raises InputError for options that do not fit, SetupError if scripts can't run on this machine."""
    if server is not None:
        values = {
            "--isolation": options.isolation,
            "--wall": options.wall_seconds,
            "--memory": options.memory_mib,
        }
        for option, value in values.items():
            if value is not None:
                raise InputError(
                    f"{option} is for runs on this machine; the server has its own.",
                    code="not_on_server",
                    field=option,
                )
    elif sys.platform != "linux":
        raise SetupError(
            f"Scripts run on Linux only. Elsewhere: samehere {command} --server URL, and samehere read.",
            code="not_linux",
        )
    if options.isolation is not None and file == STDIN:
        raise InputError(
            f"--isolation {options.isolation} is for a file of your own that you name; "
            "standard input may be anyone's.",
            code="isolation_needs_file",
            field="--isolation",
        )


def named_level(options: MachineOptions) -> Level | None:
    """The isolation level that was named, after a warning about its weakness; None if none was named."""
    if options.isolation is None:
        return None
    level = Level(options.isolation)
    errors().print(f"Warning: {_WARNINGS[level]}", style="bold yellow", highlight=False)
    return level


def attempt_limits(options: MachineOptions, settings: ServiceSettings) -> Limits:
    """The limits of an attempt: of the options, else of the settings. Raises InputError."""
    fields: dict[str, Any] = {}
    if options.wall_seconds is not None:
        fields["wall_seconds"] = options.wall_seconds
    if options.memory_mib is not None:
        fields["memory_bytes"] = options.memory_mib * MIB
    try:
        return Limits.model_validate(settings.limits.model_dump() | fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        option, bounds = _BOUNDS.get(name, (name, first["msg"]))
        raise InputError(f"{option}: {bounds}.", code="bad_limit", field=option) from error


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does, so that a run leaves nothing behind."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _signals() -> list[signal.Signals]:
    return [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
