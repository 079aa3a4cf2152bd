"""The sentence that says since which version a bug happens, or no longer happens."""

from __future__ import annotations

from itertools import chain, groupby

from app.judging.judgement import SIGHTINGS, Verdict
from app.web.views.grid.table import Grid, GridCell, package_name

_CONCLUSIVE = SIGHTINGS | {Verdict.NOT_REPRODUCED}


def since_sentence(grid: Grid) -> str:
    """One sentence with versions and counts. Empty unless all rows that change agree on one change.

    It speaks of our own runs alone: whoever contributes a run chooses its versions.
    """
    flips: dict[tuple[str, str, bool], int] = {}
    folded = [(fold.rows[0].cells, len(fold.rows)) for fold in grid.folds]
    own = [(row.cells, 1) for row in grid.every if row.contributed_by is None]
    for cells, count in [*own, *folded]:
        # Neighbours that agree are one, as where a flaky result has several rates. A gap parts them.
        alike = [
            (happens, tuple(chain.from_iterable(cell.versions for cell in some)))
            for happens, some in groupby(cells, key=_happens)
            if happens is not None
        ]
        if len(alike) == 2:
            older, newer = (package_name(grid.package, versions) for _, versions in alike)
            key = (older, newer, alike[1][0] is True)
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


def _happens(cell: GridCell) -> bool | None:
    """Whether it happens there. None if that is not known."""
    if cell.point is None or cell.point.verdict not in _CONCLUSIVE:
        return None
    return cell.point.verdict in SIGHTINGS
