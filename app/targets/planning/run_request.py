"""The request for a run: which cells it covers, and how often each of them runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.targets.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The cells of a run. Without a preset and without targets, the default preset is meant.

    `repeats` is an exact number of attempts for each cell; None lets it adapt. `include` and `exclude` are
    patterns.
    """

    preset: str | None = None
    targets: tuple[Target, ...] | None = None
    repeats: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def cells_as_data(self) -> dict[str, Any]:
        """The fields above as JSON data, to be hashed for an idempotency key.

        Patterns came later than the other fields. They are left out where there are none, so that older keys
        match.
        """
        targets = (
            None if self.targets is None else [target.model_dump(mode="json") for target in self.targets]
        )
        data: dict[str, Any] = {"preset": self.preset, "targets": targets, "repeats": self.repeats}
        if self.include:
            data["include"] = list(self.include)
        if self.exclude:
            data["exclude"] = list(self.exclude)
        return data
