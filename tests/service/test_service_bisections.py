"""A bisection on the service reaches its answer through lost nodes, restarts and flaky results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import pytest
from sqlalchemy import update
from stage import Stage, result

from app.errors import ConflictError, InputError
from app.judging.judgement import Verdict
from app.runs.lookup.answers import with_answer
from app.runs.lookup.matrix import matrix
from app.runs.lookup.reports import report_details
from app.runs.run_object.bisection_document import BisectionDocument
from app.runs.run_object.bisection_state import BisectionRequest
from app.runs.submission.bisections import (
    bisection_document,
    bisections_of_report,
    cancel_bisection,
    start_bisection,
)
from app.settings import ServiceSettings
from app.storage.models import NodeRow
from app.targets.target import Target
from app.targets.versions.bisection import Kind
from worker.contract import Attempt, Hello, Level, Observation, Outcome, ToolchainFacts

pytestmark = pytest.mark.service
RELEASES = ("2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0")


@pytest.fixture
def stage(database: str, broker_url: str) -> Iterator[Stage]:
    stage = Stage(ServiceSettings(database_url=database, broker_url=broker_url, lease_seconds=2.0))
    say_hello(stage, "n1")
    yield stage
    stage.close()


def say_hello(
    stage: Stage,
    name: str,
    *,
    instance: str = "one",
    slots: int = 2,
    releases: Sequence[str] = RELEASES,
    is_there: bool = True,
) -> None:
    facts = [
        ToolchainFacts(
            name=f"torch-{release}",
            state="ready",
            packages={"torch": release},
            torch=release,
            detail="Python 3.11.7",
        )
        for release in releases
    ]
    stage.say(
        Hello(
            node=name,
            instance=instance,
            slots=slots,
            level=Level.NAMESPACES_CGROUP,
            toolchains=facts,
            cores=4,
        )
    )
    if is_there:
        stage.beat(name, instance=instance)


def report_of(stage: Stage) -> str:
    return stage.submit(repeats=1).document.report.id or ""


def begin(stage: Stage, report: str, **wish: object) -> BisectionDocument:
    request = BisectionRequest(axis="torch", base=Target(), **wish)  # type: ignore[arg-type]  # its fields by name
    with stage.session() as session:
        return start_bisection(session, report, request, settings=stage.settings, asked_by="a bot")


def shown(stage: Stage, bisection_id: str) -> BisectionDocument:
    with stage.session() as session:
        return bisection_document(session, bisection_id)


def passed(attempt: Attempt, *, node: str = "n1", instance: str = "one") -> object:
    clean = Observation(exit_status=0, stdout="fine\n", stdout_bytes=5)
    return answered(attempt, node=node, instance=instance, outcome=Outcome.COMPLETED, observation=clean)


def answered(attempt: Attempt, *, node: str = "n1", instance: str = "one", **more: object) -> object:
    said = result(attempt, node=node, instance=instance, **more)  # type: ignore[arg-type]  # its fields by name
    version = attempt.toolchain.removeprefix("torch-")
    return said.model_copy(
        update={"environment": {"cpu.model": "x", "torch.version": version, "package.torch": version}}
    )


def play(
    stage: Stage, bisection_id: str, is_seen: Callable[[str], bool], *, most: int = 200, instance: str = "one"
) -> int:
    """Answer every attempt of the bisection until it ends. Returns their number."""
    own = 0
    for _ in range(most):
        if shown(stage, bisection_id).state not in {"queued", "running"}:
            return own
        for attempt in stage.dispatch():
            own += any(row.id == attempt.attempt_id for row in stage.attempts(bisection_id))
            stage.start(attempt, node="n1", instance=instance)
            tell = answered if is_seen(attempt.toolchain) else passed
            stage.say(tell(attempt, instance=instance))  # type: ignore[arg-type]
    raise AssertionError("it does not end")


def new_from(release: str) -> Callable[[str], bool]:
    bad = {f"torch-{each}" for each in RELEASES[RELEASES.index(release) :]}
    return lambda toolchain: toolchain in bad


def test_before_the_end_it_claims_only_what_was_measured(stage: Stage) -> None:
    begun = begin(stage, report_of(stage))
    is_seen = new_from("2.11.0")
    looked = 0
    while shown(stage, begun.id).state in {"queued", "running"}:
        for attempt in stage.dispatch():
            stage.start(attempt, node="n1")
            stage.say(answered(attempt) if is_seen(attempt.toolchain) else passed(attempt))  # type: ignore[arg-type]
            now = shown(stage, begun.id)
            if now.state not in {"queued", "running"}:
                break
            looked += 1
            points = {point.value: point for point in now.points}
            for value, shows in ((now.last_good, False), (now.first_bad, True)):
                assert value is None or (points[value].of > 0, points[value].seen > 0) == (True, shows)
            assert (now.probability, now.exact) == (None, False)
            named = {value for value in points if value in now.summary}
            assert named == {value for value, point in points.items() if point.of}, now.summary
    assert looked > 2
    ended = shown(stage, begun.id)
    assert (ended.kind, ended.first_bad, ended.probability is None) == (Kind.APPEARED, "2.11.0", False)


def test_it_ends_with_the_neighbours_of_the_change(stage: Stage) -> None:
    report = report_of(stage)
    begun = begin(stage, report)
    assert (begun.state, begun.kind, begun.asked_by, begun.report) == ("queued", None, "a bot", report)
    attempts = play(stage, begun.id, new_from("2.11.0"))
    ended = shown(stage, begun.id)
    assert (ended.state, ended.kind, ended.last_good, ended.first_bad) == (
        "finished",
        Kind.APPEARED,
        "2.10.0",
        "2.11.0",
    )
    assert (ended.exact, ended.one_axis, ended.attempts) == (True, True, attempts)
    assert attempts <= 20
    run = stage.run(begun.id)
    assert (run.state, run.verdict) == ("finished", Verdict.REPRODUCED)
    tried = {point.target.toolchain for point in ended.points if point.of}
    assert {job.target.toolchain for job in run.jobs} == tried
    assert all(attempt.start == "cold" for job in run.jobs for attempt in job.attempts)


def play_run(stage: Stage, run_id: str, is_seen: Callable[[str], bool]) -> None:
    """Answer every attempt until a run ends."""
    for _ in range(50):
        if stage.run(run_id).state not in {"queued", "running"}:
            return
        for attempt in stage.dispatch():
            stage.start(attempt, node="n1")
            stage.say(answered(attempt) if is_seen(attempt.toolchain) else passed(attempt))  # type: ignore[arg-type]
    raise AssertionError("it does not end")


def test_its_few_attempts_replace_no_fuller_result_that_they_do_not_contradict(stage: Stage) -> None:
    submitted = stage.submit(repeats=3).document
    report = submitted.report.id or ""
    is_seen = new_from("2.11.0")
    play_run(stage, submitted.id, is_seen)
    begun = begin(stage, report)
    play(stage, begun.id, is_seen)

    def newest_cell() -> tuple[str | None, str, str]:
        with stage.session() as session:
            details = with_answer(session, report_details(session, report))
            cells = {cell.label: cell for cell in matrix(session, report).cells}
            assert details.answer is not None
            return details.standing.run, cells["cpu@torch-2.13.0"].run, details.answer.how_sure

    assert newest_cell() == (
        submitted.id,
        submitted.id,
        "3 of 3 attempts. If it only happens sometimes, then in at least 27 % of attempts.",
    )
    # A result that contradicts the older one is no repetition of it.
    other = begin(stage, report)
    play(stage, other.id, lambda _toolchain: False)
    assert newest_cell()[:2] == (other.id, other.id)


def test_versions_that_no_node_has_now_answer_by_what_earlier_runs_measured(stage: Stage) -> None:
    report = report_of(stage)
    is_seen = new_from("2.10.0")
    play(stage, begin(stage, report).id, is_seen)
    say_hello(stage, "n1", instance="two", releases=("2.9.1", "2.13.0"))
    begun = begin(stage, report)
    play(stage, begun.id, is_seen, instance="two")
    ended = shown(stage, begun.id)
    assert (ended.last_good, ended.first_bad, ended.exact) == ("2.9.1", "2.10.0", True)
    assert "2.10.0" in {point.value for point in ended.points if point.earlier}
    assert {job.target.toolchain for job in stage.run(begun.id).jobs} == {"torch-2.9.1", "torch-2.13.0"}
    assert " are of earlier runs: no node has " in ended.summary


def test_a_version_that_no_node_has_now_and_nobody_measured_stays_open(stage: Stage) -> None:
    report = report_of(stage)
    say_hello(stage, "away", is_there=False)
    say_hello(stage, "n1", instance="two", releases=("2.9.1", "2.13.0"))
    with stage.session() as session:
        long_ago = datetime(2020, 1, 1, tzinfo=UTC)
        session.execute(update(NodeRow).where(NodeRow.name == "away").values(seen_at=long_ago))
    begun = begin(stage, report)
    play(stage, begun.id, new_from("2.11.0"), instance="two")
    ended = shown(stage, begun.id)
    assert (ended.last_good, ended.first_bad, ended.exact) == ("2.9.1", "2.13.0", False)
    assert ended.summary.startswith(
        "It appeared in one after torch 2.9.1 and not after 2.13.0: no node has what lies between."
    )
    assert [point.value for point in ended.points] == list(RELEASES)


def test_a_fix_is_told_as_such_also_beside_another_bisection(stage: Stage) -> None:
    report = report_of(stage)
    fixed, other = begin(stage, report), begin(stage, report)
    seen = new_from("2.12.1")
    play(stage, fixed.id, lambda toolchain: not seen(toolchain))
    ended = shown(stage, fixed.id)
    assert (ended.kind, ended.last_bad, ended.first_good) == (Kind.FIXED, "2.11.0", "2.12.1")
    # The attempts of the other bisection were answered in the same rounds, by the same rule.
    play(stage, other.id, lambda toolchain: not seen(toolchain))
    assert shown(stage, other.id).first_good == "2.12.1"


def test_what_is_seen_nowhere_ends_and_says_so(stage: Stage) -> None:
    begun = begin(stage, report_of(stage))
    play(stage, begun.id, lambda _toolchain: False)
    ended = shown(stage, begun.id)
    assert (ended.state, ended.kind, ended.first_bad) == ("finished", Kind.NOWHERE, None)
    assert stage.run(begun.id).verdict is Verdict.NOT_REPRODUCED


def test_a_node_that_dies_and_a_service_that_starts_again_change_nothing(stage: Stage) -> None:
    begun = begin(stage, report_of(stage))
    given = stage.dispatch()
    assert given
    for attempt in given:
        stage.start(attempt, node="n1")
    # The node is a new instance. Attempts of the old one are leased again.
    say_hello(stage, "n1", instance="two")
    again = Stage(stage.settings)
    seen = new_from("2.13.0")
    try:
        for _ in range(100):
            if shown(again, begun.id).state == "finished":
                break
            for attempt in again.dispatch():
                again.start(attempt, node="n1", instance="two")
                again.say(
                    answered(attempt, instance="two")
                    if seen(attempt.toolchain)
                    else passed(attempt, instance="two")  # type: ignore[arg-type]
                )
        ended = shown(again, begun.id)
    finally:
        again.close()
    assert (ended.state, ended.last_good, ended.first_bad) == ("finished", "2.12.1", "2.13.0")


def test_what_cannot_be_set_up_is_left_out_of_the_answer(stage: Stage) -> None:
    begun = begin(stage, report_of(stage))
    seen = new_from("2.11.0")
    for _ in range(200):
        if shown(stage, begun.id).state == "finished":
            break
        for attempt in stage.dispatch():
            stage.start(attempt, node="n1")
            if attempt.toolchain == "torch-2.11.0":
                stage.say(result(attempt, node="n1", outcome=Outcome.SETUP_FAILED, observation=Observation()))
            else:
                stage.say(answered(attempt) if seen(attempt.toolchain) else passed(attempt))  # type: ignore[arg-type]
    ended = shown(stage, begun.id)
    assert (ended.kind, ended.last_good, ended.first_bad, ended.exact) == (
        Kind.APPEARED,
        "2.10.0",
        "2.12.1",
        False,
    )
    assert [point.value for point in ended.points if point.given_up] == ["2.11.0"]
    assert "can't tell" in ended.summary


def test_it_can_be_cancelled_and_keeps_what_it_knows(stage: Stage) -> None:
    begun = begin(stage, report_of(stage))
    for attempt in stage.dispatch():
        stage.start(attempt, node="n1")
        stage.say(passed(attempt))  # type: ignore[arg-type]
    with stage.session() as session:
        assert cancel_bisection(session, begun.id).state == "cancelled"
    stage.dispatch()
    kept = shown(stage, begun.id)
    assert kept.state == "cancelled"
    assert kept.attempts >= 1
    assert not any(row.state in {"queued", "leased", "running"} for row in stage.attempts(begun.id))
    with stage.session() as session:
        assert cancel_bisection(session, begun.id).state == "cancelled"


def test_one_that_finished_is_not_cancelled(stage: Stage) -> None:
    begun = begin(stage, report_of(stage))
    play(stage, begun.id, lambda _toolchain: True)
    assert shown(stage, begun.id).kind is Kind.THROUGHOUT
    with stage.session() as session, pytest.raises(ConflictError):
        cancel_bisection(session, begun.id)


def test_attempts_that_run_out_end_it_with_what_is_known(stage: Stage) -> None:
    begun = begin(stage, report_of(stage), most_attempts=3)
    attempts = play(stage, begun.id, new_from("2.11.0"))
    ended = shown(stage, begun.id)
    assert (ended.state, ended.attempts, attempts) == ("finished", 3, 3)
    assert ended.probability is not None
    assert not ended.exact or ended.probability < 0.99


def test_a_report_lists_its_bisections_page_by_page(stage: Stage) -> None:
    report = report_of(stage)
    ids = [begin(stage, report).id for _ in range(3)]
    with stage.session() as session:
        first = bisections_of_report(session, report, limit=2)
        rest = bisections_of_report(session, report, cursor=first.next_cursor, limit=2)
    assert [item.id for item in (*first.items, *rest.items)] == ids[::-1]
    assert rest.next_cursor is None


def test_what_has_no_series_is_refused_and_leaves_nothing(stage: Stage) -> None:
    report = report_of(stage)
    with pytest.raises(InputError, match="two or more versions"):
        begin(stage, report, begin="2.13")
    with stage.session() as session:
        assert bisections_of_report(session, report).items == ()
