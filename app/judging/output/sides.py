"""The two sides of a difference within one attempt: lines that name the CPU or the GPU, eager or compiled, one dtype or the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from app.judging.output.printed_lines import Token, contains, equal_tokens, tokens_of
from app.targets.target import Target
from worker.contract import Device

_WORDS = {
    "cpu": r"cpu",
    "cuda": r"cuda|gpu",
    "eager": r"eager",
    "compiled": r"compiled?|inductor|dynamo",
    "mps": r"mps|metal",
    "float16": r"(?:torch\.|np\.|numpy\.)?float16|fp16|f16|half",
    "bfloat16": r"(?:torch\.)?bfloat16|bf16",
    "float32": r"(?:torch\.|np\.|numpy\.)?float32|fp32|f32|single",
    "float64": r"(?:torch\.|np\.|numpy\.)?float64|fp64|f64|double",
    "numpy": r"numpy|np",
    "torch": r"(?:py)?torch",
}
_MOST_NAMES = 512
_PLAIN_TENSOR = re.compile(r"\s*tensor\((?!.*dtype=)")


@lru_cache(maxsize=_MOST_NAMES)
def _pattern(words: str) -> re.Pattern[str]:
    """A word of its own, or a part of a name joined by underscores: `res_cpu`, `cuda:0`, `CPU_out`."""
    return re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])(?::\d+)?", re.IGNORECASE)


def name_of(side: str, sides: Sequence[str]) -> re.Pattern[str]:
    """How a line names a side. `torch.sort` is also `sort`, or `torch`, where the other side is not."""
    if side in _WORDS:
        return _pattern(_WORDS[side])
    parts, others = side.split("."), [other.split(".") for other in sides if other and other != side]
    words = [re.escape(side)]
    if len(parts) > 1 and all(parts[-1] != other[-1] for other in others):
        words.append(re.escape(parts[-1]))
    elif len(parts) > 1 and all(parts[0] != other[0] for other in others):
        words.append(_WORDS.get("numpy" if parts[0] == "np" else parts[0], re.escape(parts[0])))
    return _pattern("|".join(words))


# How torch itself tells a tensor on the GPU from one on the CPU.
_ON_GPU = re.compile(r"\bdevice='cuda(?::\d+)?'")
_TENSOR = re.compile(r"\s*tensor\(")


def side_of(line: str, sides: Sequence[str]) -> str | None:
    """The one side that a line names; None when it names none or both."""
    named = [side for side in sides if side and name_of(side, sides).search(line)]
    return named[0] if len(named) == 1 else None


def without_name(line: str, side: str) -> list[Token]:
    """What the line says besides the side's name."""
    return tokens_of(name_of(side, ()).sub(" ", line)) if side else tokens_of(line)


def lines_of_sides(stdout: str, sides: Sequence[str]) -> dict[str, list[str]]:
    """The lines that each side printed, in order.

    A label alone on its line stands before the lines up to the next label.
    """
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
    if "float32" in sides and not found["float32"] and any(found.values()):
        # A tensor that names no dtype is of the default one.
        found["float32"] = [line for line in stdout.splitlines() if _PLAIN_TENSOR.match(line)]
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
    return any(contains(line, wanted) for line in said) or contains(
        [token for line in said for token in line], wanted
    )


def lacks_a_side(sides: Sequence[str], target: Target) -> bool:
    """Whether a side needs a device that the target does not grant; what it printed then is no evidence."""
    return "cuda" in sides and target.device is not Device.CUDA
