"""The targets of a scheduled rerun: the rows of a report with new toolchains and their baselines.

A row is a target without its toolchain: a device with settings.
"""

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
    """The name of the toolchain without packages that were added for a report."""
    layers = split_layers(toolchain, known)
    return toolchain if layers is None else layers[0]


def rows_of(targets: Sequence[Target]) -> list[Target]:
    """The rows of targets, those with the fewest settings first."""
    rows = {row.label(): row for target in targets if (row := target.model_copy(update={"toolchain": ""}))}
    return sorted(rows.values(), key=lambda row: (len(row.settings), row.label()))


def with_new(
    script: Script,
    ran: Sequence[Target],
    new: Collection[str],
    *,
    fleet: Sequence[Hello],
    required_level: Level,
    most: int,
) -> list[Target]:
    """The rows of a report with each new toolchain that fits its script.

    If no toolchain that ran is a baseline for the new one, the nearest baseline is added.
    """
    chains = usable_toolchains(fleet)
    targets: list[Target] = []
    for row in rows_of(ran):
        names = [
            name
            for name in versions_for(script, row.device, fleet)
            if _is_served(row, name, fleet, required_level)
        ]
        own_toolchains = {
            base_of(target.toolchain, chains)
            for target in ran
            if target.model_copy(update={"toolchain": ""}) == row
        }
        for name in names:
            if name in new and name not in own_toolchains:
                targets += [
                    row.model_copy(update={"toolchain": one})
                    for one in (name, *_baseline(script, name, names, own_toolchains, chains))
                ]
    return list({target.label(): target for target in targets}.values())[:most]


def with_newest(
    script: Script, ran: Sequence[Target], *, fleet: Sequence[Hello], required_level: Level, most: int
) -> list[Target]:
    """The rows of a report, each with the newest toolchain that fits its script."""
    targets = []
    for row in rows_of(ran):
        names = versions_for(script, row.device, fleet)
        name = next((name for name in names if _is_served(row, name, fleet, required_level)), None)
        if name is not None:
            targets.append(row.model_copy(update={"toolchain": name}))
    return targets[:most]


def _is_served(row: Target, name: str, fleet: Sequence[Hello], required_level: Level) -> bool:
    return (
        nearest_lack(fleet, row.model_copy(update={"toolchain": name}), required_level=required_level) is None
    )


def _baseline(
    script: Script, name: str, names: Sequence[str], ran: Collection[str], chains: dict[str, ToolchainFacts]
) -> Iterator[str]:
    """The nearest older toolchain that differs in one version only, else the nearest newer one.

    Empty if such a toolchain already ran.
    """
    comparable = [
        other for other in names if other != name and _differ_in_one(script, chains[other], chains[name])
    ]
    if any(other in ran for other in comparable):
        return
    place = names.index(name)
    older = [other for other in comparable if names.index(other) > place]
    newer = [other for other in comparable if names.index(other) < place]
    # Names are sorted newest first: the nearest older one is the first after it, the nearest newer one the
    # last before.
    yield from older[:1] or newer[-1:]


def _differ_in_one(script: Script, one: ToolchainFacts, other: ToolchainFacts) -> bool:
    difference = differs_by(_packages(one), _packages(other), imported=packages_of(script))
    return difference.axis is not None and not difference.confounders


def _packages(facts: ToolchainFacts) -> dict[str, str | int | float | bool | list[str] | None]:
    torch = (
        {} if facts.torch is None else {"torch.version": facts.torch, "torch.cuda_build": facts.cuda_build}
    )
    return {**{f"package.{name}": version for name, version in facts.packages.items()}, **torch}
