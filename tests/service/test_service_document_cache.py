"""The cached run object equals a fresh one, and is assembled again when the run, the report or the rules
change.
"""

from __future__ import annotations

import json

import pytest
from sqlalchemy import delete, func, select
from stage import Stage, result

from app.runs.lifecycle.cancel import cancel_run
from app.runs.lookup import runs as show
from app.runs.lookup.runs import run_document, run_json
from app.runs.rows import document_cache
from app.runs.rows.facts import document_of
from app.storage.models import ReportRow, RunDocumentRow, RunRow
from app.storage.queries.run_documents import delete_of_report
from worker.contract import CapturedValue, ExceptionFacts, Observation

BOOM = Observation(
    exit_status=1,
    exception=ExceptionFacts(type="RuntimeError", message="boom"),
    stdout="0.5\n" * 5000,
    values=[
        CapturedValue(
            name="x", origin="final", kind="number", dtype="float", shape=[], device="cpu", digest="sha256:0"
        )
    ],
)


@pytest.fixture
def run_id(stage: Stage) -> str:
    """A finished run."""
    stage.node("n1")
    run = stage.submit(repeats=3).document
    for attempt in stage.dispatch():
        stage.say(result(attempt, node="n1", observation=BOOM))
    return run.id


def made_anew(stage: Stage, run_id: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether reading a run assembles its object."""
    made = []
    with monkeypatch.context() as patch:
        patch.setattr(
            show, "document_of", lambda session, run: made.append(run.id) or document_of(session, run)
        )
        with stage.session() as session:
            run_json(session, run_id)
            run_document(session, run_id)
    return bool(made)


def test_what_is_kept_is_what_a_fresh_one_says(
    stage: Stage, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not made_anew(stage, run_id, monkeypatch)
    with stage.session() as session:
        fresh = document_of(session, session.get_one(RunRow, run_id))
        assert run_document(session, run_id) == fresh
        assert json.loads(run_json(session, run_id)) == fresh.model_dump(mode="json", by_alias=True)
    assert fresh.verdict == "reproduced"
    assert len(fresh.jobs[0].attempts) == 3


def test_it_is_made_anew_when_run_report_or_rules_changed(
    stage: Stage, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stage.session() as session:
        session.get_one(RunRow, run_id).last_event += 1
    assert made_anew(stage, run_id, monkeypatch)
    assert not made_anew(stage, run_id, monkeypatch)
    with stage.session() as session:
        session.get_one(ReportRow, session.get_one(RunRow, run_id).report_id).title = "another"
    assert made_anew(stage, run_id, monkeypatch)
    with stage.session() as session:
        assert run_document(session, run_id).report.title == "another"
    monkeypatch.setattr(document_cache, "VERSIONS", (0, 0, 0))
    assert made_anew(stage, run_id, monkeypatch)
    assert not made_anew(stage, run_id, monkeypatch)


def test_what_stands_of_the_report_changes_nothing(
    stage: Stage, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stage.session() as session:
        session.get_one(ReportRow, session.get_one(RunRow, run_id).report_id).verified_at = None
    assert not made_anew(stage, run_id, monkeypatch)


def test_a_run_that_goes_on_is_never_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.node("n1")
    run_id = stage.submit().document.id
    assert made_anew(stage, run_id, monkeypatch)
    assert made_anew(stage, run_id, monkeypatch)
    with stage.session() as session:
        assert session.scalar(select(func.count()).select_from(RunDocumentRow)) == 0
        cancel_run(session, run_id)
    assert made_anew(stage, run_id, monkeypatch)
    assert not made_anew(stage, run_id, monkeypatch)


def test_what_is_forgotten_is_gone_and_can_be_made_again(
    stage: Stage, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stage.session() as session:
        delete_of_report(session, session.get_one(RunRow, run_id).report_id)
        assert session.get(RunDocumentRow, run_id) is None
    assert made_anew(stage, run_id, monkeypatch)


def test_who_looks_waits_for_nobody(stage: Stage, run_id: str) -> None:
    with stage.session() as session:
        session.execute(delete(RunDocumentRow))
    with stage.session() as writer:
        writer.get(RunRow, run_id, with_for_update=True)
        with stage.session() as session:
            assert run_document(session, run_id).id == run_id
            assert session.get(RunDocumentRow, run_id) is None


def test_numbers_that_json_has_no_word_for_are_shown_all_the_same(
    stage: Stage, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stage.session() as session:
        session.get_one(RunDocumentRow, run_id).content = document_cache.zlib.compress(b'{"schema": 1}')
    assert made_anew(stage, run_id, monkeypatch)


def test_what_was_read_lately_is_not_read_again(stage: Stage, run_id: str) -> None:
    with stage.session() as session:
        first = run_document(session, run_id)
        assert run_document(session, run_id) is first
        session.get_one(ReportRow, first.report.id).title = "another"
        session.flush()
        assert run_document(session, run_id).report.title == "another"
