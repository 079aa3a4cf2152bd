"""Versions between the ends of a bisection that no node has now, with what earlier runs measured in them.

Without them, a bisection over the versions that are here would name the wrong one as the first bad one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.version import Version
from sqlalchemy.orm import Session

from app.intake.reading import Script
from app.judging.judgement import INCONCLUSIVE
from app.judging.report.axis import version_text
from app.runs.rows.nodes import with_hellos
from app.storage.models import JobRow
from app.storage.queries import changes
from app.storage.queries import runs as run_queries
from app.storage.queries.queue import nodes as node_queries
from app.storage.queries.reports import report_verdict as verdict_queries
from app.targets.fleet import nearest_lack, serves, usable_toolchains
from app.targets.target import Target, label_without_toolchain, target_of
from app.targets.versions.series import MOST_POINTS, Point, Series, release_by
from worker.contract import Hello, Level
from worker.contract.names import SETTINGS
from worker.contract.versions import NO_VERSION, parse_version

_TOLD = "No node has it now. These attempts are of an earlier run."
_NOTHING = "No node has it now, and no earlier run of this report has a result."


@dataclass(frozen=True, slots=True)
class KnownPoint:
    """A point of a series. `job` has the attempts of an earlier run, if no node serves the point now."""

    point: Point
    job: str | None = None


def with_known_versions(
    session: Session,
    report_id: str,
    series: Series,
    *,
    base: Target,
    script: Script,
    fleet: Sequence[Hello],
    required_level: Level,
) -> list[KnownPoint]:
    """The points of a series, and between them those that were measured before or that absent nodes have."""
    points = [KnownPoint(point) for point in series.points]
    here = {version for point in series.points if (version := parse_version(point.value)) is not None}
    if series.axis in SETTINGS or len(here) < len(points):
        return points
    by_version = _jobs_by_version(session, report_id, series.axis, base=base, script=script)
    targets = {version: (target_of(job), job.id) for version, job in by_version.items()}
    for version, target in _of_absent_nodes(session, series.axis, base):
        targets.setdefault(version, (target, ""))
    for version in sorted(targets.keys() - here):
        target, job = targets[version]
        lack = nearest_lack(fleet, target, required_level=required_level)
        if not min(here) < version < max(here) or lack is None or len(points) >= MOST_POINTS:
            continue
        remark = lack.model_copy(update={"detail": _TOLD if job else _NOTHING})
        points.append(KnownPoint(Point(str(version), target, remark), job or None))
    return sorted(points, key=lambda known: parse_version(known.point.value) or NO_VERSION)


def _jobs_by_version(
    session: Session, report_id: str, axis: str, *, base: Target, script: Script
) -> Mapping[Version, JobRow]:
    """For each version the job of an earlier run on this kind of target with the most attempts."""
    kind = label_without_toolchain(base)
    jobs = [
        job
        for job in changes.judged_jobs(session, report_id, scripts={script.digest}, without=INCONCLUSIVE)
        if label_without_toolchain(target_of(job)) == kind
    ]
    attempts = Counter(
        row.job_id
        for row in verdict_queries.attempts_of_jobs(session, [job.id for job in jobs])
        if row.counted and row.state == "recorded"
    )
    versions = _versions_of(session, axis, jobs)
    # The fullest one last, and of equal ones the newest.
    from_least = sorted(jobs, key=lambda job: (attempts[job.id], job.id))
    return {versions[job.id]: job for job in from_least if job.id in versions}


def _versions_of(session: Session, axis: str, jobs: Collection[JobRow]) -> Mapping[str, Version]:
    """The version of the axis in which each job ran, without its build."""
    environments = run_queries.environments(
        session, {job.environment_digest for job in jobs if job.environment_digest}
    )
    facts = {job.id: environments.get(job.environment_digest or "") for job in jobs}
    releases = {
        job: parse_version(version_text(environment.facts, axis))
        for job, environment in facts.items()
        if environment is not None
    }
    return {job: Version(version.public) for job, version in releases.items() if version is not None}


def _of_absent_nodes(session: Session, axis: str, base: Target) -> Iterator[tuple[Version, Target]]:
    """The versions that toolchains of any known node have, with a target for each."""
    release = release_by(axis)
    hellos = [hello for _, hello in with_hellos(node_queries.all_nodes(session))]
    for name, facts in sorted(usable_toolchains(hellos).items()):
        version = release(facts)
        if version is not None and not facts.base and serves(facts, base.device):
            yield version, base.model_copy(update={"toolchain": name})
