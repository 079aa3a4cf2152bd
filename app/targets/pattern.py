"""Patterns of targets to add or exclude cells: `cuda@*:deterministic`, `cpu:*`, `*@torch-2.1`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.errors import InputError
from app.targets.fleet import is_meant
from app.targets.parse import check_target
from app.targets.target import Target
from worker.contract import Device
from worker.contract.names import SETTINGS

ANY = "*"
FORM = (
    "(DEVICE or *)[*GPUS][/CAPABILITY][@TOOLCHAIN or @*][:SETTING=VALUE,…], "
    "where a value may be * and :* is any setting; "
    "for example cuda@torch-2.13:deterministic, cpu:*, *@torch-2.1"
)
_PATTERN = re.compile(
    r"(?P<device>[a-z]+|\*)(?:\*(?P<gpus>\d{1,2}))?(?:/(?P<capability>[A-Za-z0-9.]{1,16}))?"
    r"(?:@(?P<toolchain>\*|[A-Za-z0-9][A-Za-z0-9._+-]{0,99}))?(?::(?P<settings>.{1,500}))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern of targets.

    In an exclusion, a part that is not named matches anything. In an inclusion, it means each device, the
    newest toolchain and no setting.
    """

    device: Device | None = None
    gpus: int = 0
    capability: str | None = None
    toolchain: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    # `:*`: at least one setting.
    any_setting: bool = False

    def fits(self, target: Target) -> bool:
        """Whether the pattern matches the target. An empty pattern matches none."""
        if self == Pattern():
            return False
        return (
            self.device in (None, target.device)
            and self.gpus in (0, target.gpus)
            and self.capability in (None, target.capability)
            and (self.toolchain == ANY or is_meant(target.toolchain, self.toolchain))
            and (not self.any_setting or bool(target.settings))
            and all(
                name in target.settings and value in (ANY, target.settings[name])
                for name, value in self.settings
            )
        )

    def label(self) -> str:
        """The text of the pattern."""
        device = (
            (self.device or ANY)
            + (f"*{self.gpus}" if self.gpus else "")
            + (f"/{self.capability}" if self.capability else "")
        )
        settings = [f"{name}={value}" for name, value in self.settings] + ([ANY] if self.any_setting else [])
        return (
            device
            + (f"@{self.toolchain}" if self.toolchain else "")
            + (f":{','.join(settings)}" if settings else "")
        )

    def targets(
        self, devices: Sequence[Device], toolchains: Callable[[Device], Sequence[str]]
    ) -> Iterator[Target]:
        """The targets that an inclusion adds. `toolchains` gives the toolchains of a device."""
        for device in devices if self.device is None else (self.device,):
            for toolchain in toolchains(device) if self.toolchain == ANY else (self.toolchain,):
                yield check_target(
                    Target(
                        device=device,
                        gpus=self.gpus,
                        capability=self.capability,
                        toolchain=toolchain,
                        settings=dict(self.settings),
                    )
                )


def parse_exclusion(text: str) -> Pattern:
    """Read an exclusion. Raises InputError, which shows the form."""
    pattern = _parse(text, field="exclude")
    if pattern == Pattern():
        raise InputError(
            f"The exclude {text.strip()} would exclude every cell.", code="bad_pattern", field="exclude"
        )
    return pattern


def parse_inclusion(text: str) -> Pattern:
    """Read an inclusion. Raises InputError, which shows the form."""
    pattern = _parse(text, field="include")
    if pattern.any_setting or any(value == ANY for _, value in pattern.settings):
        raise InputError(
            "In an include, each setting needs a value: * may only stand for a device or a toolchain.",
            code="bad_pattern",
            field="include",
        )
    return pattern


def _parse(text: str, *, field: str) -> Pattern:
    match = _PATTERN.fullmatch(text.strip())
    if match is None or match["device"] not in (ANY, *Device):
        raise InputError(
            f"This {field} is not a pattern of targets. A pattern is {FORM}.", code="bad_pattern", field=field
        )
    device = None if match["device"] == ANY else Device(match["device"])
    words = [part.strip() for part in (match["settings"] or "").split(",") if match["settings"]]
    settings = dict(_setting(word, device, field) for word in words if word != ANY)
    pattern = Pattern(
        device=device,
        gpus=int(match["gpus"] or 0),
        capability=match["capability"],
        toolchain=match["toolchain"] or "",
        settings=tuple(sorted(settings.items())),
        any_setting=ANY in words,
    )
    # A pattern follows the rules of a target. For example, a cpu has no cards.
    whole = Target(device=device or Device.CUDA, gpus=min(pattern.gpus, 16), capability=pattern.capability)
    _check(whole, field)
    return pattern


def _setting(word: str, device: Device | None, field: str) -> tuple[str, str]:
    """The name and the value in canonical spelling; `*` is any value."""
    name, _, value = word.partition("=")
    if value == ANY:
        _check_setting(name, field)
        return name, ANY
    target = _check(Target(device=device or Device.CPU, settings={name: value}), field)
    return next(iter(target.settings.items()))


def _check_setting(name: str, field: str) -> None:
    if name not in SETTINGS:
        raise InputError(
            f"There is no such setting. The settings are: {', '.join(SETTINGS)}.",
            code="unknown_setting",
            field=field,
        )


def _check(target: Target, field: str) -> Target:
    try:
        return check_target(target)
    except InputError as error:
        raise InputError(error.message, code=error.code, field=field) from error
