"""A stage for tests of the service: submit, play a node, look at the broker, let time pass."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.runs.lifecycle.dispatch import dispatch
from app.runs.lifecycle.record import receive
from app.runs.lifecycle.recover import recover
from app.runs.lookup.runs import run_document
from app.runs.run_object.document import RunDocument
from app.runs.submission.submit import Submission, SubmitResult, submit
from app.settings import ServiceSettings
from app.storage.broker import RECORDER_SINCE, Broker
from app.storage.models import AttemptRow, JobRow, NodeRow, RunRow
from app.storage.session import make_engine, session_factory
from worker.contract import (
    Attempt,
    ExceptionFacts,
    Heartbeat,
    Hello,
    Level,
    Message,
    Observation,
    Outcome,
    Result,
    Started,
    ToolchainFacts,
)
from worker.contract.names import heartbeat_key, node_queue

TOOLCHAIN = "torch-2.13-cpu"
SCRIPT = "raise RuntimeError('boom')\n"
CLAIM = "RuntimeError: boom"


class Stage:
    """A database and a broker; the test plays the nodes."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.engine = make_engine(settings)
        self.broker = Broker(settings)
        self.factory = session_factory(self.engine, self.broker)

    def close(self) -> None:
        self.engine.dispose()
        self.broker.close()

    @contextmanager
    def session(self) -> Iterator[Session]:
        with self.factory.begin() as session:
            yield session

    def submit(
        self,
        script: str = SCRIPT,
        *,
        repeats: int | None = 3,
        claim: str | None = CLAIM,
        key: str | None = None,
    ) -> SubmitResult:
        with self.session() as session:
            request = Submission(script=script, claim=claim, repeats=repeats, idempotency_key=key)
            return submit(session, request, settings=self.settings)

    def run(self, run_id: str) -> RunDocument:
        with self.session() as session:
            return run_document(session, run_id)

    def say(self, message: Message | dict[str, Any]) -> None:
        """Give the recorder a message."""
        plain = message if isinstance(message, dict) else message.model_dump(mode="json")
        with self.session() as session:
            receive(session, json.loads(json.dumps(plain)), settings=self.settings)

    def node(
        self,
        name: str,
        *,
        instance: str = "one",
        slots: int = 8,
        toolchain: str = TOOLCHAIN,
        previews: int = 0,
    ) -> None:
        """A node says hello and sends heartbeats."""
        facts = ToolchainFacts(
            name=toolchain, state="ready", packages={"torch": "2.13.0"}, torch="2.13.0", mkl=True
        )
        self.say(
            Hello(
                node=name,
                instance=instance,
                slots=slots,
                level=Level.NAMESPACES_CGROUP,
                toolchains=[facts],
                cpu_flags=["avx2", "avx512f"],
                cores=8,
                previews=previews,
            )
        )
        self.beat(name, instance=instance)

    def beat(
        self, name: str, *, instance: str = "one", running: list[str] | None = None, draining: bool = False
    ) -> None:
        """A heartbeat of a node."""
        heartbeat = Heartbeat(node=name, instance=instance, running=running or [], draining=draining)
        self.broker.redis.set(heartbeat_key(name), heartbeat.model_dump_json())

    def die(self, name: str) -> None:
        """The heartbeat has been gone for a while."""
        self.broker.redis.delete(heartbeat_key(name))
        with self.session() as session:
            session.execute(
                update(NodeRow)
                .where(NodeRow.name == name)
                .values(seen_at=NodeRow.seen_at - timedelta(seconds=60))
            )

    def dispatch(self) -> list[Attempt]:
        """A round of dispatch; the attempts that are now in the queues of nodes."""
        with self.session() as session:
            dispatch(session, self.broker, settings=self.settings)
        return self.deliveries()

    def deliveries(self) -> list[Attempt]:
        """Take all attempts out of the nodes' queues."""
        found: list[Attempt] = []
        with self.session() as session:
            names = [row.name for row in session.scalars(select(NodeRow))]
        for name in names:
            while (raw := self.broker.redis.rpop(node_queue(name))) is not None:
                arguments = json.loads(base64.b64decode(json.loads(raw)["body"]))[0]
                found.append(Attempt.model_validate(arguments[0]))
        return found

    def queue_length(self, queue: str) -> int:
        return int(self.broker.redis.llen(queue))

    def start(self, attempt: Attempt, *, node: str, instance: str = "one") -> None:
        self.say(
            Started(node=node, instance=instance, attempt_id=attempt.attempt_id, lease_no=attempt.lease_no)
        )

    def recover(self, *, steady: bool = True) -> None:
        """A round of reaping; by default the service has been up for a long time."""
        if steady:
            self.broker.redis.set(RECORDER_SINCE, 1)
            self.broker.steady_seconds = lambda: 10_000.0  # type: ignore[method-assign]  # the broker was started a moment ago
        recover(self.factory, self.broker, settings=self.settings)

    def let_leases_end(self, *, seconds: float = 3600.0) -> None:
        earlier = AttemptRow.lease_until - timedelta(seconds=seconds)
        with self.session() as session:
            session.execute(update(AttemptRow).values(lease_until=earlier))

    def let_wait(self) -> None:
        """All queued attempts have waited for hours."""
        with self.session() as session:
            session.execute(update(AttemptRow).values(queued_at=AttemptRow.queued_at - timedelta(hours=5)))
            session.execute(update(NodeRow).values(seen_at=NodeRow.seen_at - timedelta(hours=5)))

    def attempts(self, run_id: str) -> list[AttemptRow]:
        with self.session() as session:
            return list(
                session.scalars(select(AttemptRow).where(AttemptRow.run_id == run_id).order_by(AttemptRow.id))
            )

    def jobs(self, run_id: str) -> list[JobRow]:
        with self.session() as session:
            return list(
                session.scalars(select(JobRow).where(JobRow.run_id == run_id).order_by(JobRow.position))
            )

    def count(self, table: type[RunRow | AttemptRow | JobRow]) -> int:
        with self.session() as session:
            return len(session.scalars(select(table)).all())


def result(
    attempt: Attempt,
    *,
    node: str,
    instance: str = "one",
    outcome: Outcome = Outcome.RAISED,
    cpu: str = "x",
    **more: Any,
) -> Result:
    """A result as a node would send it: by default the claimed exception."""
    observation = more.pop("observation", None) or Observation(
        exit_status=1,
        exception=ExceptionFacts(type="RuntimeError", message="boom"),
        stderr="RuntimeError: boom\n",
        stderr_bytes=19,
    )
    return Result(
        node=node,
        instance=instance,
        attempt_id=attempt.attempt_id,
        lease_no=more.pop("lease_no", attempt.lease_no),
        level=Level.NAMESPACES_CGROUP,
        outcome=outcome,
        observation=observation,
        environment={"cpu.model": cpu, "torch.version": "2.13.0"},
        **more,
    )


def together(*steps: Callable[[], Any]) -> list[Any]:
    """Run steps at the same time; their answers or exceptions."""
    barrier = threading.Barrier(len(steps))

    def one(step: Callable[[], Any]) -> Any:
        barrier.wait(10)
        return step()

    with ThreadPoolExecutor(len(steps)) as pool:
        futures = [pool.submit(one, step) for step in steps]
    return [future.exception() or future.result() for future in futures]
