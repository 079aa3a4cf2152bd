"""Withdrawing a report erases what was submitted or printed from all tables. Digests and verdicts stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import select, text
from stage import Stage, result, together

from app.errors import ConflictError, NotFoundError
from app.judging.judgement import Verdict
from app.judging.versions import JUDGING_RULES
from app.runs.exchange.contribute import contribute, export
from app.runs.lookup.comparisons import compare_attempts
from app.runs.lookup.reports import list_reports, report_details
from app.runs.lookup.runs import attempt_details
from app.runs.maintenance.overrule import overrule_run
from app.runs.maintenance.withdraw import withdraw, withdraw_with_secret
from app.runs.rows.acts import acts_on
from app.runs.run_object.bisection_state import BisectionRequest
from app.runs.run_object.storable import json_digest
from app.runs.submission.bisections import bisection_document, start_bisection
from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import Submission, SubmitResult, submit
from app.storage.models import Base, ReportRow, ScriptRow
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import (
    CapturedValue,
    ExceptionFacts,
    Hello,
    Level,
    Observation,
    Outcome,
    Reason,
    ToolchainFacts,
)

SECRET_WORD = "xyzzy4711"
SCRIPT = f"raise RuntimeError('{SECRET_WORD}')  # boom\n"


def submitted(stage: Stage, *, script: str = SCRIPT, **more: Any) -> SubmitResult:
    with stage.session() as session:
        wish = {
            "title": f"about {SECRET_WORD}",
            "claim": f"RuntimeError: {SECRET_WORD}",
            "source_url": f"https://x.example/{SECRET_WORD}",
        }
        return submit(
            session, Submission(**{**wish, "script": script, "repeats": 2, **more}), settings=stage.settings
        )


def talkative() -> dict[str, Any]:
    """A result with the word in every place that a script or a node can write."""
    value = CapturedValue(
        name=SECRET_WORD,
        origin="final",
        kind="number",
        dtype="float64",
        shape=[],
        device="cpu",
        digest=SECRET_WORD,
        data="",
    )
    observation = Observation(
        exit_status=1,
        exception=ExceptionFacts(type="RuntimeError", message=SECRET_WORD),
        signal=SECRET_WORD,
        stdout=SECRET_WORD,
        stderr=f"RuntimeError: {SECRET_WORD}\n",
        devices_used=[SECRET_WORD],
        flags={SECRET_WORD: True},
        flags_changed={SECRET_WORD: True},
        values=[value],
        hash_seed=SECRET_WORD,
        stacks=SECRET_WORD,
        wall_seconds=1.5,
    )
    return {
        "observation": observation,
        "reason": Reason(code="x", detail=SECRET_WORD),
        "start_reason": Reason(code="y", detail=SECRET_WORD),
    }


def finish(stage: Stage, **more: Any) -> None:
    while attempts := stage.dispatch():
        for attempt in attempts:
            stage.start(attempt, node="n")
            stage.say(result(attempt, node="n", **(more or talkative())))


def holding_the_word(stage: Stage) -> set[str]:
    """The tables that contain the word."""
    with stage.session() as session:
        return {
            table.name
            for table in Base.metadata.sorted_tables
            if session.scalar(
                text(f'SELECT count(*) FROM "{table.name}" AS row WHERE row::text LIKE :word'),  # noqa: S608
                {"word": f"%{SECRET_WORD}%"},
            )
        }


def report_id_of(found: SubmitResult) -> str:
    assert found.document.report.id is not None
    return found.document.report.id


def test_nothing_is_left_but_digests_and_verdicts(stage: Stage) -> None:
    stage.node("n")
    found = submitted(stage)
    finish(stage)
    before = stage.run(found.document.id)
    assert before.verdict == "reproduced"
    assert {"report", "script", "attempt"} <= holding_the_word(stage)
    assert found.withdraw_secret is not None
    with stage.session() as session:
        compare_attempts(session, *(part.id for part in before.jobs[0].attempts))
    assert "comparison" in holding_the_word(stage)
    with stage.session() as session:
        assert withdraw_with_secret(session, found.withdraw_secret) == report_id_of(found)
    assert holding_the_word(stage) == set()
    after = stage.run(found.document.id)
    assert (after.state, after.verdict, after.summary, after.where, after.rules) == (
        "finished",
        "reproduced",
        before.summary,
        before.where,
        JUDGING_RULES,
    )
    assert [script.digest for script in after.report.scripts] == [
        script.digest for script in before.report.scripts
    ]
    assert (after.jobs[0].verdict, after.jobs[0].matched, after.jobs[0].of) == ("reproduced", 2, 2)
    assert [part.wall_seconds for part in after.jobs[0].attempts] == [1.5, 1.5]
    assert after.withdrawn_at is not None
    with stage.session() as session:
        details = report_details(session, report_id_of(found))
        seen = attempt_details(session, after.jobs[0].attempts[0].id)
        [listed] = list_reports(session).items
        [act] = acts_on(session, "report", report_id_of(found))
    assert (details.report.title, details.text, details.standing.verdict) == ("", "", "reproduced")
    assert (seen.withdrawn, seen.observation and seen.observation.stdout, seen.outcome) == (
        True,
        "",
        "raised",
    )
    assert listed.withdrawn_at == details.withdrawn_at
    assert listed.withdrawn_at is not None
    assert (act.what, act.who, act.details["runs"], act.details["scripts_erased"]) == (
        "withdrawn",
        "submitter",
        1,
        [after.jobs[0].script],
    )


def test_what_a_bisection_says_is_erased_too(stage: Stage) -> None:
    facts = [
        ToolchainFacts(name=f"torch-{one}", state="ready", packages={"torch": one}, torch=one)
        for one in ("2.12.1", "2.13.0")
    ]
    stage.say(
        Hello(node="n", instance="one", slots=2, level=Level.NAMESPACES_CGROUP, toolchains=facts, cores=4)
    )
    stage.beat("n")
    found = submitted(stage)
    with stage.session() as session:
        request = BisectionRequest(axis="torch", base=Target())
        made = start_bisection(session, report_id_of(found), request, settings=stage.settings)
    finish(stage, outcome=Outcome.SETUP_FAILED, reason=Reason(code="x", detail=SECRET_WORD))
    assert "bisection" in holding_the_word(stage)
    with stage.session() as session:
        withdraw(session, report_id_of(found), reason="it holds a key", who="ada")
    assert holding_the_word(stage) == set()
    with stage.session() as session:
        after = bisection_document(session, made.id)
    assert (
        [point.value for point in after.points],
        after.points[0].reason and after.points[0].reason.code,
    ) == (["2.12.1", "2.13.0"], "x")


def test_what_is_withdrawn_stays_so(stage: Stage) -> None:
    stage.node("n")
    found = submitted(stage)
    finish(stage)
    report_id = report_id_of(found)
    with stage.session() as session:
        bundle = export(session, found.document.id)
    assert found.withdraw_secret is not None
    with stage.session() as session:
        withdraw(session, report_id, reason="it holds a password", who="ada")
    for again in (
        lambda session: withdraw_with_secret(session, found.withdraw_secret or ""),
        lambda session: withdraw(session, report_id, reason="x", who="ada"),
        lambda session: relaunch(session, report_id, RunRequest(), settings=stage.settings),
        lambda session: export(session, found.document.id),
        lambda session: contribute(
            session, json.dumps(bundle).encode(), by="x", settings=stage.settings, report_id=report_id
        ),
        lambda session: compare_attempts(
            session, *(part.id for part in stage.run(found.document.id).jobs[0].attempts)
        ),
    ):
        with stage.session() as session, pytest.raises(ConflictError) as raised:
            again(session)
        assert raised.value.code == "withdrawn"
    with stage.session() as session:
        overrule_run(session, found.document.id, Verdict.NOT_REPRODUCED, reason="a typo", who="ada")
    said = stage.run(found.document.id).overruled
    assert (said and said.verdict, stage.run(found.document.id).verdict) == ("not_reproduced", "reproduced")
    with stage.session() as session, pytest.raises(NotFoundError):
        withdraw_with_secret(session, "guessed")


def test_what_runs_is_stopped_and_what_still_comes_is_kept_without_its_words(stage: Stage) -> None:
    stage.node("n")
    found = submitted(stage, repeats=3)
    attempts = stage.dispatch()
    stage.start(attempts[0], node="n")
    stage.start(attempts[1], node="n")
    stage.say(result(attempts[0], node="n", **talkative()))
    with stage.session() as session:
        withdraw(session, report_id_of(found), reason="private", who="ada")
    assert stage.run(found.document.id).state == "cancelled"
    stage.say(result(attempts[1], node="n", **talkative()))
    stage.say(result(attempts[2], node="n", **talkative()))
    assert holding_the_word(stage) == set()
    assert [row.state for row in stage.attempts(found.document.id)] == ["recorded", "recorded", "cancelled"]
    assert stage.dispatch() == []


def test_a_script_that_another_report_has_stays_there_and_only_there(stage: Stage) -> None:
    stage.node("n")
    mine, other = submitted(stage), submitted(stage, title="another")
    digest = mine.document.jobs[0].script
    with stage.session() as session:
        withdraw(session, report_id_of(mine), reason="private", who="ada")
    assert stage.run(other.document.id).report.scripts[0].script == SCRIPT
    assert SECRET_WORD not in stage.run(mine.document.id).model_dump_json()
    with stage.session() as session:
        assert SECRET_WORD not in report_details(session, report_id_of(mine)).model_dump_json()
        [act] = acts_on(session, "report", report_id_of(mine))
        assert act.details["scripts_of_others_too"] == [digest]
        withdraw(session, report_id_of(other), reason="private", who="ada")
    assert "script" not in holding_the_word(stage)
    # A new submission stores it again, and only there.
    again = submitted(stage)
    assert again.document.jobs[0].script == digest
    [attempt, *_] = stage.dispatch()
    assert attempt.script == SCRIPT
    assert SECRET_WORD not in stage.run(mine.document.id).model_dump_json()


@pytest.mark.parametrize("turn", range(4))
def test_somebody_submits_the_same_script_meanwhile(stage: Stage, turn: int) -> None:
    stage.node("n")
    mine = submitted(stage)

    def erase() -> None:
        with stage.session() as session:
            withdraw(session, report_id_of(mine), reason="private", who="ada")

    steps = [erase, *[lambda: submitted(stage)] * 3]
    found = together(*steps[turn:], *steps[:turn])
    assert [one for one in found if isinstance(one, Exception)] == []
    with stage.session() as session:
        [row] = session.scalars(select(ScriptRow))
        assert (row.text, row.erased_at) == (SCRIPT, None)
    for one in found:
        if one is not None:
            assert stage.run(one.document.id).report.scripts[0].script == SCRIPT


@pytest.mark.parametrize("turn", range(4))
def test_results_come_in_and_it_is_run_again_meanwhile(stage: Stage, turn: int) -> None:
    """Whatever comes first, the word is nowhere afterwards, and the report is withdrawn once."""
    stage.node("n")
    found = submitted(stage, repeats=3)
    attempts = stage.dispatch()
    for attempt in attempts:
        stage.start(attempt, node="n")

    def erase() -> None:
        with stage.session() as session:
            withdraw(session, report_id_of(found), reason="private", who="ada")

    def again() -> None:
        with stage.session() as session:
            relaunch(session, report_id_of(found), RunRequest(repeats=1), settings=stage.settings)

    results = [
        lambda attempt=attempt: stage.say(result(attempt, node="n", **talkative())) for attempt in attempts
    ]
    steps = [*results, erase, again, erase]
    outcomes = together(*steps[turn:], *steps[:turn])
    errors = [one for one in outcomes if isinstance(one, Exception)]
    # A run that starts meanwhile may make the withdrawal answer: try again.
    if not any(isinstance(one, ConflictError) and one.code == "withdrawn" for one in errors):
        erase()
    stage.say(result(attempts[0], node="n", **talkative()))
    assert holding_the_word(stage) == set()
    with stage.session() as session:
        assert [act.what for act in acts_on(session, "report", report_id_of(found))] == ["withdrawn"]
        [row] = session.scalars(select(ReportRow))
        assert row.withdrawn_at is not None


def test_a_bundle_of_a_withdrawn_run_is_a_new_submission(stage: Stage) -> None:
    """A new submission of the text is a new report. The withdrawn one stays erased."""
    stage.node("n")
    found = submitted(stage)
    finish(stage)
    with stage.session() as session:
        bundle = export(session, found.document.id)
    with stage.session() as session:
        withdraw(session, report_id_of(found), reason="private", who="ada")
    content = {name: value for name, value in bundle.items() if name != "digest"}
    with stage.session() as session:
        data = json.dumps({**content, "digest": json_digest(content)}).encode()
        brought = contribute(session, data, by="Eve", settings=stage.settings)
    assert brought.created
    assert brought.document.report.id != report_id_of(found)
    assert SECRET_WORD not in stage.run(found.document.id).model_dump_json()
