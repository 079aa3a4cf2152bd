"""Judging stored attempts again: changed verdicts are shown, then stored with an act.

Until then the old ones stay.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import update
from stage import Stage, result, together

from app.command.rejudge import judge_again as command
from app.errors import InputError, NotFoundError
from app.ids import new_id
from app.judging.judgement import Verdict
from app.judging.versions import JUDGING_RULES
from app.runs.maintenance import rejudge as use
from app.runs.maintenance.overrule import overrule_run
from app.runs.maintenance.quarantine import quarantine
from app.runs.maintenance.withdraw import withdraw
from app.runs.rows.acts import acts_on
from app.storage.models import JobRow, RunRow

OLD = {"verdict": Verdict.NOT_REPRODUCED, "rules": None}


def finished(stage: Stage, *, script: str = "raise RuntimeError('boom')\n") -> str:
    stage.node("n")
    run_id = stage.submit(script).document.id
    while attempts := stage.dispatch():
        for attempt in attempts:
            stage.say(result(attempt, node="n"))
    return run_id


def as_of_old(stage: Stage, *run_ids: str, **values: Any) -> None:
    """Make it look as if these runs had been judged by other rules."""
    kept = {**OLD, **values}
    with stage.session() as session:
        session.execute(
            update(RunRow).where(RunRow.id.in_(run_ids)).values(**kept, summary="It did not happen.")
        )
        session.execute(update(JobRow).where(JobRow.run_id.in_(run_ids)).values(**kept))


def judge(stage: Stage, **how: Any) -> use.Judgements:
    with stage.session() as session:
        return use.judge_again(session, **how)


def test_nothing_flips_by_the_same_rules(stage: Stage) -> None:
    run_id = finished(stage)
    found = judge(stage)
    assert (found.present_rules, found.applied, found.looked_at, found.flips, found.next) == (
        JUDGING_RULES,
        False,
        1,
        [],
        None,
    )
    assert judge(stage, apply=True, reason="new rules", who="ada").flips == []
    assert stage.run(run_id).acts == []


def test_what_flips_is_shown_and_then_kept(stage: Stage) -> None:
    run_id, other = finished(stage), finished(stage, script="raise RuntimeError('boom')  # 2\n")
    as_of_old(stage, run_id)
    shown = stage.run(run_id)
    assert (shown.verdict, shown.summary, shown.rules) == ("not_reproduced", "It did not happen.", None)
    assert shown.jobs[0].verdict == "not_reproduced"
    assert shown.outdated is not None
    assert (shown.outdated.rules, shown.outdated.present_rules, shown.outdated.verdict) == (
        None,
        JUDGING_RULES,
        "reproduced",
    )
    assert stage.run(other).outdated is None
    found = judge(stage)
    [flip] = found.flips
    assert (found.looked_at, flip.run, flip.before, flip.after, flip.rules) == (
        2,
        run_id,
        "not_reproduced",
        "reproduced",
        None,
    )
    assert [(job.job, job.before, job.after) for job in flip.jobs] == [
        (shown.jobs[0].id, "not_reproduced", "reproduced")
    ]
    assert stage.run(run_id) == shown
    assert judge(stage, report_id=stage.run(other).report.id).looked_at == 1
    assert judge(stage, apply=True, reason="new rules", who="ada").flips == [flip]
    after = stage.run(run_id)
    assert (after.verdict, after.jobs[0].verdict, after.rules, after.outdated) == (
        "reproduced",
        "reproduced",
        JUDGING_RULES,
        None,
    )
    [act] = after.acts
    assert (act.what, act.who, act.reason) == ("judged_again", "ada", "new rules")
    told = {name: act.details[name] for name in ("before", "after", "rules_before", "rules")}
    assert told == {
        "before": "not_reproduced",
        "after": "reproduced",
        "rules_before": None,
        "rules": JUDGING_RULES,
    }
    assert stage.jobs(run_id)[0].rules == JUDGING_RULES
    assert judge(stage, apply=True, reason="again", who="ada").flips == []


def test_by_other_rules_with_the_same_verdict_only_the_number_changes(stage: Stage) -> None:
    run_id = finished(stage)
    as_of_old(stage, run_id, verdict=Verdict.REPRODUCED, rules=JUDGING_RULES - 1)
    outdated = stage.run(run_id).outdated
    assert (outdated and outdated.rules, outdated and outdated.verdict) == (JUDGING_RULES - 1, "reproduced")
    assert judge(stage, apply=True, reason="new rules", who="ada").flips == []
    assert (stage.run(run_id).rules, stage.run(run_id).outdated, stage.run(run_id).acts) == (
        JUDGING_RULES,
        None,
        [],
    )


def test_page_by_page(stage: Stage) -> None:
    runs = [finished(stage, script=f"raise RuntimeError('boom')  # {number}\n") for number in range(3)]
    as_of_old(stage, *runs)
    first = judge(stage, limit=2)
    assert (first.looked_at, [flip.run for flip in first.flips], first.next) == (2, runs[:2], runs[1])
    second = judge(stage, limit=2, cursor=first.next)
    assert (second.looked_at, [flip.run for flip in second.flips], second.next) == (1, runs[2:], None)


def test_what_is_open_or_withdrawn_is_left_alone_and_a_word_stays(stage: Stage) -> None:
    gone, overruled = finished(stage), finished(stage, script="raise RuntimeError('boom')  # 2\n")
    stage.submit("raise RuntimeError('boom')  # 3\n")
    as_of_old(stage, gone, overruled)
    with stage.session() as session:
        withdraw(session, stage.run(gone).report.id or "", reason="private", who="ada")
        overrule_run(session, overruled, Verdict.FLAKY, reason="I saw it fail", who="ada")
    found = judge(stage, apply=True, reason="new rules", who="bob")
    assert (found.looked_at, [(flip.run, flip.overruled) for flip in found.flips]) == (
        1,
        [(overruled, "flaky")],
    )
    said = stage.run(overruled)
    assert (said.verdict, said.overruled and said.overruled.verdict) == ("reproduced", "flaky")
    assert stage.run(gone).verdict == "not_reproduced"


@pytest.mark.parametrize(
    ("how", "error", "code"),
    [
        ({"apply": True, "reason": " ", "who": "ada"}, InputError, "no_reason"),
        ({"cursor": "x"}, InputError, "bad_cursor"),
        ({"limit": 0}, InputError, "bad_limit"),
        ({"report_id": new_id()}, NotFoundError, "not_found"),
    ],
)
def test_what_cannot_be_asked_for(
    stage: Stage, how: dict[str, Any], error: type[Exception], code: str
) -> None:
    with pytest.raises(error) as raised:
        judge(stage, **how)
    assert getattr(raised.value, "code", None) == code


def test_twice_at_once_is_one_act(stage: Stage) -> None:
    run_id = finished(stage)
    as_of_old(stage, run_id)
    found = together(*[lambda: judge(stage, apply=True, reason="new rules", who="ada")] * 3)
    assert sorted(len(one.flips) for one in found) == [0, 0, 1]
    with stage.session() as session:
        assert [act.what for act in acts_on(session, "run", run_id)] == ["judged_again"]


@pytest.mark.parametrize("first", [False, True])
def test_while_it_is_reopened(stage: Stage, *, first: bool) -> None:
    """A run that is rejudged and doubted at the same time never ends on evidence that no longer counts."""
    run_id = finished(stage)
    as_of_old(stage, run_id)

    def hold() -> None:
        with stage.session() as session:
            quarantine(session, "node", "n", reason="broken", who="ada", settings=stage.settings)

    steps = [hold, lambda: judge(stage, apply=True, reason="new rules", who="ada")]
    found = together(*(steps if first else steps[::-1]))
    assert [one for one in found if isinstance(one, Exception)] == []
    assert (stage.run(run_id).state, stage.run(run_id).verdict, stage.run(run_id).rules) == (
        "running",
        None,
        None,
    )


def test_the_command(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = finished(stage)
    as_of_old(stage, run_id)
    monkeypatch.setenv("SAMEHERE_DATABASE_URL", stage.settings.reveal_database_url() or "")
    how: dict[str, Any] = {"report": None, "every": True, "apply": False, "reason": None, "as_json": False}
    capsys.readouterr()
    assert command(**how) == 0
    said = capsys.readouterr().out
    assert f"{run_id}  not_reproduced -> reproduced  (1 cell; rules without a number)" in said
    assert (
        f"1 finished run judged by rules {JUDGING_RULES}: 1 would change; --apply --reason TEXT stores it"
        in said
    )
    assert command(**{**how, "apply": True, "reason": "new rules", "as_json": True}) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["applied"], told["looked_at"], [flip["after"] for flip in told["flips"]]) == (
        True,
        1,
        ["reproduced"],
    )
    assert [act.who for act in stage.run(run_id).acts] == ["operator"]
    for wrong in ({"every": False}, {"report": run_id}, {"apply": True}):
        with pytest.raises(InputError):
            command(**{**how, **wrong})
