"""The error for a matrix that is too large: its size, and exclusions that make it small enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.errors import InputError
from app.targets.pattern import ANY, Pattern
from app.targets.target import Target
from worker.contract import Device

_SHOWN = 3


def too_many(targets: Sequence[Target], *, scripts: int, most: int, preset: str | None) -> InputError:
    """The error for more than `most` cells on these targets."""
    devices = sorted({target.device for target in targets})
    toolchains = {target.toolchain for target in targets}
    settings = {tuple(sorted(target.settings.items())) for target in targets}
    parts = [
        _count(scripts, "script"),
        f"on {' and '.join(devices)}",
        f"in {_count(len(toolchains), 'toolchain')}",
        f"with {_count(len(settings), 'choice')} of settings",
    ]
    subject = f"The preset {preset}" if preset else "The request"
    return InputError(
        f"{subject} has {len(targets)} cells ({', '.join(parts)}); a run has at most {most}. "
        + _advice(targets, most),
        code="too_many_cells",
        field="targets" if preset is None else "preset",
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _advice(targets: Sequence[Target], most: int) -> str:
    """Exclusions of which one is enough, those that leave most cells first; else those that exclude most."""
    left = {
        text: sum(not pattern.fits(target) for target in targets) for text, pattern in _candidates(targets)
    }
    useful = {text: number for text, number in left.items() if 0 < number < len(targets)}
    enough = sorted(
        (text for text, number in useful.items() if number <= most), key=lambda text: (-useful[text], text)
    )
    if enough:
        ways = [f"{text} ({useful[text]} cells)" for text in enough[:_SHOWN]]
        return f"To make it smaller, use exclude {', or '.join(ways)}."
    best = sorted(useful, key=lambda text: (useful[text], text))[:_SHOWN]
    if best:
        return f"To make it smaller, combine excludes, such as {' and '.join(best)}, or send several runs."
    return "Send fewer targets, or several runs."


def _candidates(targets: Iterable[Target]) -> list[tuple[str, Pattern]]:
    targets = list(targets)
    patterns: dict[str, Pattern] = {str(device): Pattern(device=device) for device in Device}
    patterns |= {f"{device}:*": Pattern(device=device, any_setting=True) for device in Device}
    patterns["*:*"] = Pattern(any_setting=True)
    patterns |= {
        f"*:{name}=*": Pattern(settings=((name, ANY),)) for target in targets for name in target.settings
    }
    patterns |= {
        f"*@{target.toolchain}": Pattern(toolchain=target.toolchain) for target in targets if target.toolchain
    }
    return list(patterns.items())
