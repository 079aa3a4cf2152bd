"""What is in quarantine now, for whoever plans, dispatches and reaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy.orm import Session

from app.storage.queries import quarantines as queries
from app.targets.fleet import nearest_lack
from app.targets.held_back import QUARANTINED, HeldBack
from app.targets.plan import Plan
from worker.contract import Hello, Level


def held_back(session: Session) -> HeldBack:
    """What is in quarantine."""
    rows = queries.active(session)
    names = {kind: frozenset(row.name for row in rows if row.kind == kind) for kind in ("node", "toolchain", "script")}
    return HeldBack(nodes=names["node"], toolchains=names["toolchain"], scripts=names["script"])


def offers(fleet: Iterable[Hello], held: HeldBack) -> list[Hello]:
    """What the nodes may be given."""
    return [offer for hello in fleet if (offer := held.offer(hello)) is not None]


def as_held(plan: Plan, held: HeldBack, *, whole_fleet: Iterable[Hello], required_level: Level) -> Plan:
    """A plan over what is not held back, saying of its cells which only a quarantine keeps from running."""
    fleet = list(whole_fleet)
    cells = tuple(
        replace(cell, reason=QUARANTINED)
        if cell.script in held.scripts
        or (cell.reason is not None and nearest_lack(fleet, cell.target, required_level=required_level) is None)
        else cell
        for cell in plan.cells
    )
    return replace(plan, cells=cells)
