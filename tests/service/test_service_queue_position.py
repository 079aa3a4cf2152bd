"""Queue positions cost the same however many cells a run has, and never read a whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.orm import Session
from stage import CLAIM, SCRIPT, Stage, result

from app.ids import new_id
from app.judging.cause.cures import CURES
from app.runs.estimates.waiting import with_waiting
from app.runs.lookup.runs import run_document
from app.runs.submission.submit import Submission, submit
from app.storage.queries.queue import queue_position
from app.targets.target import Target

Look = Callable[[Session], Any]


def submitted(stage: Stage, cells: int, script: str = SCRIPT) -> str:
    targets = tuple(Target(settings={"threads": str(number)}) for number in range(1, cells + 1))
    with stage.session() as session:
        request = Submission(script=script, claim=CLAIM, repeats=1, targets=targets)
        return submit(session, request, settings=stage.settings).document.id


@contextmanager
def statements(session: Session) -> Iterator[list[tuple[str, Any]]]:
    found: list[tuple[str, Any]] = []

    def heard(
        _connection: Any,
        _cursor: Any,
        statement: str,
        parameters: Any,
        _context: Any,
        _many: bool,  # noqa: FBT001
    ) -> None:
        found.append((statement, parameters))

    engine = session.get_bind()
    event.listen(engine, "before_cursor_execute", heard)
    yield found
    event.remove(engine, "before_cursor_execute", heard)


def test_a_run_of_many_cells_in_a_long_line_asks_no_more_often(stage: Stage) -> None:
    stage.node("n")
    small = submitted(stage, 1)
    counts = []
    for run_id in (small, submitted(stage, 40)):
        submitted(stage, 30)
        submitted(stage, 1, "raise RuntimeError('boom')  # other\n")
        with stage.session() as session, statements(session) as found:
            document = run_document(session, run_id, settings=stage.settings)
        assert all(job.waiting is not None for job in document.jobs)
        counts.append(len(found))
    assert counts[0] == counts[1] <= 16


def test_a_run_that_does_not_wait_is_not_asked_about_the_line(stage: Stage) -> None:
    stage.node("n")
    run_id = submitted(stage, 1)
    for attempt in stage.dispatch():
        stage.say(result(attempt, node="n"))
    with stage.session() as session:
        run_document(
            session, run_id, settings=stage.settings
        )  # which keeps the object at hand for both that are counted
    with stage.session() as session, statements(session) as with_line:
        run_document(session, run_id, settings=stage.settings)
    with stage.session() as session, statements(session) as without:
        run_document(session, run_id)
    assert len(with_line) == len(without)


@pytest.mark.parametrize(
    "look",
    [
        lambda session: queue_position.durations_of_scripts(session, ["sha256:a", "sha256:b"]),
        queue_position.queue_state,
        lambda session: queue_position.waiting_attempts(
            session, new_id(), nodes=["n"], each=3, late_settings=CURES
        ),
    ],
)
def test_every_look_has_an_index(stage: Stage, look: Look) -> None:
    stage.node("n")
    submitted(stage, 1)
    with stage.session() as session:
        session.execute(text("SET LOCAL enable_seqscan = off"))
        with statements(session) as found:
            look(session)
        assert found
        for statement, parameters in found:
            plan = session.connection().exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars().all()
            assert not [row for row in plan if "Seq Scan" in row], plan


def test_a_line_that_is_longer_than_is_looked_at_is_said_to_be(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.node("n")
    run_id = submitted(stage, 3)
    for _ in range(3):
        submitted(stage, 3)
    for name, most, longer in (
        ("MOST_RUNS", 3, False),
        ("MOST_RUNS", 2, True),
        ("MOST_OTHERS", 9, False),
        ("MOST_OTHERS", 8, True),
    ):
        with monkeypatch.context() as patch, stage.session() as session:
            patch.setattr(queue_position, name, most)
            last = run_document(session, run_id, settings=stage.settings).jobs[-1].waiting
        assert last is not None
        assert (last.of_at_least, last.starts_in is not None and last.starts_in.at_most is None) == (
            longer,
            longer,
        )


def test_the_beginning_of_a_long_line_is_read_once_for_many(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each still has its own place behind it, and a short line is always read."""
    stage.node("n")
    monkeypatch.setattr(queue_position, "LONG_QUEUE_SECONDS", 3600.0)
    runs = [submitted(stage, 1) for _ in range(5)]
    counts, places = [], []
    for most in (2, 2, 9, 9):
        monkeypatch.setattr(queue_position, "MOST_RUNS", most)
        with stage.session() as session, statements(session) as found:
            waiting, is_cut = queue_position.waiting_attempts(
                session, runs[-1], nodes=["n"], each=1, late_settings=CURES
            )
        counts.append(len(found))
        places.append(([one.run_id for one in waiting], is_cut))
    # The runs, their attempts and one's own; then only one's own.
    assert counts == [3, 1, 2, 2]
    assert places == [([runs[-1], *runs[:2]], True)] * 2 + [([runs[-1], *runs[:4]], False)] * 2


def test_new_runs_that_wait_alike_behind_a_long_line_get_one_answer(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.node("n")
    monkeypatch.setattr(queue_position, "LONG_QUEUE_SECONDS", 3600.0)
    monkeypatch.setattr(queue_position, "MOST_RUNS", 2)
    runs = [submitted(stage, cells) for cells in (1, 1, 1, 2, 2, 1)]
    counts, places = [], []
    with stage.session() as session:
        for run_id in runs[3:]:
            # It reads the beginning of the line, if nobody has.
            document = run_document(session, run_id, settings=stage.settings)
            alone = [job.waiting for job in document.jobs]
            with statements(session) as found:
                new = with_waiting(session, document, settings=stage.settings, new_from=(None, True))
            assert [job.waiting for job in new.jobs] == alone
            counts.append(len(found))
            places.append([job.waiting.position for job in new.jobs if job.waiting is not None])
    assert places == [[3, 4], [3, 4], [3]]
    # The second one asks for nothing of its own; the third one has other cells.
    assert counts[1] < counts[2] <= counts[0]


def test_one_reads_a_long_line_again_while_others_take_what_is_known(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.node("n")
    monkeypatch.setattr(queue_position, "MOST_RUNS", 2)
    monkeypatch.setattr(queue_position, "LONG_QUEUE_SECONDS", 3600.0)
    runs = [submitted(stage, 1) for _ in range(5)]

    def read(session: Session) -> int:
        with statements(session) as found:
            queue_position.waiting_attempts(session, runs[-1], nodes=["n"], each=1, late_settings=CURES)
        return len(found)

    def age(seconds: float) -> None:
        engine = stage.factory.kw["bind"]
        known = queue_position._LONG_QUEUES[engine]
        queue_position._LONG_QUEUES[engine] = known._replace(read_at=known.read_at - seconds)

    with stage.session() as first, stage.session() as second:
        assert (read(first), read(second)) == (3, 1)
        age(3600.0)
        # The first one that asks is to read it; until it has, the second one does not wait for it.
        assert queue_position.facts_beside_long_queue(first) is None
        assert read(second) == 1
        assert read(first) == 3
        assert (read(first), read(second)) == (1, 1)
        # A reader that has never read it leaves it to all others, after as long again.
        age(3600.0)
        assert queue_position.facts_beside_long_queue(first) is None
        age(3600.0)
        assert read(second) == 3
