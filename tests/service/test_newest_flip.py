"""The regression on which the answer of a report rests, where several runs show one."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.runs.answers import report_answer
from app.storage.models import ChangeRow

REMOVAL: dict[str, Any] = {"cause": "announced"}


class Row(NamedTuple):
    ChangeRow: ChangeRow
    run_id: str


def row(newer: str, *, removal: dict[str, Any] | None = None, kind: ChangeKind = ChangeKind.REGRESSED) -> Row:
    change = ChangeRow(kind=kind, axis="numpy", older="2.3.5", newer=newer, removal=removal)
    return Row(change, "r")


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        # The newest first. A bisection without warnings came after the run that kept them.
        ([row("2.4.0"), row("2.4.0", removal=REMOVAL)], 1),
        ([row("2.4.0", removal=REMOVAL), row("2.4.0")], 0),
        ([row("2.4.0"), row("2.4.0")], 0),
        # A warning about an older version says nothing about the newest.
        ([row("2.4.0"), row("2.2.0", removal=REMOVAL)], 0),
        ([row("2.4.0"), row("2.4.0", removal=REMOVAL, kind=ChangeKind.FIXED)], 0),
    ],
)
def test_one_that_an_older_version_foretold_counts(rows: list[Any], place: int) -> None:
    chosen = report_answer._newest_flip(rows, Attention.STILL_BROKEN)
    assert chosen is not None
    assert chosen.change is rows[place].ChangeRow
