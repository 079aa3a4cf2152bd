"""The two sides of a difference within one attempt: lines that name the CPU or the GPU, eager or compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.judging.output import Token, contains, equal_tokens, tokens_of
from app.targets.target import Target
from worker.contract import Device

_WORDS = {
    "cpu": r"cpu",
    "cuda": r"cuda|gpu",
    "eager": r"eager",
    "compiled": r"compiled?|inductor|dynamo",
}
# A word of its own, or a part of a name joined by underscores: `res_cpu`, `cuda:0`, `CPU_out`.
_NAMED = {side: re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])(?::\d+)?", re.IGNORECASE) for side, words in _WORDS.items()}
# How torch itself tells a tensor on the GPU from one on the CPU.
_ON_GPU = re.compile(r"\bdevice='cuda(?::\d+)?'")
_TENSOR = re.compile(r"\s*tensor\(")


def side_of(line: str, sides: Sequence[str]) -> str | None:
    """The one side that a line names; None when it names none or both."""
    named = [side for side in sides if side in _NAMED and _NAMED[side].search(line)]
    return named[0] if len(named) == 1 else None


def without_name(line: str, side: str) -> list[Token]:
    """What the line says besides the side's name."""
    name = _NAMED.get(side)
    return tokens_of(line if name is None else name.sub(" ", line))


def lines_of_sides(stdout: str, sides: Sequence[str]) -> dict[str, list[str]]:
    """The lines that each side printed, in order. A label alone on its line stands before the lines up to the next label."""
    found: dict[str, list[str]] = {side: [] for side in sides}
    heading: str | None = None
    for line in stdout.splitlines():
        side = side_of(line, sides)
        if side is not None:
            heading = side if _is_heading(line, side) else None
            found[side].append(line)
        elif heading is not None and line.strip():
            found[heading].append(line)
    if set(sides) == {"cpu", "cuda"} and not all(found.values()):
        tensors = [line for line in stdout.splitlines() if _TENSOR.match(line)]
        on_gpu = [line for line in tensors if _ON_GPU.search(line)]
        on_cpu = [line for line in tensors if not _ON_GPU.search(line)]
        if on_cpu and on_gpu:
            return {side: on_gpu if side == "cuda" else on_cpu for side in sides}
    return found


def _is_heading(line: str, side: str) -> bool:
    """Whether the line has no value of its own: `CPU result:`."""
    return line.rstrip().endswith(":") or not without_name(line, side)


def sides_agree(found: Mapping[str, Sequence[str]]) -> bool:
    """Whether all sides printed the same besides their names."""
    said = [[without_name(line, side) for line in lines] for side, lines in found.items()]
    first = said[0]
    return all(len(other) == len(first) and all(map(equal_tokens, first, other)) for other in said[1:])


def side_says(lines: Sequence[str], side: str, claimed: str) -> bool:
    """Whether the lines of this side say what is claimed of it."""
    wanted = without_name(claimed, side)
    said = [without_name(line, side) for line in lines]
    return any(contains(line, wanted) for line in said) or contains([token for line in said for token in line], wanted)


def lacks_a_side(sides: Sequence[str], target: Target) -> bool:
    """Whether a side needs a device that the target does not grant; what it printed then is no evidence."""
    return "cuda" in sides and target.device is not Device.CUDA
