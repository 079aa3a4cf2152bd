"""The quarantined nodes, toolchains and scripts, and the rest of a node's offer."""

from __future__ import annotations

from dataclasses import dataclass

from worker.contract import Hello, Reason, WhoCanAct

QUARANTINED = Reason(
    code="quarantined",
    detail="A maintainer quarantined something that this cell needs.",
    who_can_act=WhoCanAct.MAINTAINER,
)


def builds_on(name: str, toolchain: str) -> bool:
    """Whether `name` is this toolchain, or this toolchain with added packages."""
    return name == toolchain or name.startswith(f"{toolchain}+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantines:
    """The names of quarantined nodes and toolchains, and the digests of quarantined scripts."""

    nodes: frozenset[str] = frozenset()
    toolchains: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.toolchains or self.scripts)

    def has_toolchain(self, name: str) -> bool:
        """Whether a toolchain is quarantined, or the one that it builds on."""
        return any(builds_on(name, quarantined) for quarantined in self.toolchains)

    def offer(self, hello: Hello) -> Hello | None:
        """The node's offer without quarantined toolchains; None if the node itself is quarantined."""
        if hello.node in self.nodes:
            return None
        toolchains = [facts for facts in hello.toolchains if not self.has_toolchain(facts.name)]
        if len(toolchains) == len(hello.toolchains):
            return hello
        return hello.model_copy(update={"toolchains": toolchains})
