"""A search finds what a single cell showed, and nothing that was withdrawn. A command indexes older rows."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from sqlalchemy import delete, select, update
from stage import CLAIM, SCRIPT, Stage, result

from app.clock import now
from app.ids import new_id
from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.runs.lookup.reports import list_reports
from app.runs.rows.search_index import index_all_reports
from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import Submission, submit
from app.search.terms import QueryError
from app.storage.models import ChangeRow, JobRow, ReportCellRow, ReportRow, ReportSearchRow
from app.storage.queries.reports.search import delete_words
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import CapturedWarning, Device, ExceptionFacts, Observation, Outcome

SAID = Observation(
    exit_status=1,
    exception=ExceptionFacts(
        type="torch.OutOfMemoryError", message="CUDA out of memory. Tried to allocate 2 GiB"
    ),
)
FINE = Observation(exit_status=0, stdout="all close: True\n", stdout_bytes=16)


def found(stage: Stage, query: str) -> set[str]:
    with stage.session() as session:
        return {item.title for item in list_reports(session, query=query).items}


def do(stage: Stage, titles: dict[str, tuple[Outcome, Observation]], *targets: Target) -> dict[str, str]:
    """Submit one report for each title and let the node run them. Returns the ids by title."""
    ids = {}
    for title in titles:
        script = f"{SCRIPT}# {title}\n"
        with stage.session() as session:
            request = Submission(script=script, claim=CLAIM, title=title, repeats=1, targets=targets or None)
            ids[title] = submit(session, request, settings=stage.settings).document.report.id or ""
    for _ in range(6):
        for attempt in stage.dispatch():
            title = next(title for title in titles if f"# {title}\n" in attempt.script)
            outcome, seen = titles[title]
            stage.say(result(attempt, node="n1", outcome=outcome, observation=seen))
    return ids


@pytest.fixture
def filled(stage: Stage) -> dict[str, str]:
    """Three reports with one cell each."""
    stage.node("n1")
    boom = Observation(exit_status=1, exception=ExceptionFacts(type="RuntimeError", message="boom"))
    shown = {
        "breaks": (Outcome.RAISED, boom),
        "memory": (Outcome.RAISED, SAID),
        "fine": (Outcome.COMPLETED, FINE),
    }
    return do(stage, shown)


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("", {"breaks", "memory", "fine"}),
        ("verdict:reproduced", {"breaks"}),
        ("-verdict:reproduced", {"memory", "fine"}),
        ("verdict:reproduced,not_reproduced", {"breaks", "fine"}),
        ("exception:RuntimeError", {"breaks"}),
        ("exception:OutOfMemoryError,runtimeerror", {"breaks", "memory"}),
        ("-exception:RuntimeError", {"memory", "fine"}),
        ("outcome:completed", {"fine"}),
        ("device:cpu", {"breaks", "memory", "fine"}),
        ("device:cuda", set()),
        ("-device:cuda verdict:not_reproduced", {"fine"}),
        ("toolchain:torch>=2.13 outcome:raised", {"breaks", "memory"}),
        ("toolchain:torch<2.13", set()),
        ("-toolchain:torch<2.13", {"breaks", "memory", "fine"}),
        ("toolchain:torch-2.13*", {"breaks", "memory", "fine"}),
        ("node:n1 verdict:reproduced", {"breaks"}),
        ("node:n2", set()),
        ("attention:still-broken", {"breaks"}),
        ("submitted:today", {"breaks", "memory", "fine"}),
        ("-submitted:today", set()),
        ("submitted:<2026-01-01", set()),
        ("cuda memory", {"memory"}),
        ('"Tried to allocate"', {"memory"}),
        ('"allocate tried"', set()),
        ("tried_to_alloc", {"memory"}),
        ("-memory", {"breaks", "fine"}),
        ("close node:n1", {"fine"}),
        ("changed:last-week", set()),
        ("is:open", {"breaks", "memory", "fine"}),
        ("is:closed", set()),
        ("label:nobody-gave-this", set()),
    ],
)
def test_what_was_seen_is_found(stage: Stage, filled: dict[str, str], query: str, titles: set[str]) -> None:
    assert found(stage, query) == titles


def test_hardware_and_warnings_and_changes_are_found_by_plain_words(stage: Stage) -> None:
    stage.node("n1")
    warned = Observation(
        exit_status=0,
        stdout="fine\n",
        stdout_bytes=5,
        warnings=[
            CapturedWarning(
                category="numpy.exceptions.VisibleDeprecationWarning",
                base="DeprecationWarning",
                text="`trapz` is deprecated. Use `trapezoid` instead.",
                file="/home/u/script.py",
                line=2,
            )
        ],
    )
    stage.submit(repeats=1)
    for attempt in stage.dispatch():
        seen = result(
            attempt, node="n1", outcome=Outcome.COMPLETED, observation=warned, cpu="AMD EPYC 9554 64-Core"
        )
        environment = {**seen.environment, "gpu.0.model": "NVIDIA H100"}
        stage.say(seen.model_copy(update={"environment": environment}))
    with stage.session() as session:
        [row] = session.scalars(select(ReportRow)).all()
        title = row.title
    for query in (
        *("epyc", "EPYC 9554", "hardware:epyc", "hardware:EPYC device:cpu", "trapezoid"),
        *("warning:VisibleDeprecationWarning", "warning:DeprecationWarning outcome:completed"),
    ):
        assert found(stage, query) == {title}, query
    # It ran on the processor of a machine with a card.
    for query in ("h100", "hardware:h100", "warning:FutureWarning", "regressed", "hardware:epyc device:cuda"):
        assert found(stage, query) == set(), query
    with pytest.raises(QueryError, match="takes a word of a name"):
        found(stage, 'hardware:"two words"')


def test_a_later_run_on_another_machine_leaves_the_earlier_one_in_the_search(stage: Stage) -> None:
    stage.node("n1")
    report_id = stage.submit(repeats=1).document.report.id or ""

    def finish_on(processor: str, outcome: Outcome, seen: Observation | None) -> None:
        for attempt in stage.dispatch():
            stage.say(result(attempt, node="n1", cpu=processor, outcome=outcome, observation=seen))

    finish_on("AMD EPYC 9554", Outcome.COMPLETED, FINE)
    with stage.session() as session:
        relaunch(session, report_id, RunRequest(repeats=1), settings=stage.settings)
    finish_on("Intel Xeon 8570", Outcome.RAISED, None)
    with stage.session() as session:
        title = session.get_one(ReportRow, report_id).title
    for query in ("hardware:epyc", "hardware:xeon", "epyc", "hardware:xeon exception:RuntimeError"):
        assert found(stage, query) == {title}, query
    # What one machine showed is not said of the other.
    assert found(stage, "hardware:epyc exception:RuntimeError") == set()
    # The same when all is indexed again.
    with stage.session() as session:
        session.execute(update(ReportSearchRow).values(rules=0))
    assert index_all_reports(stage.factory) == 1
    assert found(stage, "hardware:epyc outcome:completed") == {title}
    with stage.session() as session:
        assert len(session.scalars(select(ReportCellRow)).all()) == 2


def test_what_cells_have_must_be_in_one_of_them(stage: Stage) -> None:
    stage.node("n1")
    do(
        stage,
        {"both": (Outcome.COMPLETED, FINE)},
        Target(settings={"threads": "1"}),
        Target(settings={"deterministic": "on"}),
    )
    with stage.session() as session:
        first = session.scalars(
            select(ReportCellRow).where(ReportCellRow.settings.overlap(["threads=1"]))
        ).one()
        first.verdict = Verdict.FLAKY
        row = session.get_one(ReportSearchRow, first.report_id)
        row.facets = [*row.facets, "verdict:flaky"]
    assert found(stage, "verdict:flaky setting:threads=1") == {"both"}
    assert found(stage, "verdict:not_reproduced setting:deterministic") == {"both"}
    assert found(stage, "verdict:flaky setting:deterministic") == set()
    assert found(stage, "setting:threads=1 setting:deterministic") == set()
    assert found(stage, "setting:threads=1,deterministic verdict:flaky,reproduced") == {"both"}


def test_a_later_run_replaces_its_cells_and_leaves_the_others(stage: Stage, filled: dict[str, str]) -> None:
    with stage.session() as session:
        targets = (Target(device=Device.CPU), Target(settings={"threads": "1"}))
        relaunch(session, filled["breaks"], RunRequest(targets=targets, repeats=1), settings=stage.settings)
    for attempt in stage.dispatch():
        stage.say(result(attempt, node="n1", outcome=Outcome.COMPLETED, observation=FINE))
    assert found(stage, "exception:RuntimeError") == set()
    assert found(stage, "setting:threads=1 verdict:not_reproduced") == {"breaks"}
    assert found(stage, "close") == {"breaks", "fine"}


def test_changes_are_one_and_the_same(stage: Stage, filled: dict[str, str]) -> None:
    with stage.session() as session:
        job = session.scalars(select(JobRow).limit(1)).one()
        for kind, days in ((ChangeKind.FIXED, 1), (ChangeKind.REGRESSED, 100)):
            moment = now() - timedelta(days=days)
            identity = new_id() if days == 1 else "0" * 26
            session.add(
                ChangeRow(
                    id=identity,
                    report_id=filled["breaks"],
                    run_id=job.run_id,
                    job_id=job.id,
                    before_job_id=job.id,
                    kind=kind,
                    script_digest=job.script_digest,
                    target="cpu",
                    before_target="cpu",
                    toolchain="a",
                    before_toolchain="b",
                    before=Verdict.FLAKY,
                    after=Verdict.FLAKY,
                    differs=[],
                    created_at=moment,
                )
            )
    assert found(stage, "changed:fixed") == found(stage, "changed:last-week") == {"breaks"}
    assert found(stage, "changed:fixed changed:last-week") == {"breaks"}
    assert found(stage, "changed:regressed changed:last-week") == set()
    assert found(stage, "-changed:regressed") == {"memory", "fine"}


def test_pages_of_a_search_have_each_report_once(stage: Stage, filled: dict[str, str]) -> None:
    seen, cursor = [], None
    with stage.session() as session:
        while True:
            page = list_reports(session, query="device:cpu", limit=2, cursor=cursor)
            seen += [item.title for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
    assert seen == ["fine", "memory", "breaks"]


def test_withdrawn_words_find_nothing(stage: Stage, filled: dict[str, str]) -> None:
    with stage.session() as session:
        delete_words(session, filled["memory"])
    assert found(stage, "memory") == set()
    assert found(stage, "exception:outofmemoryerror") == {"memory"}


def test_older_rows_are_made_findable_by_a_command(stage: Stage, filled: dict[str, str]) -> None:
    with stage.session() as session:
        kept = {row.report_id: (row.facets, row.words) for row in session.scalars(select(ReportSearchRow))}
        session.execute(delete(ReportSearchRow).where(ReportSearchRow.report_id == filled["breaks"]))
        session.execute(delete(ReportCellRow))
        session.execute(update(ReportSearchRow).values(rules=0, facets=[]))
    assert found(stage, "device:cpu") == set()
    variables = {**os.environ, "SAMEHERE_DATABASE_URL": stage.settings.reveal_database_url() or ""}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app.serve.backfill", "search"],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "3 reports\n"
    with stage.session() as session:
        assert {
            row.report_id: (row.facets, row.words) for row in session.scalars(select(ReportSearchRow))
        } == kept


def test_a_search_that_can_not_be_read_is_an_error(stage: Stage) -> None:
    with stage.session() as session, pytest.raises(QueryError):
        list_reports(session, query="verdict:")


def test_what_stands_is_asked_of_the_reports_row(stage: Stage, filled: dict[str, str]) -> None:
    with stage.session() as session:
        session.get_one(ReportRow, filled["fine"]).attention = Attention.ASK
    assert found(stage, "attention:ask") == {"fine"}
