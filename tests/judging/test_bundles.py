"""A run as one document: read back as it was, and refused, in words that say what to do, when anything is
wrong with it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from default_limits import read
from judging_builders import CPU, CUDA, result
from pydantic import ValidationError

from app.errors import InputError, TooLargeError
from app.ids import new_id
from app.runs.exchange import read_bundle as read_bundle_module
from app.runs.exchange.bundle import BundledReport, OriginVerdict, bundle_of, evidence_digest
from app.runs.exchange.read_bundle import MORE_ATTEMPTS, NO_LIMITS, BundleLimits, read_bundle
from app.runs.run_object.assemble import assemble
from app.runs.run_object.facts import AttemptFacts, JobFacts, RunFacts
from app.runs.run_object.storable import json_digest
from app.targets.planning.plan import RepeatPlan
from worker.contract import AttemptKind, CapturedValue, Outcome, Reason, Start

NOW = datetime(2026, 11, 28, tzinfo=UTC)
SCRIPT = "print('loss nan')\n"
READING = read(SCRIPT, form="script", claim="prints loss nan, expected loss 1")
SUBMITTED = BundledReport(form="script", text=SCRIPT, claim="prints loss nan, expected loss 1")
VALUE = CapturedValue(
    name="x", dtype="torch.float32", shape=[1], data="AAAAPw==", digest="sha256:" + "0" * 64
)
LIMITS = BundleLimits(bundle_bytes=1 << 20, result_bytes=1 << 16, cells=4, repeats=5)


def attempts(stdout: str, count: int = 3, **seen: Any) -> tuple[AttemptFacts, ...]:
    made = [
        result(stdout, stdout_bytes=len(stdout), stdout_digest="sha256:" + "0" * 64, values=[VALUE], **seen)
        for _ in range(count)
    ]
    environment = {
        "cpu.model": "A card that is not here",
        "cpu.cores": 8,
        "cuda.available": False,
        "cpu.flags": ["avx2"],
        "x": 1.0,
    }
    return tuple(
        AttemptFacts(
            id=new_id(),
            kind=AttemptKind.REPEAT,
            start=Start.COLD,
            state="recorded",
            result=one.model_copy(update={"node": "lab-1", "environment": environment}),
        )
        for one in made
    )


def facts() -> tuple[RunFacts, list[JobFacts]]:
    digest = READING.scripts[0].digest
    lack = Reason(code="no_gpu", detail="No node has an NVIDIA GPU.")
    jobs = [
        JobFacts(id=new_id(), script=digest, target=CPU, state="judged", attempts=attempts("loss nan\n")),
        JobFacts(id=new_id(), script=digest, target=CUDA, state="judged", reason=lack),
    ]
    run = RunFacts(
        id=new_id(),
        state="finished",
        created_at=NOW,
        finished_at=NOW,
        preset="quick",
        repeats=RepeatPlan(at_most=5, exact=False),
    )
    return run, jobs


def made() -> dict[str, Any]:
    run, jobs = facts()
    return bundle_of(
        run, READING, jobs, SUBMITTED, origin=OriginVerdict(verdict="reproduced", summary="It happens.")
    )


def sent(bundle: dict[str, Any]) -> bytes:
    return json.dumps(bundle, indent=2).encode()


def again(bundle: dict[str, Any]) -> dict[str, Any]:
    """With the digest that fits: what someone sends who knows the format."""
    content = {name: value for name, value in bundle.items() if name != "digest"}
    return {**content, "digest": json_digest(content)}


def refusal(data: bytes, limits: BundleLimits = LIMITS) -> InputError:
    with pytest.raises(InputError) as caught:
        read_bundle(data, limits=limits)
    return caught.value


def test_what_was_kept_comes_back_and_is_judged_the_same() -> None:
    run, jobs = facts()
    before = assemble(run, READING, jobs)
    bundle = read_bundle(
        sent(bundle_of(run, READING, jobs, SUBMITTED, origin=OriginVerdict())), limits=LIMITS
    )
    assert (bundle.made_by.nodes, bundle.report) == (["lab-1"], SUBMITTED)
    back = [
        JobFacts(
            id=job.id,
            script=job.script,
            target=job.target,
            state=job.state,
            reason=job.reason,
            attempts=tuple(
                AttemptFacts(
                    id=one.id,
                    kind=one.kind,
                    start=one.start,
                    state=one.state,
                    counted=one.counted,
                    result=one.result,
                )
                for one in job.attempts
            ),
        )
        for job in bundle.jobs
    ]
    after = assemble(run, READING, back)
    assert (
        (after.verdict, after.seen, after.where)
        == (before.verdict, before.seen, before.where)
        == ("reproduced", True, [CPU.label()])
    )
    assert [job.checks for job in after.jobs] == [job.checks for job in before.jobs]
    assert after.environments == before.environments
    first = bundle.jobs[0].attempts[0].result
    assert first is not None
    assert first.environment["cpu.flags"] == ["avx2"]
    # Only we may compute the digests of streams and values, so they are computed again.
    assert first.observation.stdout_digest != "sha256:" + "0" * 64
    assert first.observation.values[0].digest != VALUE.digest


def test_white_space_and_the_order_of_fields_mean_nothing() -> None:
    bundle = made()
    shuffled = dict(reversed(bundle.items()))
    assert read_bundle(json.dumps(shuffled).encode(), limits=LIMITS) == read_bundle(
        sent(bundle), limits=LIMITS
    )


def test_the_same_evidence_is_known_again_under_other_ids_and_nothing_else_is() -> None:
    run, jobs = facts()
    said = OriginVerdict(verdict="flaky", summary="other words")

    def digest(run: RunFacts, jobs: list[JobFacts]) -> str:
        return evidence_digest(
            read_bundle(sent(bundle_of(run, READING, jobs, SUBMITTED, origin=said)), limits=LIMITS)
        )

    other_run = RunFacts(
        id=new_id(), state="finished", created_at=datetime(2027, 1, 1, tzinfo=UTC), repeats=run.repeats
    )
    renamed = [
        JobFacts(
            id=new_id(),
            script=job.script,
            target=job.target,
            state=job.state,
            reason=job.reason,
            attempts=tuple(
                AttemptFacts(id=new_id(), kind=one.kind, start=one.start, state=one.state, result=one.result)
                for one in reversed(job.attempts)
            ),
        )
        for job in reversed(jobs)
    ]
    assert digest(other_run, renamed) == digest(run, jobs)
    fewer = [
        JobFacts(
            id=jobs[0].id, script=jobs[0].script, target=CPU, state="judged", attempts=jobs[0].attempts[:2]
        ),
        jobs[1],
    ]
    assert digest(run, fewer) != digest(run, jobs)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_one_that_is_cut_says_so(share: float) -> None:
    data = sent(made())
    error = refusal(data[: int(len(data) * share)])
    assert (error.code, "whole" in error.message) == ("bundle_cut", True)


def test_whatever_is_altered_is_seen() -> None:
    data = sent(made())
    rng = random.Random(7)  # noqa: S311
    for _ in range(200):
        at = rng.randrange(len(data))
        other = bytes([rng.choice(b"0123456789abcdefxyz")])
        if data[at : at + 1] == other or data[at : at + 1].isspace():
            continue
        # A broken bundle of any sort, never one that is taken, and never another exception.
        changed = data[:at] + other + data[at + 1 :]
        assert refusal(changed).code in {"bundle_altered", "bundle_cut", "not_a_bundle", "bundle_version"}


def test_one_that_is_too_large_or_too_new_says_what_to_do() -> None:
    data = sent(made())
    with pytest.raises(TooLargeError, match="SAMEHERE_BUNDLE_BYTES"):
        read_bundle(
            data, limits=BundleLimits(bundle_bytes=len(data) - 1, result_bytes=1 << 16, cells=4, repeats=5)
        )
    newer = refusal(sent(again({**made(), "version": 2})))
    assert (newer.code, "Update" in newer.message) == ("bundle_version", True)
    assert refusal(sent({"format": "another", "version": 1})).code == "not_a_bundle"
    assert refusal(b"[]").code == "not_a_bundle"
    assert refusal(b"[" * 100_000).code == "bundle_cut"


def edited(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    bundle: dict[str, Any] = json.loads(json.dumps(made()))
    change(bundle)
    return again(bundle)


def first_result(bundle: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = bundle["jobs"][0]["attempts"][0]["result"]
    return found


HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "an unknown field": lambda bundle: bundle.update(trust="me"),
    "another script under a digest": lambda bundle: bundle["scripts"].update(
        dict.fromkeys(bundle["scripts"], "print('loss nan')#")
    ),
    "another environment under a digest": lambda bundle: next(iter(bundle["environments"].values())).update(
        {"cpu.model": "mine"}
    ),
    "no environment": lambda bundle: bundle["environments"].clear(),
    "no script": lambda bundle: bundle["scripts"].clear(),
    "an id that is none": lambda bundle: bundle["run"].update(id="../../etc"),
    "two attempts with one id": lambda bundle: bundle["jobs"][0]["attempts"].append(
        bundle["jobs"][0]["attempts"][0]
    ),
    "a run that goes on": lambda bundle: bundle["run"].update(state="running"),
    "a cell that goes on": lambda bundle: bundle["jobs"][0].update(state="queued"),
    "an attempt that goes on": lambda bundle: bundle["jobs"][0]["attempts"][0].update(state="leased"),
    "recorded without a result": lambda bundle: bundle["jobs"][0]["attempts"][0].update(result=None),
    "lost and recorded": lambda bundle: first_result(bundle).update(outcome="lost"),
    "an outcome that is none": lambda bundle: first_result(bundle).update(outcome="won"),
    "a node with markup in its name": lambda bundle: first_result(bundle).update(node="<b>lab</b>"),
    "a result that is too large": lambda bundle: first_result(bundle)["observation"].update(
        stdout="x" * (1 << 17)
    ),
    "too many cells": lambda bundle: bundle["jobs"].extend(
        {**bundle["jobs"][1], "id": new_id()} for _ in range(8)
    ),
    "a setting that does not exist": lambda bundle: bundle["jobs"][0]["target"].update(
        settings={"LD_PRELOAD": "/x.so"}
    ),
    "half a character": lambda bundle: bundle["report"].update(text="\ud800"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_run_of_ours_could_be_is_refused(name: str) -> None:
    bundle = edited(HOSTILE[name])
    error = refusal(sent(bundle))
    assert error.code in {"bad_bundle", "unknown_setting"}, name
    # Nothing of what was sent comes back in the words.
    assert not {"<b>", "etc", "won"} & set(error.message.split())


def test_numbers_that_json_does_not_have_are_refused() -> None:
    data = sent(made()).replace(b'"at_most": 5', b'"at_most": NaN')
    assert refusal(data).code == "bundle_cut"


def test_what_is_not_finite_is_kept_as_a_word() -> None:
    run, jobs = facts()
    odd = jobs[0].attempts[0].result
    assert odd is not None
    changed = odd.model_copy(update={"environment": {"x": float("nan"), "y": "a\0b"}})
    first = AttemptFacts(
        id=new_id(), kind=AttemptKind.REPEAT, start=Start.COLD, state="recorded", result=changed
    )
    job = JobFacts(id=new_id(), script=jobs[0].script, target=CPU, state="judged", attempts=(first,))
    bundle = read_bundle(
        sent(bundle_of(run, READING, [job], SUBMITTED, origin=OriginVerdict())), limits=NO_LIMITS
    )
    found = bundle.jobs[0].attempts[0].result
    assert found is not None
    assert found.environment == {"x": "nan", "y": "a\N{REPLACEMENT CHARACTER}b"}


def test_an_attempt_that_was_lost_needs_no_result() -> None:
    run, jobs = facts()
    lost = AttemptFacts(id=new_id(), kind=AttemptKind.REPEAT, start=Start.COLD, state="lost")
    waiting = AttemptFacts(id=new_id(), kind=AttemptKind.REPEAT, start=Start.COLD, state="queued")
    seen = result("", outcome=Outcome.CANCELLED).model_copy(update={"node": "lab-1"})
    stopped = AttemptFacts(
        id=new_id(), kind=AttemptKind.REPEAT, start=Start.COLD, state="cancelled", result=seen
    )
    job = JobFacts(
        id=new_id(), script=jobs[0].script, target=CPU, state="cancelled", attempts=(lost, waiting, stopped)
    )
    bundle = read_bundle(
        sent(bundle_of(run, READING, [job], SUBMITTED, origin=OriginVerdict())), limits=LIMITS
    )
    assert [one.state for one in bundle.jobs[0].attempts] == ["lost", "cancelled"]


def full_of_faults(part: str) -> dict[str, Any]:
    bundle = json.loads(json.dumps(made()))
    if part == "fields":
        bundle["environments"] |= {str(number): {} for number in range(100_000)}
    else:
        attempts = [{"a": 0}] * (9000 if part == "attempts" else LIMITS.repeats + MORE_ATTEMPTS)
        cells = LIMITS.cells if part != "cells" else 1000
        bundle["jobs"] = [{**bundle["jobs"][0], "attempts": attempts}] * cells
    return again(bundle)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("fields", "more than 10000 fields"),
        ("attempts", "more than 55 attempts"),
        ("cells", "more than 4 cells"),
        ("small ones", "jobs.0.attempts.0"),
    ],
)
def test_the_first_fault_ends_it(part: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = sent(full_of_faults(part))
    faults: list[int] = []

    def first_fault(error: ValidationError) -> str:
        faults.append(error.error_count())
        return "jobs.0.attempts.0"

    monkeypatch.setattr(read_bundle_module, "_first_fault", first_fault)
    assert words in refusal(data, replace(LIMITS, bundle_bytes=1 << 26)).message
    # Each fault that pydantic collects costs; those of one attempt are the most.
    assert sum(faults) < 20
