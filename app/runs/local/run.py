"""Run a report on this machine, without a service and a database.

Planning and judging are the same as on the service. One node runs as a child process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.clock import now
from app.ids import new_id
from app.intake.reading import Reading
from app.runs.estimates.durations import Durations
from app.runs.estimates.plan_document import estimated_plan, plan_document
from app.runs.local.conductor import Conductor, NodeOptions, Progress
from app.runs.local.jobs import LocalJob
from app.runs.local.node_stream import open_node, require_toolchain
from app.runs.run_object.assemble import assemble
from app.runs.run_object.document import RunDocument
from app.runs.run_object.facts import JobFacts, RunFacts
from app.states import RunState
from app.targets.planning.plan import Plan, make_plan
from app.targets.planning.presets import PRESETS, Preset
from app.targets.planning.run_request import RunRequest
from worker.contract import Hello


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions(NodeOptions):
    """The settings of this machine: how its node runs attempts, and which presets there are."""

    presets: Mapping[str, Preset] = field(default_factory=lambda: PRESETS)


@dataclass(frozen=True, slots=True)
class LocalRun:
    """A run that ended: its run object and the facts behind it."""

    document: RunDocument
    facts: RunFacts
    jobs: tuple[JobFacts, ...]


def run_locally(
    reading: Reading, request: RunRequest, options: LocalOptions, *, progress: Progress, title: str = ""
) -> LocalRun:
    """Run and judge. A KeyboardInterrupt cancels the run; the result has all that was recorded until then.

    Raises InputError for a request that can't be planned, SetupError if this machine lacks something,
    NodeError for a broken node.
    """
    created_at = now()
    if reading.ask:
        return _local_run(reading, None, (), created_at=created_at, state="finished", title=title)
    with open_node(options.level) as node:
        hello = node.hello()
        require_toolchain(hello)
        plan = _plan(reading, request, options, hello)
        scripts = {script.digest: script for script in reading.scripts}
        jobs = [LocalJob(cell=cell, script=scripts[cell.script]) for cell in plan.cells]
        progress.report_plan(plan.cells, hello)
        conductor = Conductor(
            reading, plan, jobs=jobs, node=node, hello=hello, options=options, progress=progress
        )
        state: RunState = "finished" if conductor.run() else "cancelled"
    return _local_run(reading, plan, jobs, created_at=created_at, state=state, title=title)


def plan_locally(
    reading: Reading, request: RunRequest, options: LocalOptions, *, title: str = ""
) -> RunDocument:
    """The run as it would be planned on this machine. The estimate assumes that nothing else runs here.

    Raises the errors of `run_locally`.
    """
    if reading.ask:
        return plan_document(reading, None, title=title, source_url=reading.source_url)
    with open_node(options.level) as node:
        hello = node.hello()
    require_toolchain(hello)
    plan = _plan(reading, request, options, hello)
    document = plan_document(reading, plan, title=title, source_url=reading.source_url)
    durations = Durations(wall_seconds=options.limits.wall_seconds)
    return estimated_plan(document, plan, durations, slots=hello.slots)


def _plan(reading: Reading, request: RunRequest, options: LocalOptions, hello: Hello) -> Plan:
    return make_plan(
        reading,
        request,
        fleet=[hello],
        required_level=options.required_level,
        presets=options.presets,
    )


def _local_run(
    reading: Reading,
    plan: Plan | None,
    jobs: Sequence[LocalJob],
    *,
    created_at: datetime,
    state: RunState,
    title: str,
) -> LocalRun:
    run_facts = RunFacts(
        id=new_id(),
        state=state,
        created_at=created_at,
        finished_at=now(),
        preset=None if plan is None else plan.preset,
        title=title or reading.title,
        repeats=None if plan is None else plan.repeats,
    )
    job_facts = tuple(job.facts() for job in jobs)
    return LocalRun(assemble(run_facts, reading, job_facts), run_facts, job_facts)
