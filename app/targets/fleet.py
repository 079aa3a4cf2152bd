"""What nodes can serve: which toolchain a target means, and why a node cannot take it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.version import InvalidVersion, Version

from app.targets.target import Target
from worker.contract import CardState, Device, Gpu, Hello, Level, Reason, ToolchainFacts, WhoCanAct


def serves(facts: ToolchainFacts, device: Device) -> bool:
    """Whether a toolchain can be used with a device at all."""
    return facts.state == "ready" and (device is Device.CPU or facts.cuda_build is not None)


def ready_toolchains(fleet: Iterable[Hello]) -> dict[str, ToolchainFacts]:
    """The toolchains of the fleet that are ready, by name."""
    return {facts.name: facts for hello in fleet for facts in hello.toolchains if facts.state == "ready"}


def _age(facts: ToolchainFacts, device: Device) -> tuple[Version, bool, str]:
    try:
        version = Version(facts.torch or "0")
    except InvalidVersion:
        version = Version("0")
    release = Version(version.base_version)
    # Of two builds of one release the plain CPU build is the one for the CPU.
    return release, (facts.cuda_build is None) == (device is Device.CPU), facts.name


def is_meant(name: str, wanted: str) -> bool:
    """Whether a toolchain's name is the wanted one or goes on from it: `torch-2.1` never means `torch-2.13-cpu`."""
    return not wanted or name == wanted or name.startswith((f"{wanted}-", f"{wanted}.", f"{wanted}+"))


def resolve_toolchain(fleet: Sequence[Hello], target: Target, *, required_level: Level = Level.LIMITS_ONLY) -> str | None:
    """The full name of the toolchain a target means: its name, else the newest that its name begins and a node serves. None: none fits.

    Settings play no part: a target with a setting means the toolchain that the target without it means.
    """
    ready = ready_toolchains(fleet)
    if target.toolchain in ready:
        return target.toolchain
    able = [facts for name, facts in ready.items() if is_meant(name, target.toolchain) and serves(facts, target.device)]
    if not target.toolchain:
        able = [facts for facts in able if facts.torch is not None] or able
    newest_first = sorted(able, key=lambda facts: _age(facts, target.device), reverse=True)
    plain = target.model_copy(update={"settings": {}})
    wholes = ((facts.name, plain.model_copy(update={"toolchain": facts.name})) for facts in newest_first)
    served = next((name for name, whole in wholes if nearest_lack(fleet, whole, required_level=required_level) is None), None)
    return served or (newest_first[0].name if newest_first else None)


def can_serve(hello: Hello, target: Target, *, required_level: Level) -> Reason | None:
    """Why this node can't take an attempt on this target; None when it can."""
    facts = next((facts for facts in hello.toolchains if facts.name == target.toolchain and facts.state == "ready"), None)
    if not hello.level.satisfies(required_level):
        return Reason(code="level_too_weak", detail="The node's isolation is below the level asked for.", who_can_act=WhoCanAct.OPERATOR)
    if target.device is Device.CUDA:
        lack = _gpu_lack(hello, target)
        if lack is not None:
            return lack
    if facts is None:
        return Reason(code="no_toolchain", detail="No node has this toolchain ready.", who_can_act=WhoCanAct.OPERATOR)
    if not serves(facts, target.device):
        return Reason(code="no_cuda_build", detail="This toolchain is a CPU build.", who_can_act=WhoCanAct.OPERATOR)
    return _isa_lack(hello, facts, target)


def _gpu_lack(hello: Hello, target: Target) -> Reason | None:
    if not hello.gpus:
        return Reason(code="no_gpu", detail="No node has an NVIDIA GPU.", who_can_act=WhoCanAct.OPERATOR)
    cards = [gpu for gpu in hello.gpus if target.capability is None or _compact(target.capability) == _compact(gpu.capability)]
    if not cards:
        return Reason(code="no_such_gpu", detail="No node has a GPU of this capability.", who_can_act=WhoCanAct.OPERATOR)
    wanted = max(1, target.gpus)
    if len(cards) < wanted:
        return Reason(code="too_few_gpus", detail="No node has as many GPUs.", who_can_act=WhoCanAct.OPERATOR)
    if len(usable_cards(cards)) < wanted:
        if any(card.state is CardState.FAULTY for card in cards):
            return Reason(code="card_faulty", detail="The GPU failed its check and is out of use.", who_can_act=WhoCanAct.OPERATOR)
        return Reason(code="card_in_use", detail="The GPU is in use by others.", who_can_act=WhoCanAct.OPERATOR)
    return None


def usable_cards(cards: Sequence[Gpu]) -> list[Gpu]:
    """Those that may be given to attempts."""
    return [card for card in cards if card.state in {CardState.SOUND, CardState.UNCHECKED}]


def _compact(capability: str) -> str:
    """`sm90`, `sm90a` and `9.0` as `90`."""
    return "".join(character for character in capability if character.isdigit())


def _isa_lack(hello: Hello, facts: ToolchainFacts, target: Target) -> Reason | None:
    isa = target.settings.get("cpu-isa")
    if isa is None:
        return None
    if not facts.mkl:
        return Reason(code="no_mkl", detail="This toolchain's torch is built without MKL, so no code path can be chosen.")
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
