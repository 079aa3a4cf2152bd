"""The sentence that says since which version a bug happens, or no longer happens."""

from __future__ import annotations

from app.judging.judgement import SIGHTINGS, Verdict
from app.web.views.grid.table import Grid, package_name

_CONCLUSIVE = SIGHTINGS | {Verdict.NOT_REPRODUCED}


def since_sentence(grid: Grid) -> str:
    """One sentence with versions and counts. Empty unless all rows that change agree on one change.

    It speaks of our own runs alone: whoever contributes a run chooses its versions.
    """
    flips: dict[tuple[str, str, bool], int] = {}
    folded = [(fold.rows[0].cells, len(fold.rows)) for fold in grid.folds]
    own = [(row.cells, 1) for row in grid.every if row.contributed_by is None]
    for cells, count in [*own, *folded]:
        conclusive = [cell for cell in cells if cell.point is not None and cell.point.verdict in _CONCLUSIVE]
        happens = [cell.point is not None and cell.point.verdict in SIGHTINGS for cell in conclusive]
        if len(conclusive) == 2 and happens[0] != happens[1]:
            older, newer = (package_name(grid.package, cell.versions) for cell in conclusive)
            key = (older, newer, happens[1])
            flips[key] = flips.get(key, 0) + count
    if len(flips) != 1:
        return ""
    [((older, newer, happens_now), count)] = flips.items()
    where = f" (on {count} target{'' if count == 1 else 's'})"
    return (
        f"It did not happen in {older}, and happens in {newer}{where}."
        if happens_now
        else f"It happened in {older}, and no longer in {newer}{where}."
    )
