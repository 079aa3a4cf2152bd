"""The targets that nodes can serve, the toolchain that a target means, and why no node serves it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packaging.version import Version

from app.targets.target import Target
from worker.contract import CardState, Device, Gpu, Hello, Level, Reason, ToolchainFacts, WhoCanAct
from worker.contract.names import is_capability, split_layers
from worker.contract.versions import parse_release


def serves(facts: ToolchainFacts, device: Device) -> bool:
    """Whether a toolchain can be used with a device at all."""
    return device is Device.CPU or facts.cuda_build is not None


def usable(hello: Hello) -> dict[str, ToolchainFacts]:
    """The toolchains of a node by name: ready ones, and ones with known packages that it builds on demand."""
    return {
        facts.name: facts
        for facts in hello.toolchains
        if facts.state == "ready"
        or (hello.builds and facts.state in {"locked", "building"} and facts.packages)
    }


def usable_toolchains(fleet: Iterable[Hello]) -> dict[str, ToolchainFacts]:
    """The toolchains of the fleet by name.

    The facts are those of a node that has it ready, if there is one.
    """
    toolchains: dict[str, ToolchainFacts] = {}
    for hello in fleet:
        for name, facts in usable(hello).items():
            if name not in toolchains or facts.state == "ready":
                toolchains[name] = facts
    return toolchains


def facts_on(hello: Hello, name: str) -> ToolchainFacts | None:
    """The toolchain that a node offers under a name, also with packages that it adds on demand; else None."""
    known = usable(hello)
    if name in known:
        return known[name]
    failed = any(facts.name == name and facts.state == "failed" for facts in hello.toolchains)
    layers = split_layers(name, known) if hello.builds and not failed else None
    if layers is None or not set(layers[1]) <= set(hello.packages_allowed):
        return None
    base = known[layers[0]]
    return base.model_copy(
        update={
            "name": name,
            "base": base.name,
            "packages": {**dict.fromkeys(layers[1], ""), **base.packages},
        }
    )


def newest_first(toolchains: Iterable[ToolchainFacts], device: Device) -> list[ToolchainFacts]:
    """Sort toolchains by torch, then by the build that fits the device, then by numpy."""
    return sorted(toolchains, key=lambda facts: _age(facts, device), reverse=True)


def _age(facts: ToolchainFacts, device: Device) -> tuple[Version, bool, Version, str]:
    # For the CPU, the CPU build of a release is preferred to its CUDA build.
    plain = (facts.cuda_build is None) == (device is Device.CPU)
    return parse_release(facts.torch), plain, parse_release(facts.packages.get("numpy")), facts.name


def is_meant(name: str, requested: str) -> bool:
    """Whether a requested name means this toolchain: its name, or a beginning of it up to `-`, `.` or `+`.

    `torch-2.1` does not mean `torch-2.13-cpu`. An empty name means every toolchain.
    """
    return not requested or name == requested or name.startswith(tuple(f"{requested}{end}" for end in "-.+"))


def resolve_toolchain(
    fleet: Sequence[Hello], target: Target, *, required_level: Level = Level.LIMITS_ONLY
) -> str | None:
    """The full name of the toolchain that a target means; None if none fits.

    It is the toolchain with exactly this name, else the newest one that the name means and a node serves.
    Settings do not matter: with a setting, a target means the same toolchain as without it.
    """
    if target.toolchain and any(facts_on(hello, target.toolchain) for hello in fleet):
        return target.toolchain
    # A toolchain with packages that were added for one report is not meant by another.
    able = [
        facts
        for name, facts in usable_toolchains(fleet).items()
        if is_meant(name, target.toolchain) and serves(facts, target.device) and not facts.base
    ]
    if not target.toolchain:
        able = [facts for facts in able if facts.torch is not None] or able
    ordered = newest_first(able, target.device)
    plain = target.model_copy(update={"settings": {}})
    wholes = ((facts.name, plain.model_copy(update={"toolchain": facts.name})) for facts in ordered)
    served = next(
        (name for name, whole in wholes if nearest_lack(fleet, whole, required_level=required_level) is None),
        None,
    )
    return served or (ordered[0].name if ordered else None)


def can_serve(hello: Hello, target: Target, *, required_level: Level) -> Reason | None:
    """Why this node can't take an attempt on this target; None if it can."""
    facts = facts_on(hello, target.toolchain)
    if not hello.level.satisfies(required_level):
        return Reason(
            code="level_too_weak",
            detail="The node's isolation is weaker than the required level.",
            who_can_act=WhoCanAct.OPERATOR,
        )
    if target.device is Device.CUDA:
        lack = _gpu_lack(hello, target)
        if lack is not None:
            return lack
    if facts is None:
        return Reason(
            code="no_toolchain", detail="No node has this toolchain ready.", who_can_act=WhoCanAct.OPERATOR
        )
    if not serves(facts, target.device):
        return Reason(
            code="no_cuda_build", detail="This toolchain is a CPU build.", who_can_act=WhoCanAct.OPERATOR
        )
    if target.device is Device.CUDA and sum(
        has_kernels(facts.kernels, card.capability) for card in cards_of_kind(hello, target)
    ) < max(1, target.gpus):
        return Reason(
            code="no_kernels_for_card",
            detail="The toolchain's build has no kernels for this card.",
            who_can_act=WhoCanAct.OPERATOR,
        )
    return _isa_lack(hello, facts, target)


