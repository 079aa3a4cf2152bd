"""Plan the cells of a run on the service: with its presets and limits, and with what is quarantined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from app.intake.claim.claims import Role
from app.intake.reading import Reading, ScriptRole
from app.judging.verdict.attempts_needed import contrast_plan, most_attempts
from app.runs.rows.nodes import whole_fleet
from app.runs.rows.presets import known_presets
from app.runs.rows.quarantined_parts import current_quarantines, mark_quarantined
from app.settings import ServiceSettings
from app.targets.planning.contrast_cell import Sighting, contrast_cell, may_have_contrast_cell
from app.targets.planning.plan import Plan, RepeatPlan, make_plan, plan_cell, runnable
from app.targets.planning.run_request import RunRequest
from app.targets.quarantines import Quarantines
from app.targets.target import Target
from worker.contract import Hello


def plan_run(
    session: Session,
    reading: Reading,
    request: RunRequest,
    *,
    fleet: Sequence[Hello],
    settings: ServiceSettings,
    quarantines: Quarantines | None = None,
    whole: Sequence[Hello] | None = None,
) -> Plan:
    """The plan of a request. A cell that only a quarantine keeps from running says so. Raises InputError.

    `quarantines` and the `whole` fleet, with what is quarantined, are read if they are not known.
    """
    if request.preset is None and request.targets is None:
        request = replace(request, preset=settings.preset)
    if quarantines is None:
        quarantines = current_quarantines(session)
    if whole is None:
        whole = whole_fleet(session, settings=settings) if quarantines else fleet
    plan = make_plan(
        reading,
        request,
        fleet=fleet,
        whole_fleet=whole,
        required_level=settings.required_level,
        presets=known_presets(settings),
        most_cells=settings.cells,
        most_repeats=settings.repeats,
    )
    if not quarantines:
        return plan
    return mark_quarantined(plan, quarantines, whole_fleet=whole, required_level=settings.required_level)


def looks_for_contrast(plan: Plan | None, settings: ServiceSettings) -> bool:
    """Whether a submitted run of this plan may get one cell more, to look for a contrast."""
    if plan is None or plan.preset is None or not settings.contrast_seconds:
        return False
    return may_have_contrast_cell(plan, known_presets(settings).get(plan.preset))


def possible_contrast(
    reading: Reading, plan: Plan, text: str, *, fleet: Sequence[Hello], settings: ServiceSettings
) -> str | None:
    """The label of the cell that may be added to look for a contrast, if the first cell shows the claim."""
    mains = {script.digest for script in reading.scripts if script.role is ScriptRole.MAIN}
    cells = [cell for cell in plan.cells if cell.script in mains and cell.reason is None]
    if not cells or not looks_for_contrast(plan, settings):
        return None
    script, few = reading.script_of(cells[0].script), contrast_plan(plan.repeats)
    if not reading.claim.having(Role.BUG) or most_attempts(reading.claim, script, few) > few.at_most:
        return None
    sighting = Sighting(
        claim=reading.claim,
        script=script,
        seen=cells[0].target,
        ran=tuple(cell.target for cell in plan.cells if cell.script == script.digest),
    )
    cell = contrast_cell(sighting, text, fleet=fleet, required_level=settings.required_level)
    return None if cell is None else cell.target.label()


def plan_same_cells(
    session: Session,
    reading: Reading,
    cells: Iterable[tuple[str, Target]],
    *,
    repeats: RepeatPlan,
    preset: str | None,
    fleet: Sequence[Hello],
    settings: ServiceSettings,
) -> Plan:
    """Plan the cells of an earlier run again, by script digest and target, for the fleet as it is now."""
    scripts = runnable(reading)
    quarantines = current_quarantines(session)
    whole = whole_fleet(session, settings=settings) if quarantines else fleet
    planned_cells = [
        plan_cell(
            scripts[digest],
            target,
            fleet,
            whole_fleet=whole,
            required_level=settings.required_level,
            explicit=False,
        )
        for digest, target in cells
    ]
    plan = Plan(tuple(planned_cells), repeats, preset)
    if not quarantines:
        return plan
    return mark_quarantined(plan, quarantines, whole_fleet=whole, required_level=settings.required_level)
