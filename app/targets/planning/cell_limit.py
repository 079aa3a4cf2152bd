"""What to say of a matrix that is too large: what it is made of, and what would make it small enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.errors import InputError
from app.targets.pattern import ANY, Pattern
from app.targets.target import Target
from worker.contract import Device

_SHOWN = 3


def too_many(targets: Sequence[Target], *, scripts: int, most: int, preset: str | None) -> InputError:
    """The error for cells on these targets, of which there may be so many."""
    devices = sorted({target.device for target in targets})
    toolchains = {target.toolchain for target in targets}
    settings = {tuple(sorted(target.settings.items())) for target in targets}
    parts = [
        _counted(scripts, "script"),
        f"on {' and '.join(devices)}",
        f"in {_counted(len(toolchains), 'toolchain')}",
        f"with {_counted(len(settings), 'choice')} of settings",
    ]
    asked = f"The preset {preset}" if preset else "What is asked for"
    return InputError(
        f"{asked} makes {len(targets)} cells ({', '.join(parts)}); a run has at most {most}. {_advice(targets, most)}",
        code="too_many_cells",
        field="targets" if preset is None else "preset",
    )


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _advice(targets: Sequence[Target], most: int) -> str:
    """Excludes that would do alone, those that leave the most first; else a few that leave out most."""
    left = {
        text: sum(not pattern.fits(target) for target in targets) for text, pattern in _candidates(targets)
    }
    useful = {text: number for text, number in left.items() if 0 < number < len(targets)}
    enough = sorted(
        (text for text, number in useful.items() if number <= most), key=lambda text: (-useful[text], text)
    )
    if enough:
        ways = [f"{text} ({useful[text]} cells)" for text in enough[:_SHOWN]]
        return f"To make it smaller, leave some out: exclude {', or '.join(ways)}."
    best = sorted(useful, key=lambda text: (useful[text], text))[:_SHOWN]
    if best:
        return f"To make it smaller, leave out several, such as exclude {' and '.join(best)}; or send it as several runs."
    return "Send fewer targets, or several runs."


def _candidates(targets: Iterable[Target]) -> list[tuple[str, Pattern]]:
    every = list(targets)
    found: dict[str, Pattern] = {str(device): Pattern(device=device) for device in Device}
    found |= {f"{device}:*": Pattern(device=device, any_setting=True) for device in Device}
    found["*:*"] = Pattern(any_setting=True)
    found |= {f"*:{name}=*": Pattern(settings=((name, ANY),)) for target in every for name in target.settings}
    found |= {
        f"*@{target.toolchain}": Pattern(toolchain=target.toolchain) for target in every if target.toolchain
    }
    return list(found.items())