def _gpu_lack(hello: Hello, target: Target) -> Reason | None:
    if not hello.gpus:
        return Reason(code="no_gpu", detail="No node has an NVIDIA GPU.", who_can_act=WhoCanAct.OPERATOR)
    cards = cards_of_kind(hello, target)
    if not cards:
        return Reason(
            code="no_such_gpu", detail="No node has a GPU of this capability.", who_can_act=WhoCanAct.OPERATOR
        )
    needed = max(1, target.gpus)
    if len(cards) < needed:
        return Reason(
            code="too_few_gpus", detail="No node has that many GPUs.", who_can_act=WhoCanAct.OPERATOR
        )
    if len(usable_cards(cards)) < needed:
        if any(card.state is CardState.FAULTY for card in cards):
            return Reason(
                code="card_faulty",
                detail="The GPU failed its check and is not used.",
                who_can_act=WhoCanAct.OPERATOR,
            )
        return Reason(
            code="card_in_use",
            detail="The GPU can't be used now: other programs use it, or its driver has trouble.",
            who_can_act=WhoCanAct.OPERATOR,
        )
    return None


def usable_cards(cards: Sequence[Gpu]) -> list[Gpu]:
    """The cards that attempts may use."""
    return [card for card in cards if card.state in {CardState.SOUND, CardState.UNCHECKED}]


def cards_of_kind(hello: Hello, target: Target) -> list[Gpu]:
    """The cards of a node that are of the target's kind, in any state."""
    return [gpu for gpu in hello.gpus if is_capability(target.capability, gpu.capability)]


_KERNEL = re.compile(r"(sm|compute)_(\d{1,2})(\d)([af]?)")


def has_kernels(kernels: Sequence[str], capability: str) -> bool:
    """Whether a card can run kernels that were compiled for these architectures. True if either is not known.

    `sm_80` runs on 8.0 and later cards with the same major number, `sm_90a` on 9.0 only. The driver compiles
    `compute_80` for any later card.
    """
    major, _, minor = capability.partition(".")
    parsed = [match for kernel in kernels if (match := _KERNEL.fullmatch(kernel))]
    if not parsed or not re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}", capability):
        return True
    card = (int(major), int(minor))
    return any(
        _runs_on(kind, (int(first), int(second)), suffix, card)
        for kind, first, second, suffix in (match.groups() for match in parsed)
    )


def _runs_on(kind: str, built_for: tuple[int, int], suffix: str, card: tuple[int, int]) -> bool:
    if suffix == "a":
        return card == built_for
    if kind == "sm" or suffix == "f":
        return card[0] == built_for[0] and card[1] >= built_for[1]
    return card >= built_for


def capabilities_of(fleet: Iterable[Hello]) -> tuple[str, ...]:
    """The capabilities of the fleet's cards in the spelling of targets, such as `sm90`."""
    return tuple(
        sorted(
            {
                f"sm{number}"
                for hello in fleet
                for gpu in hello.gpus
                if len(number := _compact(gpu.capability)) in {2, 3}
            }
        )
    )


def _compact(capability: str) -> str:
    """The digits of a capability: `90` for `sm90`, `sm90a` and `9.0`."""
    return "".join(character for character in capability if character.isdigit())


def _isa_lack(hello: Hello, facts: ToolchainFacts, target: Target) -> Reason | None:
    isa = target.settings.get("cpu-isa")
    if isa is None:
        return None
    if not facts.mkl:
        return Reason(
            code="no_mkl",
            detail="This toolchain's torch is built without MKL, so its code path can't be set.",
        )
    if isa == "avx2" and hello.cpu_flags and "avx2" not in hello.cpu_flags:
        return Reason(code="isa_not_supported", detail="The node's CPU has no AVX2.")
    if isa not in facts.cpu_isa:
        return Reason(code="setting_without_effect", detail="This setting has no effect on the node's CPU.")
    return None


# The reasons of nodes, from the node that is furthest from serving the target to the nearest.
_FAR_TO_NEAR = (
    "no_gpu",
    "no_such_gpu",
    "too_few_gpus",
    "card_faulty",
    "card_in_use",
    "no_toolchain",
    "no_cuda_build",
    "no_kernels_for_card",
    "no_mkl",
    "isa_not_supported",
    "setting_without_effect",
    "level_too_weak",
)


def nearest_lack(fleet: Sequence[Hello], target: Target, *, required_level: Level) -> Reason | None:
    """Why no node serves the target, by the node that comes nearest to it. None if a node serves it."""
    if not fleet:
        return Reason(code="no_node", detail="There is no node.", who_can_act=WhoCanAct.OPERATOR)
    lacks = []
    for hello in fleet:
        lack = can_serve(hello, target, required_level=required_level)
        if lack is None:
            return None
        lacks.append(lack)
    return max(lacks, key=lambda reason: _FAR_TO_NEAR.index(reason.code))
