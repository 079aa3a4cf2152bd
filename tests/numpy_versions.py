"""A service with several versions of numpy, played by hand: the test says which of them show the claim."""

from __future__ import annotations

from collections.abc import Mapping

from stage import Stage, result

from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import Submission, submit
from app.storage.models import ChangeRow, ReportRow
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import (
    Attempt,
    Environment,
    ExceptionFacts,
    Hello,
    Level,
    Observation,
    Outcome,
    ToolchainFacts,
)

SCRIPT = "import numpy\nraise RuntimeError('boom')\n"
SEEN = Observation(
    exit_status=1,
    exception=ExceptionFacts(type="RuntimeError", message="boom"),
    stderr="RuntimeError: boom\n",
    stderr_bytes=19,
)
UNSEEN = Observation(exit_status=0)


def say_hello(stage: Stage, *versions: str, node: str = "n1", state: str = "ready", slots: int = 8) -> None:
    """A node with a toolchain for each of these releases of numpy."""
    chains = [
        ToolchainFacts.model_validate(
            {"name": f"numpy-{version}", "state": state, "packages": {"numpy": version}}
        )
        for version in versions
    ]
    stage.say(
        Hello(
            node=node, instance="one", slots=slots, level=Level.NAMESPACES_CGROUP, toolchains=chains, cores=8
        )
    )
    stage.beat(node)


def send(stage: Stage, *versions: str, script: str = SCRIPT) -> str:
    """Submit a report on these versions; its id."""
    with stage.session() as session:
        targets = tuple(Target(toolchain=f"numpy-{version}") for version in versions) or None
        wish = Submission(script=script, claim="RuntimeError: boom", targets=targets, repeats=3)
        return submit(session, wish, settings=stage.settings).document.report.id or ""


def again(stage: Stage, report_id: str, *versions: str) -> None:
    """Run a report once more."""
    with stage.session() as session:
        targets = tuple(Target(toolchain=f"numpy-{version}") for version in versions)
        relaunch(session, report_id, RunRequest(targets=targets, repeats=3), settings=stage.settings)


def answer(
    stage: Stage, attempt: Attempt, broken: Mapping[str, bool], *, node: str = "n1", **more: str
) -> None:
    """Send the result of an attempt; `broken` says for each version whether it happens."""
    version = attempt.toolchain.removeprefix("numpy-")
    seen = broken[version]
    environment: Environment = {
        "cpu.model": "x",
        "python.version": "3.12.1",
        "package.numpy": version,
        **more,
    }
    observation, outcome = (SEEN, Outcome.RAISED) if seen else (UNSEEN, Outcome.COMPLETED)
    said = result(attempt, node=node, outcome=outcome, observation=observation)
    stage.say(said.model_copy(update={"environment": environment}))


def finish(stage: Stage, broken: Mapping[str, bool], *, node: str = "n1", **more: str) -> list[Attempt]:
    """Let the node run all its attempts; the attempts."""
    done: list[Attempt] = []
    while attempts := stage.dispatch():
        for attempt in attempts:
            answer(stage, attempt, broken, node=node, **more)
        done += attempts
    return done


def changes(stage: Stage) -> list[ChangeRow]:
    """All changes, oldest first."""
    with stage.session() as session:
        return list(session.query(ChangeRow).order_by(ChangeRow.id))


def report(stage: Stage, report_id: str) -> ReportRow:
    """A report's row."""
    with stage.session() as session:
        row = session.get(ReportRow, report_id)
        assert row is not None
        return row
