"""In any order of events: no result is recorded twice, evidence has one environment, all runs end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import func, select, text
from stage import Stage, result

from app.errors import ConflictError
from app.runs.lifecycle.cancel import cancel_run
from app.storage.models import AttemptRow, Base, EventRow, JobRow, RunRow
from worker.contract import Attempt, Draining, Outcome

NODES = ("n1", "n2")
SLOTS = 2
pytestmark = pytest.mark.service


class Nodes(RuleBasedStateMachine):
    """Two nodes that may do anything, and a service."""

    stage: Stage

    def __init__(self) -> None:
        super().__init__()
        with self.stage.engine.begin() as connection:
            connection.execute(text(f"TRUNCATE {', '.join(Base.metadata.tables)} CASCADE"))
        self.stage.broker.redis.flushall()
        self.runs: list[str] = []
        self.given: list[tuple[str, str, Attempt]] = []
        self.instance = dict.fromkeys(NODES, 1)
        self.kept: dict[str, Any] = {}
        for name in NODES:
            self.stage.node(name, instance="1", slots=SLOTS)

    def pick(self, number: int) -> tuple[str, str, Attempt] | None:
        return self.given[number % len(self.given)] if self.given else None

    @rule(repeats=st.integers(1, 3), number=st.integers(0, 2))
    def submit(self, repeats: int, number: int) -> None:
        if len(self.runs) < 4:
            self.runs.append(
                self.stage.submit(f"raise RuntimeError('boom')  # {number}\n", repeats=repeats).document.id
            )

    @rule()
    def dispatch(self) -> None:
        for attempt in self.stage.dispatch():
            with self.stage.session() as session:
                row = session.get(AttemptRow, attempt.attempt_id)
                assert row is not None
                assert row.node is not None
                self.given.append((row.node, str(row.instance), attempt))

    @rule(number=st.integers(0, 50))
    def start(self, number: int) -> None:
        if (found := self.pick(number)) is not None:
            self.stage.start(found[2], node=found[0], instance=found[1])

    @rule(
        number=st.integers(0, 50),
        outcome=st.sampled_from(
            [Outcome.RAISED, Outcome.COMPLETED, Outcome.SETUP_FAILED, Outcome.CANCELLED, Outcome.LOST]
        ),
        changed=st.booleans(),
    )
    def answer(self, number: int, outcome: Outcome, *, changed: bool) -> None:
        if (found := self.pick(number)) is not None:
            cpu = f"{found[0]}{'changed' if changed else ''}"
            self.stage.say(result(found[2], node=found[0], instance=found[1], outcome=outcome, cpu=cpu))

    @rule(name=st.sampled_from(NODES))
    def restart_node(self, name: str) -> None:
        self.instance[name] += 1
        self.stage.node(name, instance=str(self.instance[name]), slots=SLOTS)

    @rule(name=st.sampled_from(NODES))
    def kill_node(self, name: str) -> None:
        self.stage.die(name)

    @rule(name=st.sampled_from(NODES))
    def drain_node(self, name: str) -> None:
        self.stage.say(Draining(node=name, instance=str(self.instance[name])))

    @rule(late=st.booleans())
    def recover(self, *, late: bool) -> None:
        if late:
            self.stage.let_leases_end()
        self.stage.recover()

    @rule(number=st.integers(0, 3))
    def cancel(self, number: int) -> None:
        if number < len(self.runs):
            try:
                with self.stage.session() as session:
                    cancel_run(session, self.runs[number])
            except ConflictError:
                assert self.stage.run(self.runs[number]).state == "finished"

    @invariant()
    def what_is_recorded_stays(self) -> None:
        with self.stage.session() as session:
            rows = session.scalars(select(AttemptRow)).all()
        for row in rows:
            if row.id in self.kept:
                assert (row.state, row.result) == self.kept[row.id]
            if row.state in {"recorded", "lost", "cancelled"}:
                self.kept[row.id] = (row.state, row.result)

    @invariant()
    def evidence_is_of_one_place(self) -> None:
        with self.stage.session() as session:
            counted = session.execute(
                select(
                    AttemptRow.job_id,
                    func.count(AttemptRow.environment_digest.distinct()),
                    func.count(AttemptRow.node.distinct()),
                )
                .where(
                    AttemptRow.state == "recorded",
                    AttemptRow.counted,
                    AttemptRow.outcome.not_in(["setup_failed"]),
                )
                .group_by(AttemptRow.job_id)
            ).all()
        assert all(row[1] <= 1 and row[2] <= 1 for row in counted)

    @invariant()
    def nodes_are_never_overfilled(self) -> None:
        with self.stage.session() as session:
            held = session.execute(
                select(AttemptRow.node, func.count())
                .where(AttemptRow.state.in_(["leased", "running"]))
                .group_by(AttemptRow.node)
            ).all()
        assert all(row[1] <= SLOTS + 1 for row in held)

    @invariant()
    def events_have_no_gaps(self) -> None:
        with self.stage.session() as session:
            rows = session.execute(
                select(EventRow.run_id, func.count(), func.max(EventRow.number), RunRow.last_event)
                .join(RunRow, RunRow.id == EventRow.run_id)
                .group_by(EventRow.run_id, RunRow.last_event)
            ).all()
        assert all(row[1] == row[2] == row[3] for row in rows)

    def teardown(self) -> None:
        """From any state, two working nodes bring every run to its end."""
        for _ in range(60):
            for name in NODES:
                self.restart_node(name)
            self.stage.recover()
            self.given.clear()
            self.dispatch()
            for node, instance, attempt in self.given:
                self.stage.say(result(attempt, node=node, instance=instance, cpu=node))
            with self.stage.session() as session:
                if not session.scalars(select(RunRow).where(RunRow.state.in_(["queued", "running"]))).all():
                    break
        self.what_is_recorded_stays()
        self.evidence_is_of_one_place()
        self.events_have_no_gaps()
        with self.stage.session() as session:
            assert session.scalars(select(RunRow).where(RunRow.state.in_(["queued", "running"]))).all() == []
            closed = (
                select(JobRow)
                .join(RunRow, RunRow.id == JobRow.run_id)
                .where(RunRow.state == "finished", JobRow.state != "judged")
            )
            assert session.scalars(closed).all() == []


def test_the_service_survives_its_nodes(stage: Stage) -> None:
    machine = type("NodesOfThisTest", (Nodes,), {"stage": stage})
    limits = settings(
        max_examples=15,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        database=None,
    )
    run_state_machine_as_test(machine, settings=limits)
