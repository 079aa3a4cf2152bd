"""Judging is total, ignores the order and our own failures, and never denies a sighting."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from judging_builders import CPU, CUDA, NO_CUDA, check, claim, differs, prints, raises, script

from app.errors import InputError
from app.intake.claim.claims import Check, CheckKind, Claim, Role, Where
from app.intake.reading import Reading, Script
from app.intake.typed.check_forms import FORMS
from app.intake.typed.claim_form import claim_form
from app.intake.typed.typed_claim import claim_of_form, with_scripts
from app.judging.cause.random_draws import draws_on_device
from app.judging.check.checks import judge_check
from app.judging.comparison.comparison import compare
from app.judging.judgement import CheckResult, ComparisonResult, JudgedCell, Verdict
from app.judging.verdict.attempts_needed import next_attempts
from app.judging.verdict.job import evidence_of, judge_job
from app.judging.verdict.run import judge_run
from app.judging.verdict.summary import summarise
from app.targets.planning.plan import RepeatPlan
from worker.contract import AttemptKind, ExceptionFacts, Observation, Outcome, Result, Start

WORDS = st.sampled_from(
    [
        "",
        "nan",
        "-inf",
        "0.0",
        "-0.0",
        "loss 0.5\n",
        "cpu 1\n",
        "cuda 1\n",
        "cuda 2\n",
        "CPU:\n",
        NO_CUDA,
        "IndexError: x\n",
        "equal True\n",
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=20), max_size=5).map("".join)
EXCEPTIONS = st.none() | st.builds(
    ExceptionFacts,
    type=st.sampled_from(["RuntimeError", "torch.OutOfMemoryError", "NameError", "AssertionError"]),
    message=TEXTS,
)
OBSERVATIONS = st.builds(
    Observation,
    exit_status=st.none() | st.integers(0, 255),
    signal=st.none() | st.sampled_from(["SIGSEGV", "SIGABRT", "SIGKILL"]),
    exception=EXCEPTIONS,
    stdout=TEXTS,
    stderr=TEXTS,
    truncated=st.booleans(),
    devices_used=st.lists(st.sampled_from(["cpu", "cuda:0"]), max_size=2),
    idle=st.none() | st.booleans(),
)
RESULTS = st.builds(
    Result,
    node=st.just("n"),
    instance=st.just("i"),
    attempt_id=st.just("a"),
    lease_no=st.just(1),
    kind=st.sampled_from(AttemptKind),
    start=st.sampled_from(Start),
    outcome=st.sampled_from(Outcome),
    observation=OBSERVATIONS,
    environment=st.dictionaries(
        st.sampled_from(["torch.version", "os.name", "blas.path"]), TEXTS, max_size=3
    ),
)
SERIES = st.lists(RESULTS, max_size=6).map(
    lambda results: [
        made.model_copy(update={"attempt_id": f"a{number}"}) for number, made in enumerate(results)
    ]
)
CHECKS = st.builds(
    Check,
    text=TEXTS,
    kind=st.sampled_from(CheckKind),
    role=st.sampled_from(Role),
    where=st.builds(
        Where,
        device=st.sampled_from([None, "cpu", "cuda"]),
        version=st.sampled_from([None, "2.1", "x"]),
        os=st.none() | TEXTS,
    ),
    exception_type=st.none() | st.sampled_from(["RuntimeError", "a.B"]),
    message=st.none() | TEXTS,
    signal=st.sampled_from([None, "SIGSEGV", "SIGWHAT"]),
    exit_status=st.none() | st.integers(0, 3),
    lines=st.lists(TEXTS, max_size=3).map(tuple),
    number=st.none() | TEXTS,
    label=st.none() | TEXTS,
    position=st.sampled_from([None, "first", "last"]),
    sides=st.sampled_from([(), ("cpu", "cuda"), ("eager", "compiled"), ("a", "b"), ("cpu",)]),
    side_lines=st.lists(TEXTS, max_size=3).map(tuple),
    facet=st.sampled_from([None, None, "a", "b"]),
)
CLAIMS = st.builds(Claim, checks=st.lists(CHECKS, max_size=3).map(tuple), text=TEXTS)
# Fields of all kinds of checks as data; those that a kind does not have are left out.
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "role": st.sampled_from(["bug", "expected", "detail"]),
    "text": TEXTS,
    "type": st.sampled_from(["RuntimeError", "a.B"]),
    "message": TEXTS,
    "status": st.integers(0, 3),
    "signal": st.sampled_from(["SIGSEGV", "SIGABRT"]),
    "lines": st.lists(TEXTS, min_size=1, max_size=3),
    "number": st.sampled_from(["0.5", "nan", "-0.0", "1e400"]),
    "label": st.sampled_from(["loss", "x"]),
    "position": st.sampled_from(["first", "last"]),
    "stream": st.sampled_from(["stdout", "stderr"]),
    "occurrence": st.integers(1, 3),
    "random": st.booleans(),
    "tolerance": st.sampled_from([0.0, 0.1]),
    "sides": st.sampled_from([["cpu", "cuda"], ["eager", "compiled"]]),
    "where": st.sampled_from([{}, {"device": "cuda"}, {"package": "numpy", "range": ">=2"}]),
    "at": st.just({"line": 1}),
    "facet": st.sampled_from(["a", "b"]),
}
NEEDED = {
    "value": {"number"},
    "output": {"lines"},
    "exit_status": {"status"},
    "exception": {"type"},
    "differs": {"sides"},
}


@st.composite
def typed_checks(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(sorted(FORMS)))
    names = [name for name in FIELDS if name in FORMS[kind].model_fields]
    some = {name for name in names if name in NEEDED.get(kind, ()) or draw(st.booleans())}
    return {"kind": kind, **{name: draw(FIELDS[name]) for name in names if name in some}}


READINGS = st.fixed_dictionaries({"checks": st.lists(typed_checks(), min_size=1, max_size=3)})
TYPED = st.builds(
    lambda first, further: {**first, "further": further}, READINGS, st.lists(READINGS, max_size=3)
)
SCRIPTS = st.sampled_from([script(), script(gpus=1), script("x = (", unseeded=True)])
TROUBLE = RESULTS.flatmap(
    lambda made: st.sampled_from([Outcome.LOST, Outcome.CANCELLED, Outcome.SETUP_FAILED]).map(
        lambda outcome: made.model_copy(update={"outcome": outcome})
    )
)
TARGETS = st.sampled_from([CPU, CUDA])
PLAIN = st.sampled_from(
    [
        claim(raises("RuntimeError", "bad")),
        claim(prints("loss 0.5")),
        claim(differs()),
        claim(check(CheckKind.VARIES)),
        claim(),
    ]
)


@settings(max_examples=100)
@given(CLAIMS, SCRIPTS, TARGETS, SERIES)
def test_judging_is_total(told: Claim, code: Script, target: object, results: list[Result]) -> None:
    judgement = judge_job(told, code, target, results)  # type: ignore[arg-type]
    assert judgement.verdict is not Verdict.NEEDS_INFO
    assert 0 <= judgement.matched <= judgement.of <= len(results)
    assert next_attempts(told, code, target, results, RepeatPlan(5)) >= 0  # type: ignore[arg-type]
    cell = JudgedCell(
        job_id="j", script=code.digest, target=target, judgement=judgement, results=tuple(results)
    )  # type: ignore[arg-type]
    run = judge_run(Reading(scripts=(code,), claim=told), [cell])
    assert run.verdict is not None
    assert summarise(run, [cell])


@settings(max_examples=60)
@given(CLAIMS, SCRIPTS, TARGETS, SERIES, st.randoms(use_true_random=False))
def test_the_order_of_attempts_does_not_matter(
    told: Claim, code: Script, target: object, results: list[Result], shuffler: random.Random
) -> None:
    shuffled = list(results)
    shuffler.shuffle(shuffled)
    assert judge_job(told, code, target, shuffled) == judge_job(told, code, target, results)  # type: ignore[arg-type]


@settings(max_examples=60)
@given(CLAIMS, SCRIPTS, TARGETS, SERIES, TROUBLE)
def test_a_lost_attempt_changes_nothing(
    told: Claim, code: Script, target: object, results: list[Result], trouble: Result
) -> None:
    lost = trouble.model_copy(update={"attempt_id": "lost"})
    before = judge_job(told, code, target, results, plan=RepeatPlan(5))  # type: ignore[arg-type]
    after = judge_job(told, code, target, [*results, lost], plan=RepeatPlan(5))  # type: ignore[arg-type]
    assert after == before


@settings(max_examples=100)
@given(PLAIN, SCRIPTS, TARGETS, SERIES)
def test_never_is_not_said_where_a_cold_attempt_met_the_claim(
    told: Claim, code: Script, target: object, results: list[Result]
) -> None:
    judgement = judge_job(told, code, target, results, plan=RepeatPlan(5))  # type: ignore[arg-type]
    if judgement.verdict is not Verdict.NOT_REPRODUCED:
        return
    cold = [made for made in evidence_of(results) if made.start is Start.COLD]
    assert len(cold) >= 3
    for told_check in told.having(Role.BUG):
        found = [judge_check(told_check, made, expected=(), script=code, target=target) for made in cold]  # type: ignore[arg-type]
        assert CheckResult.MET not in {finding.result for finding in found}


@settings(max_examples=60)
@given(CLAIMS, st.lists(CLAIMS, min_size=1, max_size=3), SCRIPTS, TARGETS, SERIES)
def test_a_reading_more_makes_no_no_of_what_was_none(
    told: Claim, others: list[Claim], code: Script, target: object, results: list[Result]
) -> None:
    """Neither an unrelated exhibit, which can add a reading only, nor any other reading.

    A reading about a place that the target is not can take a "no" back, since it can't be shown there.
    """
    alone = _run_verdict(told, code, target, results)
    several = _run_verdict(told.model_copy(update={"further": tuple(others)}), code, target, results)
    if Verdict.NOT_REPRODUCED in {alone, several}:
        assert several in {alone, Verdict.OBSERVED, Verdict.CANNOT_SHOW}


@settings(max_examples=100)
@given(PLAIN, CHECKS, SCRIPTS, TARGETS, SERIES)
def test_an_unrelated_detail_never_makes_a_no(
    told: Claim, unrelated: Check, code: Script, target: object, results: list[Result]
) -> None:
    detail = unrelated.model_copy(update={"role": Role.DETAIL})
    alone = _run_verdict(told, code, target, results)
    together = _run_verdict(told.model_copy(update={"checks": (*told.checks, detail)}), code, target, results)
    assert together is not Verdict.NOT_REPRODUCED or alone is Verdict.NOT_REPRODUCED


@settings(max_examples=100)
@given(TYPED, SCRIPTS, TARGETS, SERIES)
def test_judging_is_total_for_typed_claims(
    data: dict[str, Any], code: Script, target: object, results: list[Result]
) -> None:
    try:
        typed = with_scripts(claim_of_form(claim_form(data)), [code])
    except InputError as error:
        refused = error
    else:
        assert _run_verdict(typed, code, target, results) is not None
        return
    assert (refused.field or "").startswith("claim")


def _run_verdict(told: Claim, code: Script, target: object, results: list[Result]) -> Verdict | None:
    judgement = judge_job(told, code, target, results)  # type: ignore[arg-type]
    cell = JudgedCell(
        job_id="j",
        script=code.digest,
        target=target,  # type: ignore[arg-type]
        judgement=judgement,
        results=tuple(results),
    )
    return judge_run(Reading(scripts=(code,), claim=told), [cell]).verdict


COMPARABLE = RESULTS.filter(
    lambda made: made.outcome not in {Outcome.LOST, Outcome.CANCELLED, Outcome.SETUP_FAILED}
)


@settings(max_examples=60)
@given(COMPARABLE)
def test_an_attempt_is_identical_to_itself(made: Result) -> None:
    comparison = compare(made, made)
    assert comparison.result is ComparisonResult.IDENTICAL
    assert comparison.differences == ()


@settings(max_examples=100)
@given(RESULTS, RESULTS)
def test_a_comparison_has_no_direction(one: Result, other: Result) -> None:
    there, back = compare(one, other), compare(other, one)
    assert there.result is back.result
    assert [(made.about, made.baseline, made.candidate) for made in there.differences] == [
        (made.about, made.candidate, made.baseline) for made in back.differences
    ]


@given(st.text(max_size=200))
def test_reading_a_script_for_random_draws_is_total(text: str) -> None:
    assert draws_on_device(text) in {True, False}
