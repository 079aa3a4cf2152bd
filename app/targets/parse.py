"""Parser of targets as text, `cuda@torch-2.13:cpu-isa=sse4.2,threads=1`, and as JSON, with all checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from app.errors import InputError
from app.targets.target import Target
from worker.contract import Device
from worker.contract.names import SETTINGS, TOOLCHAIN_NAME

FORM = (
    "DEVICE[*GPUS][/CAPABILITY][@TOOLCHAIN][:SETTING=VALUE,…], "
    "for example cuda@torch-2.13:cpu-isa=sse4.2,threads=1"
)
_TARGET = re.compile(
    r"(?P<device>[a-z]+)(?:\*(?P<gpus>\d{1,3}))?(?:/(?P<capability>[A-Za-z0-9.]{1,16}))?"
    rf"(?:@(?P<toolchain>{TOOLCHAIN_NAME.pattern}))?(?::(?P<settings>.*))?"
)
_CAPABILITY = re.compile(r"sm\d{2,3}[a-z]?")
_NUMBERS = {"threads": (1, 1024), "seed": (0, 2**63 - 1)}
_FLAG_WORDS = {"", "true", "on", "1", "yes"}


def parse_target(text: str) -> Target:
    """Read a target from text. Raises InputError, which names the valid values."""
    match = _TARGET.fullmatch(text.strip())
    if match is None:
        raise InputError(f"This is not a target. A target is {FORM}.", code="bad_target", field="target")
    settings: dict[str, str] = {}
    for part in (match["settings"] or "").split(",") if match["settings"] else []:
        key, _, value = part.strip().partition("=")
        if key in settings:
            raise InputError("A target names a setting twice.", code="bad_target", field="target")
        settings[key] = value
    return make_target(
        {
            "device": match["device"],
            "gpus": int(match["gpus"] or 0),
            "capability": match["capability"],
            "toolchain": match["toolchain"] or "",
            "settings": settings,
        }
    )


def make_target(fields: Mapping[str, Any]) -> Target:
    """Make a checked target from the fields of a JSON object.

    Raises InputError, which names the valid values.
    """
    devices = ", ".join(Device)
    if fields.get("device", "cpu") not in list(Device):
        raise InputError(
            f"There is no such device. The devices are: {devices}.", code="unknown_device", field="device"
        )
    settings = fields.get("settings") or {}
    if not isinstance(settings, Mapping):
        raise InputError("settings is an object of names and values.", code="bad_target", field="settings")
    try:
        target = Target.model_validate(
            {**fields, "settings": {str(key): _word(value) for key, value in settings.items()}}
        )
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise InputError(
            f"This is not a target: {where}: {error.errors()[0]['msg']}.", code="bad_target", field=where
        ) from error
    return check_target(target)


def check_target(target: Target) -> Target:
    """The target with its settings in canonical spelling. Raises InputError for unknown or invalid values."""
    if target.device is Device.CPU and (target.gpus or target.capability):
        raise InputError("A cpu target has no GPU.", code="bad_target", field="gpus")
    if target.capability is not None and not _CAPABILITY.fullmatch(target.capability):
        raise InputError("A capability is written like sm90.", code="bad_target", field="capability")
    if target.toolchain and not TOOLCHAIN_NAME.fullmatch(target.toolchain):
        raise InputError(
            "A toolchain's name has only letters, digits and . _ + -", code="bad_target", field="toolchain"
        )
    settings = {key: _value(key, target.settings[key]) for key in sorted(target.settings)}
    gpus = max(1, target.gpus) if target.device is Device.CUDA else 0
    return target.model_copy(update={"settings": settings, "gpus": gpus})


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else str(value)


def _value(key: str, value: str) -> str:
    if key not in SETTINGS:
        raise InputError(
            f"There is no such setting. The settings are: {', '.join(SETTINGS)}.",
            code="unknown_setting",
            field="settings",
        )
    allowed = SETTINGS[key]
    if allowed is None:
        lowest, highest = _NUMBERS[key]
        if not re.fullmatch(r"[0-9]{1,19}", value) or not lowest <= int(value) <= highest:
            raise InputError(
                f"{key} is a whole number from {lowest} to {highest}.", code="bad_setting", field="settings"
            )
        return str(int(value))
    word = value.lower()
    if allowed == ("on",) and word in _FLAG_WORDS:
        return "on"
    if word not in allowed:
        raise InputError(f"{key} is one of: {', '.join(allowed)}.", code="bad_setting", field="settings")
    return word
