"""What a report that is run again covers: its own lines of targets, with the toolchains that are new, and with what they compare to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from app.intake.reading import Script
from app.judging.report.axis import differs_by
from app.targets.fleet import nearest_lack, usable_toolchains
from app.targets.packages import packages_of, versions_for
from app.targets.target import Target
from worker.contract import Hello, Level, ToolchainFacts
from worker.contract.names import split_layers


def base_of(toolchain: str, known: Collection[str]) -> str:
    """The toolchain without the packages that were added to it for a report."""
    layers = split_layers(toolchain, known)
    return toolchain if layers is None else layers[0]


def lines_in(targets: Sequence[Target]) -> list[Target]:
    """What these targets are apart from their toolchains, plain ones first."""
    lines = {
        line.label(): line for target in targets if (line := target.model_copy(update={"toolchain": ""}))
    }
    return sorted(lines.values(), key=lambda line: (len(line.settings), line.label()))


def with_new(
    script: Script,
    ran: Sequence[Target],
    new: Collection[str],
    *,
    fleet: Sequence[Hello],
    required_level: Level,
    most: int,
) -> list[Target]:
    """The lines of a report with each new toolchain that fits its script, and where nothing that ran compares, the nearest that does."""
    chains = usable_toolchains(fleet)
    found: list[Target] = []
    for line in lines_in(ran):
        names = [
            name
            for name in versions_for(script, line.device, fleet)
            if _is_served(line, name, fleet, required_level)
        ]
        mine = {
            base_of(target.toolchain, chains)
            for target in ran
            if target.model_copy(update={"toolchain": ""}) == line
        }
        for name in names:
            if name in new and name not in mine:
                found += [
                    line.model_copy(update={"toolchain": one})
                    for one in (name, *_baseline(script, name, names, mine, chains))
                ]
    return list({target.label(): target for target in found}.values())[:most]


def with_newest(
    script: Script, ran: Sequence[Target], *, fleet: Sequence[Hello], required_level: Level, most: int
) -> list[Target]:
    """The lines of a report, each with the newest toolchain that fits its script."""
    found = []
    for line in lines_in(ran):
        names = versions_for(script, line.device, fleet)
        name = next((name for name in names if _is_served(line, name, fleet, required_level)), None)
        if name is not None:
            found.append(line.model_copy(update={"toolchain": name}))
    return found[:most]


def _is_served(line: Target, name: str, fleet: Sequence[Hello], required_level: Level) -> bool:
    return (
        nearest_lack(fleet, line.model_copy(update={"toolchain": name}), required_level=required_level)
        is None
    )


def _baseline(
    script: Script, name: str, names: Sequence[str], ran: Collection[str], chains: dict[str, ToolchainFacts]
) -> Iterator[str]:
    """The nearest older toolchain that differs in one version only, else the nearest newer; none where one that ran does so."""
    comparable = [
        other for other in names if other != name and _differ_in_one(script, chains[other], chains[name])
    ]
    if any(other in ran for other in comparable):
        return
    place = names.index(name)
    older = [other for other in comparable if names.index(other) > place]
    newer = [other for other in comparable if names.index(other) < place]
    # Newest first: the nearest older one is the first behind it, the nearest newer one the last before it.
    yield from older[:1] or newer[-1:]


def _differ_in_one(script: Script, one: ToolchainFacts, other: ToolchainFacts) -> bool:
    difference = differs_by(_packages(one), _packages(other), imported=packages_of(script))
    return difference.axis is not None and not difference.confounders


def _packages(facts: ToolchainFacts) -> dict[str, str | int | float | bool | list[str] | None]:
    torch = (
        {} if facts.torch is None else {"torch.version": facts.torch, "torch.cuda_build": facts.cuda_build}
    )
    return {**{f"package.{name}": version for name, version in facts.packages.items()}, **torch}
