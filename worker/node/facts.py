"""What a node says of itself: its slots, cards, toolchains and level."""

from __future__ import annotations

from collections.abc import Sequence

from worker.attempt.execute import Identity
from worker.contract import Gpu, Hello
from worker.machine.hardware import read_cpu
from worker.slots.pool import SlotPool
from worker.toolchains import ToolchainStore
from worker.toolchains.demand import OnDemand


def say_hello(
    identity: Identity,
    pool: SlotPool,
    toolchains: ToolchainStore,
    *,
    gpus: Sequence[Gpu],
    on_demand: OnDemand | None = None,
) -> Hello:
    cpu = read_cpu()
    return Hello(
        node=identity.node,
        instance=identity.instance,
        slots=pool.slots,
        level=pool.level,
        level_detail=pool.level_detail,
        gpus=list(gpus),
        toolchains=toolchains.list(),
        previews=pool.previews,
        builds=on_demand is not None,
        packages_allowed=sorted(on_demand.allowed) if on_demand else [],
        cpu_model=cpu.model,
        cpu_vendor=cpu.vendor,
        cpu_flags=sorted(cpu.flags),
        cores=cpu.cores,
    )
