"""What is in quarantine now, for whoever plans, dispatches and reaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy.orm import Session

from app.storage.queries.queue import quarantines as queries
from app.targets.fleet import nearest_lack
from app.targets.planning.plan import Plan
from app.targets.quarantines import QUARANTINED, Quarantines
from app.targets.target import Target
from worker.contract import Hello, Level


def held_back(session: Session) -> Quarantines:
    """What is in quarantine."""
    rows = queries.active(session)
    names = {
        kind: frozenset(row.name for row in rows if row.kind == kind)
        for kind in ("node", "toolchain", "script")
    }
    return Quarantines(nodes=names["node"], toolchains=names["toolchain"], scripts=names["script"])


def offers(fleet: Iterable[Hello], held: Quarantines) -> list[Hello]:
    """What the nodes may be given."""
    return [offer for hello in fleet if (offer := held.offer(hello)) is not None]


def as_held(plan: Plan, held: Quarantines, *, whole_fleet: Iterable[Hello], required_level: Level) -> Plan:
    """A plan that says of its cells which only a quarantine keeps from running."""
    fleet = list(whole_fleet)
    offered = offers(fleet, held)

    def only_held(target: Target) -> bool:
        lack, whole_lack = (
            nearest_lack(nodes, target, required_level=required_level) for nodes in (offered, fleet)
        )
        return lack is not None and whole_lack is None

    cells = tuple(
        replace(cell, reason=QUARANTINED) if cell.script in held.scripts or only_held(cell.target) else cell
        for cell in plan.cells
    )
    return replace(plan, cells=cells)
