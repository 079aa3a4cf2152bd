"""What nodes can serve: which toolchain a target means, and why a node cannot take it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packaging.version import InvalidVersion, Version

from app.targets.target import Target
from worker.contract import CardState, Device, Gpu, Hello, Level, Reason, ToolchainFacts, WhoCanAct
from worker.contract.names import split_layers


def serves(facts: ToolchainFacts, device: Device) -> bool:
    """Whether a toolchain can be used with a device at all."""
    return device is Device.CPU or facts.cuda_build is not None


def usable(hello: Hello) -> dict[str, ToolchainFacts]:
    """The toolchains of a node that are ready, or that it builds when they are needed; of the latter it knows the packages."""
    return {
        facts.name: facts
        for facts in hello.toolchains
        if facts.state == "ready"
        or (hello.builds and facts.state in {"locked", "building"} and facts.packages)
    }


def usable_toolchains(fleet: Iterable[Hello]) -> dict[str, ToolchainFacts]:
    """Those of the fleet, by name; of one that some nodes still have to build, the facts of a node that has it."""
    found: dict[str, ToolchainFacts] = {}
    for hello in fleet:
        for name, facts in usable(hello).items():
            if name not in found or facts.state == "ready":
                found[name] = facts
    return found


def facts_on(hello: Hello, name: str) -> ToolchainFacts | None:
    """What a node offers under a name: a toolchain, or one with packages that the node adds when it is asked to."""
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
    """By their torch, then by their numpy."""
    return sorted(toolchains, key=lambda facts: _age(facts, device), reverse=True)


def _age(facts: ToolchainFacts, device: Device) -> tuple[Version, bool, Version, str]:
    # Of two builds of one release the plain CPU build is the one for the CPU.
    plain = (facts.cuda_build is None) == (device is Device.CPU)
    return _release(facts.torch), plain, _release(facts.packages.get("numpy")), facts.name


def _release(version: str | None) -> Version:
    try:
        return Version(Version(version or "0").base_version)
    except InvalidVersion:
        return Version("0")


def is_meant(name: str, wanted: str) -> bool:
    """Whether a toolchain's name is the wanted one or goes on from it: `torch-2.1` never means `torch-2.13-cpu`."""
    return not wanted or name == wanted or name.startswith((f"{wanted}-", f"{wanted}.", f"{wanted}+"))


def resolve_toolchain(
    fleet: Sequence[Hello], target: Target, *, required_level: Level = Level.LIMITS_ONLY
) -> str | None:
    """The full name of the toolchain a target means: its name, else the newest that its name begins and a node serves. None: none fits.

    Settings play no part: a target with a setting means the toolchain that the target without it means.
    """
    if target.toolchain and any(facts_on(hello, target.toolchain) for hello in fleet):
        return target.toolchain
    # What was added for one report is not what another means.
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
    """Why this node can't take an attempt on this target; None when it can."""
    facts = facts_on(hello, target.toolchain)
    if not hello.level.satisfies(required_level):
        return Reason(
            code="level_too_weak",
            detail="The node's isolation is below the level asked for.",
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
        has_kernels(facts.kernels, card.capability) for card in _cards(hello, target)
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
    cards = _cards(hello, target)
    if not cards:
        return Reason(
            code="no_such_gpu", detail="No node has a GPU of this capability.", who_can_act=WhoCanAct.OPERATOR
        )
    wanted = max(1, target.gpus)
    if len(cards) < wanted:
        return Reason(code="too_few_gpus", detail="No node has as many GPUs.", who_can_act=WhoCanAct.OPERATOR)
    if len(usable_cards(cards)) < wanted:
        if any(card.state is CardState.FAULTY for card in cards):
            return Reason(
                code="card_faulty",
                detail="The GPU failed its check and is out of use.",
                who_can_act=WhoCanAct.OPERATOR,
            )
        return Reason(
            code="card_in_use", detail="The GPU is in use by others.", who_can_act=WhoCanAct.OPERATOR
        )
    return None


def usable_cards(cards: Sequence[Gpu]) -> list[Gpu]:
    """Those that may be given to attempts."""
    return [card for card in cards if card.state in {CardState.SOUND, CardState.UNCHECKED}]


def _cards(hello: Hello, target: Target) -> list[Gpu]:
    return [
        gpu
        for gpu in hello.gpus
        if target.capability is None or _compact(target.capability) == _compact(gpu.capability)
    ]


_KERNEL = re.compile(r"(sm|compute)_(\d{1,2})(\d)([af]?)")


def has_kernels(kernels: Sequence[str], capability: str) -> bool:
    """Whether a card can run what was compiled for these; True where one of the two is not known.

    `sm_80` runs on 8.0 and on later cards of the same major number, `sm_90a` on 9.0 alone, and what was left as `compute_80` is compiled
    by the driver for any later card.
    """
    major, _, minor = capability.partition(".")
    parsed = [found for kernel in kernels if (found := _KERNEL.fullmatch(kernel))]
    if not parsed or not major.isdigit() or not minor.isdigit():
        return True
    card = (int(major), int(minor))
    return any(
        _runs_on(kind, (int(first), int(second)), suffix, card)
        for kind, first, second, suffix in (found.groups() for found in parsed)
    )


def _runs_on(kind: str, built_for: tuple[int, int], suffix: str, card: tuple[int, int]) -> bool:
    if suffix == "a":
        return card == built_for
    if kind == "sm" or suffix == "f":
        return card[0] == built_for[0] and card[1] >= built_for[1]
    return card >= built_for


def capabilities_of(fleet: Iterable[Hello]) -> tuple[str, ...]:
    """The kinds of cards that the fleet has, as a target names them, `sm90`."""
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
    """`sm90`, `sm90a` and `9.0` as `90`."""
    return "".join(character for character in capability if character.isdigit())


def _isa_lack(hello: Hello, facts: ToolchainFacts, target: Target) -> Reason | None:
    isa = target.settings.get("cpu-isa")
    if isa is None:
        return None
    if not facts.mkl:
        return Reason(
            code="no_mkl",
            detail="This toolchain's torch is built without MKL, so no code path can be chosen.",
        )
    if isa == "avx2" and hello.cpu_flags and "avx2" not in hello.cpu_flags:
        return Reason(code="isa_not_supported", detail="The node's CPU has no AVX2.")
    if isa not in facts.cpu_isa:
        return Reason(code="setting_without_effect", detail="This setting takes no effect on the node's CPU.")
    return None


# Of several nodes' reasons, the one that says most about the fleet comes last.
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
    """Why no node of the fleet serves the target: the reason of the node that comes nearest. None when one does."""
    if not fleet:
        return Reason(code="no_node", detail="No node is there.", who_can_act=WhoCanAct.OPERATOR)
    reasons = [can_serve(hello, target, required_level=required_level) for hello in fleet]
    lacks = [reason for reason in reasons if reason is not None]
    if len(lacks) < len(reasons):
        return None
    return max(lacks, key=lambda reason: _FAR_TO_NEAR.index(reason.code))
