"""The order of the queue, when each cell would start, and what a plan would take."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from targets.test_plan import CPU_BUILD, CUDA_BUILD, node

from app.runs.estimates.durations import Durations, attempts_of, cell_estimate, machine_seconds
from app.runs.estimates.queue_position import FleetLoad, OwnCell, positions
from app.runs.run_object.document import RangePart, WaitingPart
from app.storage.queries.queue.queue_position import AttemptDuration, WaitingCell
from app.targets.parse import parse_target
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import Hello, Level

CPU = parse_target("cpu@torch-2.13-cpu")
CUDA = parse_target("cuda@torch-2.13-cu130")
FLEET = (node(CPU_BUILD), node(CPU_BUILD, CUDA_BUILD, gpus=1).model_copy(update={"node": "g"}))


def mine(*targets: Target) -> list[OwnCell]:
    return [
        OwnCell(job_id=f"mine{number}", script="d", target=target) for number, target in enumerate(targets)
    ]


def others(run_id: str, *targets: Target) -> list[WaitingCell]:
    return [
        WaitingCell(run_id=run_id, job_id=f"{run_id}{number}", target=one.model_dump(mode="json"))
        for number, one in enumerate(targets)
    ]


def fleet_load(
    fleet: tuple[Hello, ...] = FLEET,
    *,
    by_node: dict[str, int] | None = None,
    by_run: dict[str, int] | None = None,
) -> FleetLoad:
    return FleetLoad(
        fleet=fleet, held_by_node=by_node or {}, held_by_run=by_run or {}, required_level=Level.NAMESPACES
    )


def took(*seconds: float, script: str = "d", target: Target = CPU) -> list[AttemptDuration]:
    return [
        AttemptDuration(script=script, target=target.model_dump(mode="json"), seconds=each)
        for each in seconds
    ]


FOUR = Durations(wall_seconds=60, scripts=took(4, 4, 4), recent=took(4, 4, 4, script="x"))


def places(run_id: str, cells: list[OwnCell], waiting: list[WaitingCell], **how: object) -> list[WaitingPart]:
    load = how.pop("load", fleet_load())
    parts = positions(run_id, cells, waiting, load=load, durations=FOUR, **how)  # type: ignore[arg-type]
    return [parts[cell.job_id] for cell in cells]


def test_runs_take_turns_and_the_run_with_fewest_held_attempts_comes_first() -> None:
    before, after = others("r1", CPU, CPU, CPU), others("r3", CPU, CPU, CPU)
    assert [place.position for place in places("r2", mine(CPU, CPU), before + after)] == [2, 5]
    busy = fleet_load(by_run={"r2": 2})
    assert [place.position for place in places("r2", mine(CPU), before + after, load=busy)] == [6]
    assert [
        place.position
        for place in places("r2", mine(CPU), before + after, load=fleet_load(by_run={"r1": 9, "r3": 9}))
    ] == [1]
    assert {place.of for place in places("r2", mine(CPU, CPU), before + after)} == {8}


def test_background_runs_come_after_all_submitted_runs() -> None:
    imported = [replace(cell, background=True) for cell in others("r1", CPU, CPU, CPU)]
    assert [place.position for place in places("r2", mine(CPU, CPU), imported)] == [1, 2]
    submitted = others("r3", CPU, CPU)
    assert [place.position for place in places("r2", mine(CPU), imported + submitted, background=True)] == [4]


def test_only_who_waits_for_the_same_machines_is_ahead() -> None:
    fleet = (node(CPU_BUILD), node(CUDA_BUILD, gpus=1).model_copy(update={"node": "g"}))
    chains = {"cpu": CPU, "cuda": CUDA}
    [place] = places("r2", mine(chains["cuda"]), others("r1", CPU, CPU, CPU), load=fleet_load(fleet))
    assert (place.position, place.of) == (1, 1)


def test_a_free_place_is_taken_at_once() -> None:
    [place] = places("r2", mine(CPU), others("r1", CPU))
    assert place.starts_in is not None
    assert (place.starts_in.at_least, place.starts_in.about) == (0.0, 0.0)


def test_what_waits_and_runs_before_it_is_counted_over_all_places() -> None:
    # Four places in all: twelve cells of about three attempts of four seconds are ahead, and four attempts
    # are held.
    crowd = [cell for number in range(12) for cell in others(f"r{number:02}", CPU)]
    [place] = places("r99", mine(CPU), crowd, load=fleet_load(by_node={"n": 2, "g": 2}))
    assert place.position == 13
    assert place.starts_in is not None
    assert place.starts_in.about == round((12 * 3 * 4 + 4 * 4 * 3 / 2) / 4, 1)
    assert place.starts_in.at_least < place.starts_in.about < (place.starts_in.at_most or 0)


def test_a_line_that_is_longer_than_was_looked_at_has_no_latest_time() -> None:
    [place] = places("r2", mine(CPU), others("r1", CPU), is_cut=True)
    assert place.of_at_least
    assert place.starts_in is not None
    assert place.starts_in.at_most is None


def test_where_no_node_serves_it_nobody_can_say_when() -> None:
    [place] = places("r2", mine(CUDA), [], load=fleet_load((node(CPU_BUILD),)))
    assert (place.position, place.starts_in) == (1, None)


CELLS = st.lists(st.tuples(st.sampled_from(["r1", "r3", "r4"]), st.sampled_from([CPU, CUDA])), max_size=20)


@given(
    CELLS,
    st.lists(st.sampled_from([CPU, CUDA]), min_size=1, max_size=6),
    st.dictionaries(st.sampled_from(["r1", "r2"]), st.integers(0, 4)),
)
def test_places_are_in_order_and_ranges_hold_what_they_say(
    waiting: list[tuple[str, Target]], targets: list[Target], at_work: dict[str, int]
) -> None:
    counts: Counter[str] = Counter()
    cells = []
    for run_id, target in sorted(waiting, key=lambda pair: pair[0]):
        cells.append(
            WaitingCell(
                run_id=run_id, job_id=f"{run_id}{counts[run_id]}", target=target.model_dump(mode="json")
            )
        )
        counts[run_id] += 1
    found = places("r2", mine(*targets), cells, load=fleet_load(by_run=at_work, by_node={"n": 1}))
    for place in found:
        assert 1 <= place.position <= place.of <= len(waiting) + len(targets)
        assert place.starts_in is not None
        assert 0 <= place.starts_in.at_least <= place.starts_in.about <= (place.starts_in.at_most or 0)
    for target in (CPU, CUDA):
        same = [place.position for place, cell in zip(found, targets, strict=True) if cell == target]
        assert same == sorted(set(same))


def test_seconds_rest_on_the_nearest_that_is_known() -> None:
    known = Durations(
        wall_seconds=60,
        scripts=[*took(2, 3, 4), *took(1, 9, target=parse_target("cpu@torch-2.13-cpu:threads=1"))],
        recent=took(7, 8, 9, script="x", target=CUDA),
    )
    assert known.of("d", CPU).range == RangePart(at_least=2, about=3, at_most=4)
    one = known.of("d", parse_target("cpu@torch-2.13-cpu:threads=1"))
    assert (one.basis, one.range.about, one.range.at_most) == ("measured", 5.0, 27.0)
    assert known.of("d", parse_target("cpu@torch-2.3-cpu")).basis == "script"
    recent = known.of("d", CUDA)
    assert (recent.basis, recent.range.about, recent.range.at_most) == ("recent", 8.0, 70.0)
    guess = Durations(wall_seconds=60).of("d", CUDA)
    assert (guess.basis, guess.range.at_most) == ("guess", 70.0)
    assert Durations(wall_seconds=60, scripts=took(500)).of("d", CPU).range.at_most == 70.0


def test_a_plan_counts_attempts_by_how_repeats_adapt() -> None:
    exact, adaptive = RepeatPlan(7, exact=True), RepeatPlan(5)
    assert (attempts_of(exact), attempts_of(adaptive), attempts_of(RepeatPlan(30))) == (
        (7, 7, 7),
        (1, 5, 20),
        (1, 30, 30),
    )
    seconds = FOUR.of("d", CPU)
    assert machine_seconds(exact, [seconds] * 3) == RangePart(at_least=84, about=84, at_most=84)
    assert machine_seconds(adaptive, [seconds]) == RangePart(at_least=4, about=20, at_most=80)
    assert cell_estimate(adaptive, seconds).attempts_at_most == 20


@given(st.lists(st.floats(0, 1e5), max_size=6), st.sampled_from([CPU, CUDA]), st.floats(0.1, 600))
def test_a_range_is_in_order_whatever_was_measured(seconds: list[float], target: Target, wall: float) -> None:
    for durations in (
        Durations(wall_seconds=wall, scripts=took(*seconds)),
        Durations(wall_seconds=wall, recent=took(*seconds, script="x")),
    ):
        found = durations.of("d", target).range
        assert 0 <= found.at_least <= found.about <= (found.at_most or 0)
