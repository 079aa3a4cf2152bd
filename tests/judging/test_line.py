"""The order of the queue, when each cell would start, and what a plan would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from targets.test_plan import CPU_BUILD, CUDA_BUILD, node

from app.runs.estimates.durations import Durations, attempts_of, cell_estimate, machine_seconds
from app.runs.estimates.queue_position import FleetLoad, positions
from app.runs.run_object.parts.estimates import RangePart, WaitingPart
from app.settings import ServiceSettings
from app.storage.queries.queue.queue import Candidate, Hold
from app.storage.queries.queue.queue_position import AttemptDuration
from app.targets.parse import parse_target
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import Hello, Level

CPU = parse_target("cpu@torch-2.13-cpu")
CUDA = parse_target("cuda@torch-2.13-cu130")
FLEET = (node(CPU_BUILD), node(CPU_BUILD, CUDA_BUILD, gpus=1).model_copy(update={"node": "g"}))


MOMENT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def cells(run_id: str, *targets: Target, **more: Any) -> list[Candidate]:
    """The first attempt of each cell of a run."""
    return [
        Candidate(
            **{
                "attempt_id": f"{run_id}-{number}",
                "job_id": f"{run_id}-{number}",
                "run_id": run_id,
                "node": None,
                "target": target.model_dump(mode="json"),
                "queued_at": MOMENT,
                **more,
            }
        )
        for number, target in enumerate(targets)
    ]


def holds(number: int, run_id: str = "r0", node: str = "n", **more: Any) -> list[Hold]:
    return [Hold(node=node, run_id=run_id, target=CPU.model_dump(mode="json"), **more)] * number


def fleet_load(fleet: tuple[Hello, ...] = FLEET, *, holds: Sequence[Hold] = ()) -> FleetLoad:
    return FleetLoad(fleet=fleet, holds=holds, required_level=Level.NAMESPACES)


def took(*seconds: float, script: str = "d", target: Target = CPU) -> list[AttemptDuration]:
    return [
        AttemptDuration(script=script, target=target.model_dump(mode="json"), seconds=each)
        for each in seconds
    ]


FOUR = Durations(wall_seconds=60, scripts=took(4, 4, 4), recent=took(4, 4, 4, script="x"))


def places(run_id: str, waiting: list[Candidate], **how: Any) -> list[WaitingPart]:
    """The queue positions of the cells of a run, in the order of its plan."""
    load = how.pop("load", fleet_load())
    own = [candidate.job_id for candidate in waiting if candidate.run_id == run_id and not candidate.turn]
    parts = positions(
        own, waiting, load=load, durations=FOUR, moment=MOMENT, settings=ServiceSettings(), **how
    )
    return [parts[job_id] for job_id in own]


def test_runs_take_turns_and_the_run_with_fewest_held_attempts_comes_first() -> None:
    waiting = [*cells("r1", CPU, CPU, CPU), *cells("r2", CPU, CPU), *cells("r3", CPU, CPU, CPU)]
    assert [place.position for place in places("r2", waiting)] == [2, 5]
    assert {place.of for place in places("r2", waiting)} == {8}
    # It has two of the six attempts that the nodes hold.
    [first, _] = places("r2", waiting, load=fleet_load(holds=holds(2, "r2")))
    assert first.position == 5
    [first, _] = places("r2", waiting, load=fleet_load(holds=[*holds(3, "r1"), *holds(3, "r3", node="g")]))
    assert first.position == 1


def test_a_first_answer_comes_before_repeats_and_later_cells_of_runs_that_have_begun() -> None:
    begun = [replace(each, run_has_begun=True) for each in cells("r1", CPU, CPU)]
    repeats = [replace(begun[0], attempt_id=f"r1-0-{turn}", turn=turn) for turn in (1, 2)]
    full = fleet_load(holds=holds(6, "r0"))
    [new] = places("r2", [*begun, *repeats, *cells("r2", CPU)], load=full)
    assert (new.position, new.of) == (1, 3)
    # A cell of its own that is later in the plan waits for the first answers of others.
    [_, later] = places("r2", [*cells("r2", CPU, CPU), *cells("r3", CPU)], load=full)
    assert later.position == 3
    # Who has waited too long is overtaken no more.
    old = [replace(each, queued_at=MOMENT - timedelta(seconds=301)) for each in begun]
    [new] = places("r2", [*old, *cells("r2", CPU)], load=full)
    assert new.position == 2


def test_submitters_take_turns_whatever_the_number_of_their_runs() -> None:
    many = [cell for run in range(6) for cell in cells(f"r{run}", CPU, submitter="many")]
    few = cells("r9", CPU, submitter="few")
    assert [place.position for place in places("r9", [*many, *few])] == [2]
    full = fleet_load(holds=holds(6, "r7", submitter="many"))
    assert [place.position for place in places("r9", [*many, *few], load=full)] == [1]


def test_background_runs_come_after_all_submitted_runs() -> None:
    imported = cells("r1", CPU, CPU, CPU, background=True)
    assert [place.position for place in places("r2", [*imported, *cells("r2", CPU, CPU)])] == [1, 2]
    waiting = [*imported, *cells("r3", CPU, CPU), *cells("r2", CPU, background=True)]
    assert [place.position for place in places("r2", waiting)] == [4]


def test_only_who_waits_for_the_same_machines_is_ahead() -> None:
    fleet = (node(CPU_BUILD), node(CUDA_BUILD, gpus=1).model_copy(update={"node": "g"}))
    chains = {"cpu": CPU, "cuda": CUDA}
    waiting = [*cells("r1", CPU, CPU, CPU), *cells("r2", chains["cuda"])]
    [place] = places("r2", waiting, load=fleet_load(fleet))
    assert (place.position, place.of) == (1, 1)


def test_a_free_place_is_taken_at_once() -> None:
    [place] = places("r2", [*cells("r1", CPU), *cells("r2", CPU)])
    assert place.starts_in is not None
    assert (place.starts_in.at_least, place.starts_in.about) == (0.0, 0.0)


def test_what_waits_and_runs_before_it_is_counted_over_all_places() -> None:
    # Four places in all: twelve cells of four seconds are ahead, and four attempts are half done.
    crowd = [cell for number in range(12) for cell in cells(f"r{number:02}", CPU)]
    load = fleet_load(holds=[*holds(2), *holds(2, node="g")])
    [place] = places("r99", [*crowd, *cells("r99", CPU)], load=load)
    assert place.position == 13
    assert place.starts_in is not None
    assert place.starts_in.about == (12 * 4 + 4 * 4 / 2) / 4
    assert place.starts_in.at_least < place.starts_in.about < (place.starts_in.at_most or 0)


def test_a_line_that_is_longer_than_was_looked_at_has_no_latest_time() -> None:
    [place] = places("r2", [*cells("r1", CPU), *cells("r2", CPU)], is_cut=True)
    assert place.of_at_least
    assert place.starts_in is not None
    assert place.starts_in.at_most is None


def test_where_no_node_serves_it_nobody_can_say_when() -> None:
    [place] = places("r2", cells("r2", CUDA), load=fleet_load((node(CPU_BUILD),)))
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
    by_run = {run: [target for other, target in waiting if other == run] for run in ("r1", "r3", "r4")}
    queue = [cell for run, those in by_run.items() for cell in cells(run, *those)] + cells("r2", *targets)
    held = [hold for run, number in at_work.items() for hold in holds(number, run)]
    found = places("r2", queue, load=fleet_load(holds=held))
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
