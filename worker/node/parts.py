"""Builds the parts that both kinds of node have: the one on a broker, and the one on standard input."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.cards.watch import CardWatch, watch_cards
from worker.contract import Gpu, Hello
from worker.environment import EnvironmentRecorder
from worker.machine.hardware import read_cpu
from worker.machine.settings import NodeSettings
from worker.slots.pool import SlotPool
from worker.slots.runner import Deliver
from worker.toolchains import ToolchainStore
from worker.toolchains.demand import OnDemand, make_on_demand
from worker.warm import WarmStarts, make_warm_starts


@dataclass(frozen=True, slots=True)
class NodeParts:
    """The objects of one node process: identity, toolchains, cards, slots and warm starts."""

    identity: Identity
    toolchains: ToolchainStore
    cards: CardWatch
    pool: SlotPool
    # None if the node makes no warm starts.
    warm: WarmStarts | None
    # None if the node builds no toolchains.
    on_demand: OnDemand | None

    def start(self) -> None:
        """Start the card watch and the slots.

        Raises SandboxUnavailableError or LockFolderError if this machine can't run attempts.
        """
        self.cards.start()
        self.pool.start()

    def close(self) -> None:
        """Wait for the attempts that run, and stop everything. Call `pool.finish` or `pool.drain` before."""
        self.pool.join()
        if self.warm is not None:
            self.warm.close()
        self.cards.stop()

    def make_hello(self) -> Hello:
        """The message that says what the node offers now."""
        return make_hello(
            self.identity,
            self.pool,
            self.toolchains,
            gpus=self.cards.cards(),
            on_demand=self.on_demand,
        )


def build_node(settings: NodeSettings, deliver: Deliver, *, on_broker: bool) -> NodeParts:
    """Build a node that hands Started and Result to `deliver`.

    A node `on_broker` is one of several. It takes previews, gives back an attempt whose cards are out of use,
    and remembers the last toolchain for its next start.
    """
    identity = Identity(settings.node_name, secrets.token_hex(8))
    toolchains = ToolchainStore(settings.toolchain_folder)
    cards = watch_cards(settings, toolchains)
    warm = make_warm_starts(settings)
    on_demand = make_on_demand(toolchains, settings)
    executor = Executor(
        identity,
        toolchains,
        EnvironmentRecorder(settings.cache_folder, probe_seconds=settings.probe_seconds),
        variables=settings.variables,
        warm=warm,
        note=settings.cache_folder / "usual-toolchain" if on_broker else None,
        on_demand=on_demand,
    )
    pool = SlotPool(
        settings,
        executor,
        identity=identity,
        deliver=deliver,
        cards=cards,
        previews=on_broker and warm is not None,
        gives_back=on_broker,
    )
    return NodeParts(identity, toolchains, cards, pool, warm, on_demand)


def make_hello(
    identity: Identity,
    pool: SlotPool,
    toolchains: ToolchainStore,
    *,
    gpus: list[Gpu],
    on_demand: OnDemand | None = None,
) -> Hello:
    """The message that says what a node offers. The pool must have been started."""
    cpu = read_cpu()
    return Hello(
        node=identity.node,
        instance=identity.instance,
        slots=pool.slots,
        level=pool.level,
        level_detail=pool.level_detail,
        waits_for=pool.waits_for,
        gpus=gpus,
        toolchains=toolchains.list(),
        previews=pool.previews,
        card_places=pool.card_places,
        builds=on_demand is not None,
        packages_allowed=sorted(on_demand.allowed) if on_demand else [],
        cpu_model=cpu.model,
        cpu_vendor=cpu.vendor,
        cpu_flags=sorted(cpu.flags),
        cores=cpu.cores,
    )
