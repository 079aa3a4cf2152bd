"""What is in quarantine, and what is left of a node's offer."""

from __future__ import annotations

from dataclasses import dataclass

from worker.contract import Hello, Reason, WhoCanAct

QUARANTINED = Reason(
    code="quarantined",
    detail="What this cell needs is held back by a maintainer: it is in quarantine.",
    who_can_act=WhoCanAct.MAINTAINER,
)


def builds_on(name: str, toolchain: str) -> bool:
    """Whether a toolchain is this one, or this one with packages added."""
    return name == toolchain or name.startswith(f"{toolchain}+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantines:
    """The names of what is in quarantine; scripts by digest."""

    nodes: frozenset[str] = frozenset()
    toolchains: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.toolchains or self.scripts)

    def has_toolchain(self, name: str) -> bool:
        """Whether a toolchain is held back, by itself or with what it builds on."""
        return any(builds_on(name, held) for held in self.toolchains)

    def offer(self, hello: Hello) -> Hello | None:
        """What a node may still be given; None: nothing."""
        if hello.node in self.nodes:
            return None
        kept = [facts for facts in hello.toolchains if not self.has_toolchain(facts.name)]
        return hello if len(kept) == len(hello.toolchains) else hello.model_copy(update={"toolchains": kept})
