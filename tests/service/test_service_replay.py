"""Replaying the recorded history of the demo gives the verdicts, changes and groups of the recording."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from numpy_versions import UNSEEN, say_hello
from sqlalchemy import func, select
from stage import Stage, result

from app.errors import InputError
from app.ids import moment_of
from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.judging.versions import JUDGING_RULES
from app.runs.exchange.replay import replay
from app.runs.lookup.changes import list_changes
from app.runs.lookup.reports import list_reports
from app.runs.lookup.triage import triage
from app.runs.rows.nodes import fleet, list_nodes
from app.runs.run_object.bisection_state import BisectionRequest
from app.runs.submission.bisections import start_bisection
from app.serve.demo import HISTORY
from app.storage.models import AttemptRow, ChangeRow, JobRow, ReportRow, RunRow
from app.storage.queries.rerun import toolchains
from app.targets.target import Target
from worker.contract import ExceptionFacts, Observation, Outcome

REGRESSED_IN_THE_NEWEST = {
    "Integration of spectra fails: `module 'numpy' has no attribute 'trapz'`",
    "`a.flat[1.0]` quietly takes a float as an index",
    "`np.in1d` is gone in the release candidate",
    "`np.reshape(a, newshape=...)` is no longer accepted",
    "float() of an array with one element raises",
    "np.sum over a generator raises TypeError",
}
# The sixth gives another result, and no version warned of it.
ANNOUNCED = {title for title in REGRESSED_IN_THE_NEWEST if "flat" not in title}
FIXED = {
    ("clip of a uint8 array with bounds outside 0..255: OverflowError", "numpy-2.1.3"),
    ("filled() of a masked uint8 array turns it into dtype object", "numpy-2.2.6"),
    ("trim_zeros fails for two dimensions", "numpy-2.2.6"),
    ("np.unique with axis=0 keeps each NaN", "numpy-2.4.0"),
}
SOME = "lab-cpu"


@pytest.fixture
def some(tmp_path: Path) -> Path:
    """The recordings of two reports."""
    for path in sorted((HISTORY / SOME).iterdir()):
        title = json.loads(gzip.decompress(path.read_bytes()))["report"]["text"].partition("\n")[0]
        if "in1d" in title or "trim_zeros" in title:
            (tmp_path / SOME).mkdir(exist_ok=True)
            shutil.copy(path, tmp_path / SOME)
    return tmp_path


def counts(stage: Stage) -> list[int]:
    with stage.session() as session:
        return [
            session.scalar(select(func.count()).select_from(table)) or 0
            for table in (ReportRow, RunRow, JobRow, AttemptRow, ChangeRow)
        ]


def test_the_whole_history_shows_what_was_recorded(stage: Stage) -> None:
    with stage.session() as session:
        assert replay(session, HISTORY) == len(list(HISTORY.glob("*/*.json.gz"))) > 80
    with stage.session() as session:
        newest = triage(session, each=50)
        assert newest is not None
        assert newest.regressed_with == ("numpy-2.4.0",)
        lines = [line for part in newest.parts for line in part.lines]
        assert {line.change.title for line in lines} == REGRESSED_IN_THE_NEWEST
        assert {line.change.title for line in newest.part("announced").lines} == ANNOUNCED
        assert {(line.before, line.after) for line in lines} == {("0 of 5", "3 of 3")}
        assert {line.hardware for line in lines} == {"AMD EPYC"}
        removals = {line.change.title: line.change.removal for line in lines}
        announced = {title for title, each in removals.items() if each and each.cause == "announced"}
        assert announced == ANNOUNCED
        trapz = next(each for title, each in removals.items() if each is not None and "trapz" in title)
        assert (trapz.category, trapz.package, trapz.older) == ("DeprecationWarning", "numpy", "2.3.5")
        assert trapz.text.startswith("`trapz` is deprecated")
        assert (newest.size, newest.fixed) == (len(REGRESSED_IN_THE_NEWEST), 1)
        fixed = list_changes(session, kinds=[ChangeKind.FIXED])
        assert {(change.title, change.toolchain) for change in fixed.items} == FIXED
        assert {change.kind for change in list_changes(session, limit=100).items} == {
            ChangeKind.REGRESSED,
            ChangeKind.FIXED,
        }
        titles = {report.title for report in list_reports(session, limit=100).items}
        # Names of files are no titles for people.
        assert "wrong kernel" not in titles
        assert "`torch.cos` has the wrong sign in the last element" in titles
        verdicts = {
            report.title: report.latest and report.latest.verdict
            for report in list_reports(session, limit=100).items
        }
        assert verdicts["Test fails sometimes: the first element stays in its place"] is Verdict.FLAKY
        assert verdicts["Median is wrong since the update"] is Verdict.NEEDS_INFO
        assert verdicts["cpu= -inf and gpu=-108.34196472167969"] is Verdict.REPRODUCED
        groups = Counter(row.attention for row in session.scalars(select(ReportRow)))
        assert (groups[Attention.FIXED], groups[Attention.ASK]) == (len(FIXED), 2)
        assert all(
            row.contributed_by is None and row.rules == JUDGING_RULES
            for row in session.scalars(select(RunRow))
        )
        nodes = list_nodes(session, stage.broker)
        assert [(node.name, node.state) for node in nodes] == [
            (f"lab-{name}", "away") for name in ("cpu", "h100", "h200", "h200-x2")
        ]
        assert [len(node.gpus) for node in nodes] == [0, 1, 1, 2]
        assert {row.node for row in session.scalars(select(AttemptRow)) if row.node} == {
            node.name for node in nodes
        }
        # A node that was replayed a moment ago is away, too.
        assert (
            fleet(
                session,
                settings=stage.settings.model_copy(update={"node_absence_seconds": 10 * 365 * 86400.0}),
            )
            == []
        )
        assert "numpy-2.4.0" in toolchains(session)


def test_times_are_those_of_the_recording(stage: Stage, some: Path) -> None:
    with stage.session() as session:
        assert replay(session, some) == 8
    with stage.session() as session:
        for change in session.scalars(select(ChangeRow)):
            run = session.get_one(RunRow, change.run_id)
            assert change.created_at == run.finished_at
            assert moment_of(change.id).replace(microsecond=0) == change.created_at.replace(microsecond=0)
        assert all(
            row.created_at < row.finished_at < datetime(2026, 11, 29, tzinfo=UTC)
            for row in session.scalars(select(RunRow))
            if row.finished_at
        )
        for report in session.scalars(select(ReportRow)):
            runs = list(
                session.scalars(select(RunRow).where(RunRow.report_id == report.id).order_by(RunRow.id))
            )
            assert report.created_at == runs[0].created_at
            assert report.verified_at == runs[-1].finished_at
        for attempt in session.scalars(select(AttemptRow)):
            assert attempt.recorded_at is not None
            assert timedelta(0) <= attempt.recorded_at - attempt.created_at < timedelta(minutes=5)
    older = list_of_changes(stage, since="2026-11-27")
    assert len(older) == 2
    assert list_of_changes(stage, since="2026-11-30") == []


def list_of_changes(stage: Stage, *, since: str) -> list[str]:
    with stage.session() as session:
        return [change.id for change in list_changes(session, since=since).items]


def test_what_is_here_is_not_taken_in_again(stage: Stage, some: Path) -> None:
    with stage.session() as session:
        assert replay(session, some) == 8
    before = counts(stage)
    with stage.session() as session:
        assert replay(session, some) == 0
    assert counts(stage) == before == [2, 8, 8, before[3], 2]


def test_a_damaged_recording_is_refused_whole(stage: Stage, some: Path) -> None:
    path = next(iter(sorted((some / SOME).iterdir())))
    bundle = json.loads(gzip.decompress(path.read_bytes()))
    bundle["report"]["text"] += "x"
    path.write_bytes(gzip.compress(json.dumps(bundle).encode()))
    with pytest.raises(InputError), stage.session() as session:
        replay(session, some)
    assert counts(stage) == [0, 0, 0, 0, 0]


def test_a_bisection_finds_no_change_again_that_is_known(stage: Stage, some: Path) -> None:
    with stage.session() as session:
        replay(session, some)
    with stage.session() as session:
        reports = {report.title: report.id for report in list_reports(session).items}
    report_id = next(report for title, report in reports.items() if title and "in1d" in title)
    say_hello(stage, "2.2.6", "2.3.5", "2.4.0")
    with stage.session() as session:
        request = BisectionRequest(axis="numpy", base=Target())
        start_bisection(session, report_id, request, settings=stage.settings)
    gone = ExceptionFacts(type="AttributeError", message="module 'numpy' has no attribute 'in1d'")
    while attempts := stage.dispatch():
        for attempt in attempts:
            version = attempt.toolchain.removeprefix("numpy-")
            seen, outcome = UNSEEN, Outcome.COMPLETED
            if version == "2.4.0":
                seen, outcome = Observation(exit_status=1, exception=gone), Outcome.RAISED
            found = {"cpu.model": "AMD EPYC", "python.version": "3.11.7", "package.numpy": version}
            told = result(attempt, node="n1", outcome=outcome, observation=seen)
            stage.say(told.model_copy(update={"environment": found}))
    with stage.session() as session:
        rows = session.scalars(select(ChangeRow).where(ChangeRow.report_id == report_id)).all()
        (removal,) = [row.removal for row in rows]
        assert removal is not None
        assert removal["text"] == "`in1d` is deprecated. Use `np.isin` instead."
