"""Stored reports are read again: what changes is shown, then stored, and the earlier claim stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy.orm.attributes import flag_modified
from stage import Stage, result

from app.command.rejudge import read_again as command
from app.errors import InputError
from app.runs.lookup.reports import report_details
from app.runs.maintenance.reread import ReadAgain, ReadingsAgain, read_again
from app.storage.models import ReportRow

pytestmark = pytest.mark.service
SCRIPT = "raise RuntimeError('boom')\n"
OTHER = {"text": "KeyError", "kind": "exception", "exception_type": "KeyError", "message": ""}


def finished(stage: Stage, script: str = SCRIPT, claim: str = "RuntimeError: boom") -> tuple[str, str]:
    """A finished run and its report."""
    stage.node("n")
    run_id = stage.submit(script, claim=claim).document.id
    while attempts := stage.dispatch():
        for attempt in attempts:
            stage.say(result(attempt, node="n"))
    report_id = stage.run(run_id).report.id
    assert report_id
    return run_id, report_id


def as_read_of_old(stage: Stage, report_id: str, *, checks: list[Any] | None = None) -> None:
    """Make it look as if older rules had read the report: without exhibits, or as another claim."""
    with stage.session() as session:
        row = session.get_one(ReportRow, report_id)
        row.reading = {**row.reading, "exhibits": []}
        if checks is not None:
            row.reading["claim"] = {**row.reading["claim"], "checks": checks}
        flag_modified(row, "reading")


def again(stage: Stage, **how: Any) -> ReadingsAgain:
    with stage.session() as session:
        return read_again(session, settings=stage.settings, **how)


def test_another_claim_is_shown_and_then_stored(stage: Stage) -> None:
    run_id, report_id = finished(stage)
    before = stage.run(run_id).verdict
    as_read_of_old(stage, report_id, checks=[OTHER])
    with stage.session() as session:
        stored = dict(session.get_one(ReportRow, report_id).reading)
    shown = again(stage, report_id=report_id)
    assert [(each.report, each.outcome) for each in shown.reports] == [(report_id, ReadAgain.CLAIM)]
    with stage.session() as session:
        assert session.get_one(ReportRow, report_id).reading == stored
    done = again(stage, report_id=report_id, apply=True, reason="exhibits", who="operator")
    assert done.reports == shown.reports
    assert stage.run(run_id).verdict == before == "reproduced"
    with stage.session() as session:
        report = report_details(session, report_id)
    [earlier] = report.earlier_claims
    assert (earlier.claim.checks[0].text, earlier.corrected_by, earlier.reason) == (
        "KeyError",
        "operator",
        "exhibits",
    )
    # An interrupted command can start from the front.
    assert [each.outcome for each in again(stage, report_id=report_id).reports] == [ReadAgain.SAME]


def test_a_verdict_that_flips_is_named(stage: Stage) -> None:
    run_id, report_id = finished(stage)
    as_read_of_old(stage, report_id, checks=[OTHER])
    with stage.session() as session:
        from app.runs.maintenance.rejudge import judge_again

        judge_again(session, report_id=report_id, apply=True, reason="as of old", who="ada")
    old = stage.run(run_id).verdict
    assert old != "reproduced"
    [found] = again(stage, report_id=report_id, apply=True, reason="exhibits", who="ada").reports
    assert [(flip.run, flip.before, flip.after) for flip in found.flips] == [(run_id, old, "reproduced")]
    assert stage.run(run_id).verdict == "reproduced"


def test_corrected_and_typed_claims_stay(stage: Stage) -> None:
    typed = json.dumps({"checks": [{"kind": "exception", "type": "KeyError"}]})
    _, report_id = finished(stage, claim=typed)
    as_read_of_old(stage, report_id)
    assert [each.outcome for each in again(stage, report_id=report_id).reports] == [ReadAgain.LEFT]


def test_a_report_with_other_scripts_stays(stage: Stage) -> None:
    _, report_id = finished(stage)
    with stage.session() as session:
        session.get_one(ReportRow, report_id).text = "raise KeyError(1)\n"
    found = again(stage, report_id=report_id, apply=True, reason="exhibits", who="ada")
    assert [each.outcome for each in found.reports] == [ReadAgain.OTHER_SCRIPTS]


def test_the_command_goes_on_where_it_stopped(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, first = finished(stage)
    _, second = finished(stage, "raise RuntimeError('boom')  # 2\n")
    for each in (first, second):
        as_read_of_old(stage, each, checks=[OTHER])
    monkeypatch.setenv("SAMEHERE_DATABASE_URL", stage.settings.reveal_database_url() or "")
    monkeypatch.setattr("app.command.rejudge.REPORTS_OF_A_PAGE", 1)
    how: dict[str, Any] = {"report": None, "every": True, "preview": True, "reason": None, "after": None}
    capsys.readouterr()
    assert command(**how, as_json=False) == 0
    told = capsys.readouterr()
    assert "2 read again: claim 2; nothing is stored" in told.out
    assert f"--after {first}" in told.err
    storing = {**how, "preview": False, "reason": "exhibits", "after": first}
    assert command(**storing, as_json=True) == 0
    assert [each["report"] for each in json.loads(capsys.readouterr().out)["changed"]] == [second]
    assert [each.outcome for each in again(stage, report_id=first).reports] == [ReadAgain.CLAIM]
    for wrong in ({"every": False}, {"preview": False}):
        with pytest.raises(InputError):
            command(**{**how, **wrong}, as_json=False)
