"""A run's page leads on to all entries of its lists, says what ends a stage, and draws a bisection."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.runs.estimates.wording import end_of_stage
from app.runs.run_object.bisection_document import BisectionDocument
from app.runs.run_object.parts.estimates import ProgressPart
from app.web.views.environments import environment_views
from app.web.views.pictures import bisection_picture
from app.web.views.run_page import Places

MOMENT = datetime(2026, 11, 30, tzinfo=UTC)


def test_each_list_goes_on_without_moving_the_others() -> None:
    places = Places(cell=40, environment=4)
    assert places.link(comparison=5) == "from=40&compared=5&environment=4"
    assert places.link(cell=0, environment=0) == ""


def test_every_environment_is_on_one_of_the_pages() -> None:
    environments = {f"sha256:{number}": {"cpu.model": "x", "blas.path": str(number)} for number in range(6)}
    pages = [environment_views(environments, start=start, most=4) for start in (0, 4)]
    assert [view.digest for page in pages for view in page] == list(environments)
    assert [view.first for page in pages for view in page] == [True, *[False] * 5]
    # Those of a later page differ from the first of all.
    assert pages[1][0].rows == (("blas.path", "4"),)
    assert environment_views({}, start=4) == []


@pytest.mark.parametrize(
    ("stage", "stopped_after", "words"),
    [
        ("running", 60, "it ends by itself, or is stopped after 60 s"),
        ("running", None, ""),
        ("waits_for_place", None, "it starts when an attempt there ends"),
        ("queued", None, ""),
    ],
)
def test_a_stage_says_what_ends_it(stage: str, stopped_after: int | None, words: str) -> None:
    stopped_at = None if stopped_after is None else MOMENT + timedelta(seconds=stopped_after)
    part = ProgressPart.model_validate({"stage": stage, "since": MOMENT, "stopped_at": stopped_at})
    assert end_of_stage(part) == words


def bisection(*points: tuple[str, int, int]) -> BisectionDocument:
    """A bisection over numpy with these versions, and how many of their attempts show it."""
    target = {"device": "cpu", "toolchain": "numpy-2.0"}
    return BisectionDocument.model_validate(
        {
            "id": "b",
            "report": "r",
            "run": "r",
            "axis": "numpy",
            "state": "running",
            "error": 0.05,
            "points": [
                {"value": value, "target": target, "seen": seen, "of": of} for value, seen, of in points
            ],
        }
    )


def test_a_bisection_is_drawn_once_something_was_measured() -> None:
    assert bisection_picture(bisection(("2.0", 0, 0), ("2.1", 0, 0))) is None
    picture = bisection_picture(bisection(("2.0", 0, 3), ("2.1", 0, 0), ("2.2", 4, 4), ("2.3", 1, 2)))
    assert picture is not None
    assert picture.words.startswith("It does not happen in 2.0 (0 of 3)")
    for words in ("numpy 2.1: not tried", "numpy 2.2: 4 of 4", "numpy 2.3: 1 of 2"):
        assert f"<title>{words}</title>" in picture.strip


def test_of_many_points_those_that_were_tried_are_drawn() -> None:
    points = [(f"2.{number}", 0, number % 2) for number in range(40)]
    picture = bisection_picture(bisection(*points))
    assert picture is not None
    assert picture.strip.count("<title>") == 20
    assert "not tried" not in picture.strip
