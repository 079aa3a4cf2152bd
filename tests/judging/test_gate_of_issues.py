"""May an issue close? Only what is fixed in a version, with none newer left to try; never from silence."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from app.judging.judgement import Defect, Scope, Verdict
from app.judging.report.change import Side
from app.judging.report.gate import (
    NOT_FIXED,
    GateAnswer,
    GateCell,
    GateFacts,
    GateReason,
    GateRow,
    gate_words,
    judge_gate,
    strictest,
)
from worker.contract import Environment

R, F, N, D = Verdict.REPRODUCED, Verdict.FLAKY, Verdict.NOT_REPRODUCED, Verdict.DIFFERENT
TODAY = date(2026, 11, 29)
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
RUN = {"run": "r1", "run_at": NOON}


def cell(version: str, verdict: Verdict, *, matched: int = 5, day: int = 29, **more: str) -> GateCell:
    environment: Environment = {
        "cpu.model": "x",
        "python.version": "3.12.1",
        "package.numpy": version,
        **more,
    }
    return GateCell(
        side=Side(
            verdict=verdict,
            matched=0 if verdict is N else matched,
            of=5,
            environment=environment,
            label=f"cpu@numpy-{version}",
        ),
        at=NOON.replace(day=day),
        run=f"run-{version}",
        job=f"job-{version}",
    )


def row(*cells: GateCell, untried: tuple[str, ...] = (), undecided: tuple[str, ...] = ()) -> GateRow:
    return GateRow(cells=cells, imported=frozenset({"numpy"}), untried=untried, undecided=undecided)


def words_of(facts: GateFacts) -> str:
    return gate_words(judge_gate(facts), today=TODAY)


def test_what_the_newest_version_shows_still_happens() -> None:
    facts = GateFacts(rows=(row(cell("1.26.4", N), cell("2.1.0", R)),), verdict=R, **RUN)
    judgement = judge_gate(facts)
    assert (judgement.answer, judgement.reason, judgement.may_close) == (
        GateAnswer.STILL_HAPPENS,
        GateReason.SEEN_ON_THE_NEWEST,
        False,
    )
    assert (judgement.on, judgement.run, judgement.job) == (("cpu@numpy-2.1.0",), "run-2.1.0", "job-2.1.0")
    assert words_of(facts) == "It still happens on cpu@numpy-2.1.0; run of today."


def test_one_row_that_shows_it_is_enough() -> None:
    rows = (row(cell("1.26.4", R), cell("2.1.0", N)), row(cell("2.0.0", F, day=3)))
    facts = GateFacts(rows=rows, verdict=N, **RUN)
    assert judge_gate(facts).answer is GateAnswer.STILL_HAPPENS
    assert words_of(facts) == ("It still happens in some attempts on cpu@numpy-2.0.0; run of 2026-11-03.")


def test_no_defect_and_newer_versions_that_can_not_show_it_are_named() -> None:
    rows = (row(cell("1.26.4", R), untried=("numpy-2.4.0",), undecided=("cpu@numpy-2.1.0",)),)
    facts = GateFacts(rows=rows, verdict=R, defect=Defect.NO, **RUN)
    assert not judge_gate(facts).may_close
    assert words_of(facts) == (
        "It still happens on cpu@numpy-1.26.4; run of today."
        " A test shows that it is no defect, which the reporter should be told."
        " With a newer version it cannot be shown: cpu@numpy-2.1.0."
        " Not tried yet: numpy-2.4.0."
    )


def test_it_is_fixed_in_the_version_after_the_last_that_showed_it() -> None:
    cells = (cell("1.26.4", R, day=1), cell("2.0.0", R, day=1), cell("2.1.0", N, day=2), cell("2.2.0", N))
    facts = GateFacts(rows=(row(*cells),), verdict=R, **RUN)
    judgement = judge_gate(facts)
    assert (judgement.answer, judgement.reason, judgement.may_close) == (
        GateAnswer.FIXED,
        GateReason.GONE_IN_A_VERSION,
        True,
    )
    [fix] = judgement.fixed_in
    assert (fix.target, fix.package, fix.last_seen, fix.version) == (
        "cpu@numpy-2.1.0",
        "numpy",
        "2.0.0",
        "2.1.0",
    )
    assert words_of(facts) == "Fixed in numpy 2.1.0 (last seen with 2.0.0); run of today."


def test_a_newer_version_that_was_not_tried_keeps_it_open() -> None:
    facts = GateFacts(rows=(row(cell("2.0.0", R), cell("2.1.0", N), untried=("numpy-2.4.0",)),), verdict=N)
    judgement = judge_gate(facts)
    assert (judgement.answer, judgement.reason, judgement.may_close) == (
        GateAnswer.FIXED,
        GateReason.NEWER_NOT_TRIED,
        False,
    )
    assert words_of(facts).endswith("run of today. Not tried yet: numpy-2.4.0.")


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        # Two versions differ.
        ((cell("2.0.0", R), cell("2.1.0", N, **{"python.version": "3.13.0"})), GateReason.GONE_CONFOUNDED),
        # One in five, then none in five: this may be chance.
        ((cell("2.0.0", F, matched=1), cell("2.1.0", N)), GateReason.GONE_WITHOUT_A_VERSION),
        # No version differs.
        ((cell("2.0.0", R), cell("2.0.0", N)), GateReason.GONE_WITHOUT_A_VERSION),
        ((cell("2.0.0", R), cell("2.1.0", D)), GateReason.OTHER_RESULT),
        ((cell("2.0.0", R), cell("2.1.0", D), cell("2.2.0", N)), GateReason.OTHER_RESULT),
    ],
)
def test_gone_is_not_fixed(cells: tuple[GateCell, ...], reason: GateReason) -> None:
    facts = GateFacts(rows=(row(*cells),), verdict=N, **RUN)
    judgement = judge_gate(facts)
    assert (judgement.answer, judgement.reason, judgement.may_close) == (GateAnswer.NOT_SHOWN, reason, False)
    assert words_of(facts).startswith("It cannot be shown here: ")
    assert words_of(facts).endswith(NOT_FIXED)


def test_one_row_that_is_only_gone_stops_the_fix_of_another() -> None:
    fixed, gone = row(cell("2.0.0", R), cell("2.1.0", N)), row(cell("2.0.0", R), cell("2.0.0", N))
    assert judge_gate(GateFacts(rows=(fixed,))).may_close
    assert not judge_gate(GateFacts(rows=(fixed, gone))).may_close
    # A row that never showed it says nothing.
    assert judge_gate(GateFacts(rows=(fixed, row(cell("2.1.0", N))))).may_close


@pytest.mark.parametrize(
    ("facts", "answer", "reason"),
    [
        (GateFacts(), GateAnswer.UNKNOWN, GateReason.NOT_RUN),
        (GateFacts(is_open=True), GateAnswer.UNKNOWN, GateReason.RUNNING),
        (GateFacts(verdict=Verdict.NO_RESULT, **RUN), GateAnswer.UNKNOWN, GateReason.NO_RESULT),
        (GateFacts(is_withdrawn=True, verdict=R), GateAnswer.UNKNOWN, GateReason.WITHDRAWN),
        (GateFacts(verdict=Verdict.NEEDS_INFO, **RUN), GateAnswer.NOT_SHOWN, GateReason.NEEDS_INFO),
        (GateFacts(verdict=Verdict.CANNOT_SHOW, **RUN), GateAnswer.NOT_SHOWN, GateReason.CANNOT_SHOW),
        (GateFacts(verdict=Verdict.OBSERVED, **RUN), GateAnswer.NOT_SHOWN, GateReason.NO_CLAIM),
        (GateFacts(verdict=D, **RUN), GateAnswer.NOT_SHOWN, GateReason.OTHER_RESULT),
        (
            GateFacts(verdict=N, scope=Scope.AS_REPORTED, **RUN),
            GateAnswer.NOT_SHOWN,
            GateReason.NOT_SEEN_AS_REPORTED,
        ),
        (
            GateFacts(verdict=N, scope=Scope.ELSEWHERE, **RUN),
            GateAnswer.NOT_SHOWN,
            GateReason.NOT_SEEN_ELSEWHERE,
        ),
        (
            GateFacts(verdict=N, scope=Scope.AS_REPORTED, seen_before=True, **RUN),
            GateAnswer.NOT_SHOWN,
            GateReason.GONE_WITHOUT_A_VERSION,
        ),
        # A pair of targets shows it, and no cell alone.
        (GateFacts(verdict=R, where=("cpu, cuda",), **RUN), GateAnswer.STILL_HAPPENS, None),
        # A maintainer's word comes before what was measured, and closes nothing by itself.
        (GateFacts(verdict=N, overruled=R, **RUN), GateAnswer.STILL_HAPPENS, GateReason.MAINTAINER),
        (GateFacts(verdict=R, overruled=N, **RUN), GateAnswer.NOT_SHOWN, GateReason.MAINTAINER),
    ],
)
def test_without_a_fix_nothing_may_close(
    facts: GateFacts, answer: GateAnswer, reason: GateReason | None
) -> None:
    judgement = judge_gate(facts)
    assert (judgement.answer, judgement.may_close) == (answer, False)
    assert reason is None or judgement.reason is reason
    assert words_of(facts).endswith(".")


def test_every_verdict_has_an_answer() -> None:
    for verdict in Verdict:
        for overruled in (None, *Verdict):
            assert words_of(GateFacts(verdict=verdict, overruled=overruled, **RUN))


def test_an_older_report_that_still_happens_keeps_the_issue_open() -> None:
    fixed = judge_gate(GateFacts(rows=(row(cell("2.0.0", R), cell("2.1.0", N)),)))
    still = judge_gate(GateFacts(rows=(row(cell("2.1.0", R)),)))
    unknown = judge_gate(GateFacts())
    assert strictest([fixed, still], ["a", "a"]) == 1
    assert strictest([fixed, unknown], ["a", "a"]) == 0
    assert strictest([unknown, fixed], ["a", "a"]) == 0
    # Somebody else's report that is not known to be fixed keeps the issue open, whoever came last.
    assert strictest([fixed, unknown], ["b", "a"]) == 1
    assert strictest([fixed, fixed, unknown], [None, "a", "a"]) == 0
    assert strictest([fixed, fixed, still], ["b", "b", None]) == 2


def test_many_names_are_cut() -> None:
    rows = tuple(row(cell(f"2.{minor}.0", R)) for minor in range(5))
    assert "on cpu@numpy-2.0.0, cpu@numpy-2.1.0, cpu@numpy-2.2.0 and 2 more;" in words_of(
        GateFacts(rows=rows)
    )
