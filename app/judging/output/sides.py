"""The two sides of a difference within one attempt, by names in its lines, such as devices or dtypes."""

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
    """A pattern for a whole word or a part of a name with underscores: `res_cpu`, `cuda:0`, `CPU_out`."""
    return re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])(?::\d+)?", re.IGNORECASE)


def name_of(side: str, sides: Sequence[str]) -> re.Pattern[str]:
    """The pattern for the name of a side.

    `torch.sort` may also be `sort` or `torch`, if the other side differs in that.
    """
    if side in _WORDS:
        return _pattern(_WORDS[side])
    parts, others = side.split("."), [other.split(".") for other in sides if other and other != side]
    words = [re.escape(side)]
    if len(parts) > 1 and all(parts[-1] != other[-1] for other in others):
        words.append(re.escape(parts[-1]))
    elif len(parts) > 1 and all(parts[0] != other[0] for other in others):
        words.append(_WORDS.get("numpy" if parts[0] == "np" else parts[0], re.escape(parts[0])))
    return _pattern("|".join(words))


# torch prints a tensor on a GPU with its device, and one on the CPU without.
_ON_GPU = re.compile(r"\bdevice='cuda(?::\d+)?'")
_TENSOR = re.compile(r"\s*tensor\(")


def side_of(line: str, sides: Sequence[str]) -> str | None:
    """The only side that a line names; None if it names none or both."""
    named = [side for side in sides if side and name_of(side, sides).search(line)]
    return named[0] if len(named) == 1 else None


def without_name(line: str, side: str) -> list[Token]:
    """The tokens of a line without the name of the side."""
    return tokens_of(name_of(side, ()).sub(" ", line)) if side else tokens_of(line)


def lines_of_sides(stdout: str, sides: Sequence[str]) -> dict[str, list[str]]:
    """The lines of each side, in order.

    A line with only the name of a side is a heading for the next lines.
    """
    lines: dict[str, list[str]] = {side: [] for side in sides}
    heading: str | None = None
    for line in stdout.splitlines():
        side = side_of(line, sides)
        if side is not None:
            heading = side if _is_heading(line, side) else None
            lines[side].append(line)
        elif heading is not None and line.strip():
            lines[heading].append(line)
    if set(sides) == {"cpu", "cuda"} and not all(lines.values()):
        tensors = [line for line in stdout.splitlines() if _TENSOR.match(line)]
        on_gpu = [line for line in tensors if _ON_GPU.search(line)]
        on_cpu = [line for line in tensors if not _ON_GPU.search(line)]
        if on_cpu and on_gpu:
            return {side: on_gpu if side == "cuda" else on_cpu for side in sides}
    if "float32" in sides and not lines["float32"] and any(lines.values()):
        # torch prints a tensor of the default dtype without a dtype.
        lines["float32"] = [line for line in stdout.splitlines() if _PLAIN_TENSOR.match(line)]
    return lines


def _is_heading(line: str, side: str) -> bool:
    """Whether the line is only a heading, such as `CPU result:`."""
    return line.rstrip().endswith(":") or not without_name(line, side)


def sides_agree(sides: Mapping[str, Sequence[str]]) -> bool:
    """Whether all sides printed the same, apart from their names."""
    contents = [[without_name(line, side) for line in lines] for side, lines in sides.items()]
    first = contents[0]
    return all(len(other) == len(first) and all(map(equal_tokens, first, other)) for other in contents[1:])


def side_says(lines: Sequence[str], side: str, claimed: str) -> bool:
    """Whether the lines of a side contain the line that is claimed for it."""
    expected = without_name(claimed, side)
    contents = [without_name(line, side) for line in lines]
    return any(contains(line, expected) for line in contents) or contains(
        [token for line in contents for token in line], expected
    )


def lacks_a_side(sides: Sequence[str], target: Target) -> bool:
    """Whether a side needs a GPU that the target does not have. Its output is then no evidence."""
    return "cuda" in sides and target.device is not Device.CUDA
