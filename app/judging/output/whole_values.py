"""The elements of a printed value: of an array, a list, a series or a frame without its labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

# `dtype: float64`, `Name: a, Length: 3` below a series.
_FOOT = re.compile(r"(?:dtype|Name|Length|Freq|Categories)(?: \(.{0,40}\))?: ")
_OPTION = re.compile(r",?[ \t]{0,80}\b(?:dtype|size|shape|device|grad_fn|requires_grad)=[^,)\n]{1,60}")
_CONTAINER = re.compile(r"\b(?:array|tensor|matrix|Matrix|ImmutableMatrix|np\.float\d{2}|np\.int\d{2})\(")
_SIGNS = re.compile(r"[\[\](){},;]")
_NAN = {"<na>": "nan", "nat": "nan"}
_MOST_ELEMENTS = 20_000


def elements_of(value: str) -> list[float]:
    """The numbers of a value, its nan included; empty if it holds anything else."""
    lines = [line for line in value.split("\n") if line.strip() and not _FOOT.match(line.strip())]
    if not lines:
        return []
    is_bare = "[" in value or "(" in value or len(lines) == 1
    text = _CONTAINER.sub(" ", _OPTION.sub("", "\n".join(lines))) if is_bare else _without_labels(lines)
    words = _SIGNS.sub(" ", text).split()
    if len(words) > _MOST_ELEMENTS:
        return []
    try:
        return [float(_NAN.get(word.lower(), word)) for word in words]
    except ValueError:
        return []


def _without_labels(lines: Sequence[str]) -> str:
    """The cells of a table without its indented head and the label of each row; empty if it is no table."""
    rows = [line.split() for line in (lines[1:] if lines[0][:1].isspace() else lines)]
    lengths = {len(row) for row in rows}
    return "\n".join(" ".join(row[1:]) for row in rows) if len(lengths) == 1 and min(lengths) > 1 else ""
