"""The facts that a node stores about its cards: the last check that passed, and the answers of models."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

_answers: TypeAdapter[dict[str, dict[str, str]]] = TypeAdapter(dict[str, dict[str, str]])


class PassRecord(BaseModel):
    """The last check that passed, on disk. `tells` is `CardWatch._tells`."""

    sound_at: float
    boot: str
    tells: bool


def read_answers(path: Path) -> dict[str, dict[str, str]]:
    """The known answers in a file. Empty if it can't be read."""
    try:
        return _answers.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return {}


def boot_id() -> str:
    """The id of this start of the machine. Empty if it can't be read."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
