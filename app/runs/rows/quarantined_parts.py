"""Reads the current quarantines, and applies them to fleets and plans."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy.orm import Session

from app.states import QuarantineKind
from app.storage.queries.queue import quarantines as queries
from app.targets.fleet import nearest_lack
from app.targets.planning.plan import Plan
from app.targets.quarantines import QUARANTINED, Quarantines
from app.targets.target import Target
from worker.contract import Hello, Level


def current_quarantines(session: Session) -> Quarantines:
    """The nodes, toolchains and scripts in quarantine."""
    return quarantines_of((row.kind, row.name) for row in queries.active_names(session))


def quarantines_of(names: Iterable[tuple[QuarantineKind, str]]) -> Quarantines:
    """The quarantines by the kinds and names of the things."""
    listed = list(names)
    by_kind = {
        kind: frozenset(name for listed_kind, name in listed if listed_kind == kind)
        for kind in ("node", "toolchain", "script")
    }
    return Quarantines(nodes=by_kind["node"], toolchains=by_kind["toolchain"], scripts=by_kind["script"])


def offers(fleet: Iterable[Hello], quarantines: Quarantines) -> list[Hello]:
    """The fleet without its quarantined nodes and toolchains."""
    return [offer for hello in fleet if (offer := quarantines.offer(hello)) is not None]


def mark_quarantined(
    plan: Plan, quarantines: Quarantines, *, whole_fleet: Iterable[Hello], required_level: Level
) -> Plan:
    """The plan, with the reason of those cells set that only a quarantine keeps from running."""
    fleet = list(whole_fleet)
    offered = offers(fleet, quarantines)

    def is_quarantined(target: Target) -> bool:
        """Whether no offered node serves the target, but one of the whole fleet does."""
        lack, lack_of_whole_fleet = (
            nearest_lack(nodes, target, required_level=required_level) for nodes in (offered, fleet)
        )
        return lack is not None and lack_of_whole_fleet is None

    cells = tuple(
        replace(cell, reason=QUARANTINED)
        if cell.script in quarantines.scripts or is_quarantined(cell.target)
        else cell
        for cell in plan.cells
    )
    return replace(plan, cells=cells)
