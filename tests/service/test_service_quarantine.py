"""Quarantine: a quarantined thing gets no work, what rests on it is rerun elsewhere, and late results don't
count.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from stage import TOOLCHAIN, Stage, result, together

from app.clock import now
from app.errors import ConflictError, InputError, NotFoundError
from app.judging.versions import JUDGING_RULES
from app.runs.exchange.contribute import contribute, export
from app.runs.lifecycle import doubt
from app.runs.lifecycle.cancel import cancel_run
from app.runs.lookup.reports import report_details
from app.runs.maintenance import quarantine as use
from app.runs.maintenance.quarantine import Quarantine
from app.runs.rows.acts import acts_on
from app.runs.run_object.document import RunDocument
from app.runs.run_object.storable import json_digest
from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import Submission, submit
from app.states import QuarantineKind
from app.storage.models import AttemptRow, NodeRow
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import Attempt, Device, ToolchainFacts


def hold(stage: Stage, kind: QuarantineKind, name: str, *, since: datetime | None = None) -> Quarantine:
    with stage.session() as session:
        return use.quarantine(
            session, kind, name, reason="the fan is broken", who="ada", settings=stage.settings, since=since
        )


def lift(stage: Stage, quarantine_id: str) -> Quarantine:
    with stage.session() as session:
        return use.lift(session, quarantine_id, reason="repaired", who="bob")


def give(stage: Stage, attempts: list[Attempt], *, node: str) -> int:
    for attempt in attempts:
        stage.start(attempt, node=node)
        stage.say(result(attempt, node=node))
    return len(attempts)


def finish(stage: Stage, *, node: str) -> int:
    """Run everything that the node gets, until nothing is left."""
    count = 0
    while attempts := stage.dispatch():
        count += give(stage, attempts, node=node)
    return count


def shown(run: RunDocument) -> list[tuple[str, bool, str | None]]:
    return [(part.state, part.counted, part.node) for part in run.jobs[0].attempts]


def test_a_node_gets_nothing_and_what_rests_on_it_is_run_again_elsewhere(stage: Stage) -> None:
    stage.node("lab")
    run_id = stage.submit().document.id
    assert finish(stage, node="lab") == 3
    held = hold(stage, "node", "lab")
    assert (held.reopened, held.to_reopen, held.lifted_at) == (1, 0, None)
    reopened = stage.run(run_id)
    assert (reopened.state, reopened.verdict, reopened.finished_at, reopened.rules) == (
        "running",
        None,
        None,
        None,
    )
    assert shown(reopened) == [("recorded", False, "lab")] * 3 + [("queued", True, None)] * 3
    assert stage.dispatch() == []
    stage.node("other")
    assert finish(stage, node="other") == 3
    again = stage.run(run_id)
    assert (again.state, again.verdict, again.jobs[0].of, again.rules) == (
        "finished",
        "reproduced",
        3,
        JUDGING_RULES,
    )
    lift(stage, held.id)
    assert stage.run(run_id).state == "finished"
    stage.die("other")
    stage.submit()
    assert len(stage.dispatch()) == 3
    with stage.session() as session:
        history = [(act.what, act.who, act.reason) for act in acts_on(session, "node", "lab")]
    assert history == [("lifted", "bob", "repaired"), ("quarantined", "ada", "the fan is broken")]


def test_what_runs_there_is_given_to_others_and_its_result_is_refused(stage: Stage) -> None:
    stage.node("lab")
    run_id = stage.submit().document.id
    attempts = stage.dispatch()
    stage.start(attempts[0], node="lab")
    held = hold(stage, "node", "lab")
    assert held.reopened == 1
    for attempt in attempts:
        stage.say(result(attempt, node="lab"))
    assert shown(stage.run(run_id)) == [("queued", True, None)] * 3
    # Also after the quarantine is lifted: the result is from before it.
    lift(stage, held.id)
    [first, *_] = stage.dispatch()
    stage.say(result(attempts[0], node="lab"))
    assert {state for state, _, _ in shown(stage.run(run_id))} == {"leased"}
    assert first.lease_no > attempts[0].lease_no
    stage.say(result(first, node="lab"))
    assert [state for state, _, _ in shown(stage.run(run_id))].count("recorded") == 1


def test_a_job_that_is_bound_to_it_and_waits_goes_elsewhere(stage: Stage) -> None:
    stage.node("lab", slots=1)
    run_id = stage.submit(repeats=5).document.id
    give(stage, stage.dispatch()[:1], node="lab")
    hold(stage, "node", "lab", since=now())
    stage.node("other")
    stage.recover()
    assert finish(stage, node="other") == 5
    assert stage.run(run_id).jobs[0].of == 5


def test_only_what_was_given_since_then_is_in_doubt(stage: Stage) -> None:
    stage.node("lab")
    old, new = (
        stage.submit().document.id,
        stage.submit(script="raise RuntimeError('boom')  # 2\n").document.id,
    )
    finish(stage, node="lab")
    with stage.session() as session:
        day_before = AttemptRow.recorded_at - timedelta(days=1)
        session.execute(update(AttemptRow).where(AttemptRow.run_id == old).values(recorded_at=day_before))
    assert hold(stage, "node", "lab", since=now() - timedelta(hours=1)).reopened == 1
    assert (stage.run(old).state, stage.run(new).state) == ("finished", "running")


def test_without_a_time_it_is_what_is_open_or_stands(stage: Stage) -> None:
    stage.node("lab")
    first = stage.submit().document
    finish(stage, node="lab")
    assert first.report.id is not None
    with stage.session() as session:
        second = relaunch(session, first.report.id, RunRequest(repeats=2), settings=stage.settings).id
    finish(stage, node="lab")
    with stage.session() as session:
        third = relaunch(session, first.report.id, RunRequest(repeats=5), settings=stage.settings).id
    give(stage, stage.dispatch()[:1], node="lab")
    with stage.session() as session:
        cancelled = relaunch(session, first.report.id, RunRequest(repeats=5), settings=stage.settings).id
        cancel_run(session, cancelled)
    assert hold(stage, "node", "lab").reopened == 2
    states = [stage.run(run_id).state for run_id in (first.id, second, third, cancelled)]
    assert states == ["finished", "running", "running", "cancelled"]


def two_chains(stage: Stage) -> None:
    stage.node("lab")
    stage.node("lab-2", toolchain="torch-2.1")


def on(stage: Stage, toolchain: str, *, script: str = "raise RuntimeError('boom')\n") -> str:
    target = Target(device=Device.CPU, toolchain=toolchain)
    with stage.session() as session:
        request = Submission(script=script, claim="RuntimeError: boom", repeats=2, targets=(target,))
        return submit(session, request, settings=stage.settings).document.id


def test_a_toolchain_and_what_builds_on_it(stage: Stage) -> None:
    two_chains(stage)
    mine, others = on(stage, TOOLCHAIN), on(stage, "torch-2.1")
    while attempts := stage.dispatch():
        for attempt in attempts:
            give(stage, [attempt], node="lab" if attempt.toolchain == TOOLCHAIN else "lab-2")
    assert {stage.run(mine).state, stage.run(others).state} == {"finished"}
    held = hold(stage, "toolchain", TOOLCHAIN)
    assert held.reopened == 1
    waiting = stage.run(mine)
    assert (waiting.state, stage.run(others).state) == ("running", "finished")
    assert [(part.kind, part.name, part.reason) for part in waiting.held_back] == [
        ("toolchain", TOOLCHAIN, "the fan is broken")
    ]
    # The attempt waits for as long as the quarantine lasts: that is no absence.
    stage.let_wait()
    two_chains(stage)
    stage.recover()
    assert stage.dispatch() == []
    assert [state for state, _, _ in shown(stage.run(mine))] == ["recorded"] * 2 + ["queued"] * 2
    job = stage.run(on(stage, TOOLCHAIN)).jobs[0]
    assert (job.verdict, job.reason and job.reason.code, job.reason and job.reason.who_can_act) == (
        "cannot_show",
        "quarantined",
        "maintainer",
    )
    # Without a version, the newest toolchain that is not quarantined is meant.
    assert stage.run(on(stage, "")).jobs[0].target.toolchain == "torch-2.1"
    lift(stage, held.id)
    assert {attempt.toolchain for attempt in stage.dispatch()} == {TOOLCHAIN, "torch-2.1"}


def test_a_script(stage: Stage) -> None:
    stage.node("lab")
    run_id, other = (
        stage.submit().document.id,
        stage.submit(script="raise RuntimeError('boom')  # 2\n").document.id,
    )
    finish(stage, node="lab")
    digest = stage.run(run_id).jobs[0].script
    held = hold(stage, "script", digest)
    assert (held.reopened, stage.run(run_id).state, stage.run(other).state) == (1, "running", "finished")
    assert stage.dispatch() == []
    again = stage.submit().document
    assert (again.verdict, again.jobs[0].reason and again.jobs[0].reason.code) == (
        "cannot_show",
        "quarantined",
    )
    with stage.session() as session:
        planned = submit(
            session,
            Submission(script="raise RuntimeError('boom')\n", repeats=2),
            settings=stage.settings,
            dry_run=True,
        )
    assert planned.document.jobs[0].reason is not None
    assert planned.document.jobs[0].reason.code == "quarantined"
    lift(stage, held.id)
    assert finish(stage, node="lab") == 3
    assert stage.run(run_id).verdict == "reproduced"


@pytest.mark.parametrize(
    ("kind", "name", "more", "error", "code"),
    [
        ("node", "nobody", {}, NotFoundError, "not_found"),
        ("toolchain", "torch-9", {}, NotFoundError, "not_found"),
        ("script", "sha256:none\x00", {}, NotFoundError, "not_found"),
        ("node", "lab", {"reason": "  "}, InputError, "no_reason"),
        ("node", "lab", {"since": now() + timedelta(hours=1)}, InputError, "bad_since"),
        ("node", "lab", {"since": datetime(2026, 1, 1)}, InputError, "bad_since"),  # noqa: DTZ001
    ],
)
def test_what_cannot_be_held_back(
    stage: Stage, *, kind: QuarantineKind, name: str, more: dict[str, Any], error: type[Exception], code: str
) -> None:
    stage.node("lab")
    with stage.session() as session, pytest.raises(error) as raised:
        use.quarantine(
            session, kind, name, **{"reason": "x", "who": "ada", "settings": stage.settings, **more}
        )
    assert getattr(raised.value, "code", None) == code


def test_lifting_twice_is_a_conflict(stage: Stage) -> None:
    stage.node("lab")
    held = hold(stage, "node", "lab")
    lift(stage, held.id)
    with pytest.raises(ConflictError):
        lift(stage, held.id)
    assert hold(stage, "node", "lab").id != held.id


def test_many_runs_are_reopened_in_rounds(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubt, "AT_ONCE", 2)
    stage.node("lab", slots=40)
    runs = [
        stage.submit(script=f"raise RuntimeError('boom')  # {number}\n", repeats=1).document.id
        for number in range(5)
    ]
    finish(stage, node="lab")
    held = hold(stage, "node", "lab")
    assert (held.reopened, held.to_reopen) == (2, 3)
    for expected in (4, 5, 5):
        stage.recover(steady=False)
        assert sum(stage.run(run_id).state == "running" for run_id in runs) == expected
    with stage.session() as session:
        [row] = use.active_quarantines(session)
    assert (row.reopened, row.to_reopen) == (5, 0)


def test_two_at_once_are_one(stage: Stage) -> None:
    stage.node("lab")
    run_id = stage.submit().document.id
    finish(stage, node="lab")
    found = together(*[lambda: hold(stage, "node", "lab")] * 3)
    assert sorted(type(one).__name__ for one in found) == ["ConflictError", "ConflictError", "Quarantine"]
    assert len(shown(stage.run(run_id))) == 6


@pytest.mark.parametrize("turn", range(4))
def test_while_results_come_in_and_work_is_given_away(stage: Stage, turn: int) -> None:
    """Whatever comes first, afterwards the quarantined node has no counted result and no attempt."""
    stage.node("lab")
    runs = [
        stage.submit(script=f"raise RuntimeError('boom')  # {number}\n", repeats=3).document.id
        for number in range(3)
    ]
    attempts = stage.dispatch()
    results = [lambda attempt=attempt: stage.say(result(attempt, node="lab")) for attempt in attempts]
    steps = [*results[:4], stage.dispatch, lambda: hold(stage, "node", "lab"), stage.dispatch, *results[4:]]
    found = together(*steps[turn:], *steps[:turn])
    assert [one for one in found if isinstance(one, Exception)] == []
    for run_id in runs:
        run = stage.run(run_id)
        assert run.state in {"queued", "running"}
        for state, counted, node in shown(run):
            assert state in {"queued", "recorded"}
            assert not (counted and node == "lab")
    stage.node("other")
    finish(stage, node="other")
    for run_id in runs:
        assert [stage.run(run_id).verdict, stage.run(run_id).jobs[0].of] == ["reproduced", 3]


def test_contributed_runs_stay_as_they_are(stage: Stage) -> None:
    """A node in a contributed run may have the name of one of our nodes."""
    stage.node("lab")
    run_id = stage.submit().document.id
    finish(stage, node="lab")
    with stage.session() as session:
        bundle = export(session, run_id)
        bundle["made_by"]["samehere"] = "another"
        bundle["run"]["created_at"] = "2026-01-01T00:00:00Z"
        for job in bundle["jobs"]:
            for attempt in job["attempts"]:
                attempt["result"]["observation"]["stderr"] = "RuntimeError: boom, elsewhere\n"
        content = {name: value for name, value in bundle.items() if name != "digest"}
        data = json.dumps({**content, "digest": json_digest(content)}).encode()
        other = contribute(session, data, by="Ada", settings=stage.settings).document.id
    assert other != run_id
    assert hold(stage, "node", "lab").reopened == 1
    assert stage.run(other).state == "finished"
    report_id = stage.run(run_id).report.id
    assert report_id is not None
    with stage.session() as session:
        assert report_details(session, report_id).standing.verdict is None


def test_a_node_that_has_one_of_two_toolchains_held_back_gives_the_other(stage: Stage) -> None:
    stage.node("lab")
    facts = [
        ToolchainFacts(name=name, state="ready", torch="2.13.0", packages={"torch": "2.13.0"})
        for name in (TOOLCHAIN, "torch-2.9")
    ]
    with stage.session() as session:
        row = session.get_one(NodeRow, "lab")
        row.hello = {**row.hello, "toolchains": [one.model_dump(mode="json") for one in facts]}
    hold(stage, "toolchain", TOOLCHAIN)
    on(stage, "torch-2.9")
    assert {attempt.toolchain for attempt in stage.dispatch()} == {"torch-2.9"}
