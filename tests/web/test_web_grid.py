"""The matrix over versions: equal results are merged, others never; what was not tried is never filled in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from app.judging.judgement import Verdict
from app.runs.lookup.history import Point
from app.targets.target import Target
from app.web.views.grid.build import MOST_CELLS, MOST_COLUMNS, MOST_ROWS, build_grid
from app.web.views.grid.merging import result_key
from app.web.views.grid.since_sentence import since_sentence
from app.web.views.grid.table import Grid, span_name
from worker.contract import Device, Reason

DAY = datetime(2026, 11, 1, tzinfo=UTC)


def point(
    version: str, verdict: Verdict = Verdict.REPRODUCED, *, day: int = 0, settings: str = "", **more: object
) -> Point:
    target = Target(
        device=Device.CPU, toolchain=f"torch-{version}", settings={"threads": settings} if settings else {}
    )
    facts = {
        "script": "s",
        "target": target,
        "version": version,
        "at": DAY + timedelta(days=day),
        "verdict": verdict,
    }
    return Point.model_validate(
        {**facts, "job": f"j{version}{day}", "run": f"r{day}", "attempt": "a", "attempts": 3, **more}
    )


def shown(table: Grid, row: int = 0) -> list[tuple[str, int, Verdict | None]]:
    return [
        (cell.name, cell.span, None if cell.point is None else cell.point.verdict)
        for cell in table.rows[row].cells
    ]


def test_neighbours_with_equal_results_are_one_column() -> None:
    broken = [point(f"2.{minor}") for minor in range(1, 6)]
    mended = [point(f"2.{minor}", Verdict.NOT_REPRODUCED) for minor in range(6, 11)]
    table = build_grid([*mended, *broken], ["s"])
    assert [column.name for column in table.columns] == ["torch 2.1 to 2.5", "torch 2.6 to 2.10"]
    assert shown(table) == [("2.1 to 2.5", 1, Verdict.REPRODUCED), ("2.6 to 2.10", 1, Verdict.NOT_REPRODUCED)]
    assert (
        since_sentence(table)
        == "It happened in torch 2.1 to 2.5, and no longer in torch 2.6 to 2.10 (on 1 target)."
    )


def test_a_row_is_merged_over_columns_that_others_keep_apart() -> None:
    points = [
        point("2.1"),
        point("2.2", Verdict.NOT_REPRODUCED),
        point("2.1", settings="1"),
        point("2.2", settings="1"),
    ]
    table = build_grid(points, ["s"])
    assert len(table.columns) == 2
    assert {row.label: len(row.cells) for row in table.rows} == {"cpu": 2, "cpu:threads=1": 1}
    assert table.rows[0].cells[0].span == 2


def test_what_was_not_tried_parts_two_equal_results() -> None:
    points = [point("2.1"), point("2.3"), *(point(f"2.{minor}", settings="1") for minor in (1, 2, 3))]
    table = build_grid(points, ["s"])
    assert shown(table) == [("2.1", 1, Verdict.REPRODUCED), ("2.2", 1, None), ("2.3", 1, Verdict.REPRODUCED)]


def test_other_values_are_other_results_only_where_the_value_is_the_result() -> None:
    different = [point(version, Verdict.DIFFERENT, seen=f"got {version}") for version in ("2.1", "2.2")]
    flaky = [
        point(version, Verdict.FLAKY, seen=f"got {version}", matched=6, of=20) for version in ("2.1", "2.2")
    ]
    assert len(build_grid(different, ["s"]).columns) == 2
    assert len(build_grid(flaky, ["s"]).columns) == 1


def test_rates_are_merged_only_if_a_test_finds_no_difference() -> None:
    def flaky(*matched: int | None) -> Grid:
        points = [
            point(f"2.{minor}", Verdict.FLAKY, matched=met, of=None if met is None else 20)
            for minor, met in enumerate(matched, start=1)
        ]
        return build_grid(points, ["s"])

    [cell] = flaky(8, 4, 9, 6, 4, 6).rows[0].cells
    words = "37 of 120 (18 to 46 %) over 6 versions, which differ no more than by chance"
    assert cell.rate_words == words
    assert [cell.name for cell in flaky(2, 3, 17, 18).rows[0].cells] == ["2.1 to 2.2", "2.3 to 2.4"]
    # Without counts nothing can be tested.
    assert len(flaky(None, None).columns) == 2
    # A sighting with two rates is one change against a version without it.
    points = [
        point("2.1", Verdict.NOT_REPRODUCED),
        point("2.2", Verdict.FLAKY, matched=2, of=20),
        point("2.3", Verdict.FLAKY, matched=17, of=20),
    ]
    assert since_sentence(build_grid(points, ["s"])) == (
        "It did not happen in torch 2.1, and happens in torch 2.2 to 2.3 (on 1 target)."
    )
    apart = [point("2.1"), point("2.3"), point("2.4", Verdict.NOT_REPRODUCED), point("2.2", settings="1")]
    assert since_sentence(build_grid(apart, ["s"])) == ""


def test_byte_for_byte_needs_every_digest() -> None:
    same = [point(version, stdout_digest="sha256:1") for version in ("2.1", "2.2")]
    assert build_grid(same, ["s"]).rows[0].cells[0].exact
    other = [*same, point("2.3", stdout_digest="sha256:2")]
    assert not build_grid(other, ["s"]).rows[0].cells[0].exact
    assert not build_grid([point("2.1"), point("2.2")], ["s"]).rows[0].cells[0].exact
    # A flaky script prints different texts: only the first attempts are alike.
    sometimes = [
        point(version, Verdict.FLAKY, day=day, stdout_digest="sha256:1")
        for version in ("2.1", "2.2")
        for day in (2, 1)
    ]
    assert not build_grid(sometimes, ["s"]).rows[0].cells[0].exact


def test_the_newest_of_a_version_stands_and_says_what_was_before() -> None:
    [row] = build_grid([point("2.1", Verdict.NOT_REPRODUCED, day=2), point("2.1", day=1)], ["s"]).rows
    [cell] = row.cells
    assert cell.point is not None
    assert cell.before is not None
    assert (cell.point.verdict, cell.before.verdict) == (Verdict.NOT_REPRODUCED, Verdict.REPRODUCED)


def test_trouble_of_ours_does_not_hide_an_answer() -> None:
    [row] = build_grid([point("2.1", Verdict.NO_RESULT, day=2), point("2.1", day=1)], ["s"]).rows
    assert row.newest.verdict is Verdict.REPRODUCED


def test_versions_stand_in_their_order_and_rows_by_what_matters() -> None:
    points = [
        point("2.10", seen="a"),
        point("2.9", Verdict.DIFFERENT, seen="b"),
        point("nightly", Verdict.DIFFERENT, seen="c"),
    ]
    table = build_grid(points, ["s"])
    assert [column.versions for column in table.columns] == [("2.9",), ("2.10",), ("nightly",)]
    rows = build_grid(
        [point("2.1", settings="10"), point("2.1", settings="9"), point("2.1", Verdict.NOT_REPRODUCED)], ["s"]
    ).rows
    assert [row.label for row in rows] == ["cpu:threads=9", "cpu:threads=10", "cpu"]


def test_rows_without_an_answer_are_folded_and_all_stay_in_reach() -> None:
    reason = Reason(code="no_gpu", detail="The script needs a GPU.", who_can_act="operator")
    lacking = [
        point("2.1", Verdict.CANNOT_SHOW, settings=str(number), reason=reason) for number in range(1, 9)
    ]
    table = build_grid([point("2.1"), *lacking], ["s"])
    assert (len(table.rows), [len(fold.rows) for fold in table.folds]) == (1, [8])
    many = build_grid([point("2.1", settings=str(number), seen="boom") for number in range(1, 401)], ["s"])
    assert (len(many.rows), [len(fold.rows) for fold in many.folds]) == (0, [400])


def test_more_rows_than_a_page_holds_have_a_next_one() -> None:
    points = [
        point("2.1", Verdict.DIFFERENT, settings=str(number), seen=f"value {number}")
        for number in range(1, 101)
    ]
    first = build_grid(points, ["s"])
    assert (len(first.rows), first.total, first.next_start) == (60, 100, 60)
    last = build_grid(points, ["s"], start=60)
    assert (len(last.rows), last.next_start) == (40, None)
    assert {row.label for row in first.rows} & {row.label for row in last.rows} == set()


def test_a_page_of_the_table_has_so_many_cells_and_versions_and_all_are_in_reach() -> None:
    points = [
        point(f"2.{version}", Verdict.DIFFERENT, settings=str(row), seen=f"{version} {row}")
        for version in range(60)
        for row in range(1, 21)
    ]
    labels, versions = set[str](), set[str]()
    older: int | None = 0
    while older is not None:
        start: int | None = 0
        while start is not None:
            table = build_grid(points, ["s"], start=start, older=older)
            assert sum(len(row.cells) for row in table.rows) <= MOST_CELLS
            assert all(
                sum(cell.span for cell in row.cells) == len(table.columns) <= MOST_COLUMNS
                for row in table.rows
            )
            assert table.dense
            labels |= {row.label for row in table.rows}
            start = table.next_start
        versions |= {version for column in table.columns for version in column.versions}
        older = table.newer + len(table.columns) if table.older else None
    assert (len(labels), len(versions)) == (20, 60)


def test_a_result_that_goes_on_beyond_the_page_says_so_and_since_looks_at_all() -> None:
    points = [point(f"2.{version}") for version in range(3)]
    points += [point(f"2.{version}", Verdict.NOT_REPRODUCED) for version in range(3, 40)]
    points += [
        point(f"2.{version}", Verdict.DIFFERENT, settings="1", seen=str(version)) for version in range(40)
    ]
    table = build_grid(points, ["s"])
    cells = next(row for row in table.rows if row.label == "cpu").cells
    assert [(cell.span, cell.name) for cell in cells] == [(MOST_COLUMNS, "2.3 to 2.39")]
    assert since_sentence(table).startswith(
        "It happened in torch 2.0 to 2.2, and no longer in torch 2.3 to 2.39"
    )


def test_each_target_by_itself_when_it_is_asked_for() -> None:
    many = build_grid(
        [point("2.1", settings=str(number), seen="boom") for number in range(1, 401)], ["s"], each=True
    )
    assert (many.total, many.folds, len(many.rows)) == (400, (), MOST_ROWS)


def test_contributed_evidence_has_a_row_of_its_own() -> None:
    rows = build_grid([point("2.1"), point("2.1", Verdict.NOT_REPRODUCED, contributed_by="Ada")], ["s"]).rows
    assert [row.contributed_by for row in rows] == [None, "Ada"]


def test_nothing_is_said_where_rows_disagree() -> None:
    rows = [
        point("2.1"),
        point("2.2", Verdict.NOT_REPRODUCED),
        point("2.1", Verdict.NOT_REPRODUCED, settings="1"),
        point("2.2", settings="1"),
    ]
    assert since_sentence(build_grid(rows, ["s"])) == ""
    assert since_sentence(build_grid([], [])) == ""


def test_names() -> None:
    assert [span_name(versions) for versions in (("2.1",), ("2.1", "2.2", "2.3"), ())] == [
        "2.1",
        "2.1 to 2.3",
        "version not known",
    ]


points = st.builds(
    point,
    st.sampled_from(["2.1", "2.2", "2.3", "2.10"]),
    st.sampled_from(list(Verdict)),
    day=st.integers(0, 3),
    settings=st.sampled_from(["", "1", "2"]),
    seen=st.sampled_from(["", "a", "b"]),
)


@given(st.lists(points, max_size=24))
def test_every_cell_shows_a_result_of_its_own_versions_and_spans_fill_the_table(found: list[Point]) -> None:
    newest_first = sorted(found, key=lambda one: one.at, reverse=True)
    table = build_grid(newest_first, ["s"])
    for row in table.every:
        assert sum(cell.span for cell in row.cells) == len(table.columns)
        for cell in row.cells:
            if cell.point is not None:
                mine = [one for one in found if one.version in cell.versions and _label(one) == row.label]
                assert result_key(cell.point) in {result_key(one) for one in mine}
        assert all(
            result_key(one.point) != result_key(other.point)
            # Without counts, two rates are not known to be one.
            or (one.point is not None and one.point.verdict is Verdict.FLAKY)
            for one, other in zip(row.cells, row.cells[1:], strict=False)
        )
    assert {version for column in table.columns for version in column.versions} == {
        one.version for one in found
    }


def _label(one: Point) -> str:
    return one.target.model_copy(update={"toolchain": ""}).label()


def test_a_version_is_one_of_the_package_that_it_is_of() -> None:
    broken = [point(version, package="numpy") for version in ("2.0.2", "2.10.0")]
    table = build_grid([*broken, point("1.26.4", Verdict.NOT_REPRODUCED, package="numpy")], ["s"])
    assert [column.name for column in table.columns] == ["numpy 1.26.4", "numpy 2.0.2 to 2.10.0"]
    assert (
        since_sentence(table)
        == "It did not happen in numpy 1.26.4, and happens in numpy 2.0.2 to 2.10.0 (on 1 target)."
    )
