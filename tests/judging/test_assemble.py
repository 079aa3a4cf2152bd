"""The run object from its facts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from held_values import tensor
from judging_builders import CPU, CUDA, claim, prints, result, script

from app.ids import PATTERN, new_id
from app.intake.claim.claims import Role
from app.intake.reading import Ask, Reading
from app.judging.comparison.environments import environment_digest
from app.runs.run_object.assemble import MOST_VALUES, assemble
from app.runs.run_object.document import RunDocument
from app.runs.run_object.facts import AttemptFacts, JobFacts, RunFacts
from app.states import JobState, RunState
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import AttemptKind, Outcome, Reason, Result, Start, WhoCanAct

NOW = datetime(2026, 11, 28, tzinfo=UTC)
READING = Reading(scripts=(script("print('loss nan')"),), claim=claim(prints("loss nan")))


def attempt(seen: Result | None, **rest: Any) -> AttemptFacts:
    lost = seen is not None and seen.outcome is Outcome.LOST
    facts = {
        "kind": AttemptKind.REPEAT,
        "start": Start.COLD,
        "state": "queued" if seen is None else "lost" if lost else "recorded",
    }
    return AttemptFacts(id=new_id(), result=seen, **{**facts, **rest})


def job(
    *attempts: AttemptFacts, target: Target = CPU, state: JobState = "judged", reason: Reason | None = None
) -> JobFacts:
    return JobFacts(id=new_id(), script="d1", target=target, state=state, attempts=attempts, reason=reason)


def document(
    *jobs: JobFacts, state: RunState = "finished", reading: Reading = READING, **rest: Any
) -> RunDocument:
    finished = NOW if state == "finished" else None
    return assemble(
        RunFacts(id=new_id(), state=state, created_at=NOW, finished_at=finished, **rest), reading, jobs
    )


def three(stdout: str, **seen: Any) -> list[AttemptFacts]:
    return [attempt(result(stdout, **seen)) for _ in range(3)]


def test_a_finished_run_has_its_verdict_and_an_open_one_only_an_interim() -> None:
    done = document(job(*three("loss nan\n")))
    assert (done.verdict, done.so_far, done.seen, done.where) == ("reproduced", None, True, [CPU.label()])
    open_ = document(
        job(*three("loss nan\n")), job(attempt(None), target=CUDA, state="queued"), state="running"
    )
    assert (open_.verdict, open_.so_far) == (None, "reproduced")
    assert [part.verdict for part in open_.jobs] == ["reproduced", None]


def test_an_open_job_is_never_said_to_show_nothing() -> None:
    waiting = document(job(attempt(result("loss 1\n")), attempt(None), state="running"), state="running")
    assert waiting.so_far == "different"
    silent = document(job(attempt(result("")), attempt(None), state="running"), state="running")
    assert (silent.so_far, silent.summary) == (None, "")


def test_a_cell_that_no_node_serves_cannot_show() -> None:
    lack = Reason(code="no_gpu", detail="No node has an NVIDIA GPU.", who_can_act=WhoCanAct.OPERATOR)
    made = document(job(target=CUDA, reason=lack))
    assert (made.verdict, made.jobs[0].reason, made.jobs[0].attempts) == ("cannot_show", lack, [])


def test_questions_to_the_reporter_are_the_verdict() -> None:
    asked = Reading(ask=(Ask(code="no_script", text="Give the code."),))
    made = document(reading=asked)
    assert (made.verdict, made.ask[0].code) == ("needs_info", "no_script")


def test_what_does_not_count_is_in_sight_and_decides_nothing() -> None:
    preview = attempt(
        result("loss nan\n", kind=AttemptKind.PREVIEW, start=Start.WARM),
        kind=AttemptKind.PREVIEW,
        start=Start.WARM,
        counted=False,
    )
    made = document(job(preview, attempt(result(outcome=Outcome.LOST)), *three("loss 1\n")))
    assert (made.verdict, made.jobs[0].of, len(made.jobs[0].attempts)) == ("different", 3, 5)


def test_fewer_than_were_asked_for_are_no_never() -> None:
    reading = Reading(
        scripts=(script(),), claim=claim(prints("loss nan"), prints("fine", role=Role.EXPECTED))
    )
    two = three("fine\n")[:2]
    assert document(job(*two), reading=reading, repeats=RepeatPlan(5)).verdict == "cannot_show"
    assert document(job(*two), reading=reading, repeats=RepeatPlan(2, exact=True)).verdict == "not_reproduced"


def test_streams_are_cut_to_four_kibibytes_in_whole_characters() -> None:
    made = document(job(*three("é" * 5000 + "loss nan\n", stderr="x" * 9000)))
    part = made.jobs[0].attempts[0]
    assert len(part.stdout.encode()) <= 4096
    assert len(part.stderr.encode()) <= 4096
    assert part.truncated
    assert part.stdout.endswith("loss nan\n")
    assert not document(job(*three("loss nan\n"))).jobs[0].attempts[0].truncated


def test_values_are_few_and_without_their_bytes_and_stacks_are_cut() -> None:
    values = [tensor(f"x{number}", 1.5, number) for number in range(40)]
    [part] = document(job(attempt(result("", values=values, stacks="line\n" * 5000)))).jobs[0].attempts
    assert [value.name for value in part.values] == [f"x{number}" for number in range(MOST_VALUES)]
    assert (part.values[1].value, part.values[1].dtype, part.values[1].shape) == (
        "[1.5, 1.0]",
        "torch.float32",
        [2],
    )
    assert "data" not in part.values[0].model_dump()
    assert "[… cut …]" in part.stacks
    assert len(part.stacks) <= 4096


def test_what_varies_among_repeats_is_named() -> None:
    repeats = [
        attempt(result("loss nan\n", values=[tensor("loss", 1.0), tensor("took", seconds)]))
        for seconds in (1.0, 2.0, 3.0)
    ]
    made = document(job(*repeats))
    assert (made.jobs[0].varying_values, made.comparisons) == (["took"], [])


def test_environments_stand_once_under_their_digest() -> None:
    environment = {"torch.version": "2.13.0", "blas.path": "mkl:avx2"}
    made = document(job(*three("loss nan\n", environment=environment)))
    assert made.environments == {environment_digest(environment): environment}
    assert {part.environment for part in made.jobs[0].attempts} == set(made.environments)


def test_comparisons_are_of_the_plainest_target_and_of_repeats_that_differ() -> None:
    isa = CPU.model_copy(update={"settings": {"cpu-isa": "sse4.2"}})
    plain, other = three("loss 1\n"), [attempt(result("loss nan\n")), attempt(result("loss 2\n"))]
    jobs = (job(*other, target=isa), job(*plain))
    made = document(*jobs)
    pairs = {(part.baseline, part.candidate): part for part in made.comparisons}
    across = pairs[plain[0].id, other[0].id]
    assert (across.result, across.first_difference["baseline"], across.first_difference["candidate"]) == (
        "different",
        "loss 1",
        "loss nan",
    )
    assert pairs[other[0].id, other[1].id].result == "different"
    assert len(pairs) == 2
    assert all(PATTERN.findall(part.id) == [part.baseline, part.candidate] for part in made.comparisons)
    assert [part.id for part in document(*jobs).comparisons] == [part.id for part in made.comparisons]


def test_the_json_has_every_field_of_the_contract() -> None:
    told = json.loads(document(job(*three("loss nan\n"))).model_dump_json(by_alias=True))
    assert told["schema"] == 1
    run = (
        "id state verdict so_far seen defect cause summary scope where not_where newest without_result ask report jobs comparisons"  # noqa: E501
        " environments created_at finished_at"
    )
    of_job = "id script target state verdict reason matched of rate_upper_bound rate_interval checks attempts"
    of_attempt = (
        "id kind start node level outcome reason exit_status signal exception stdout stderr truncated devices_used wall_seconds"  # noqa: E501
        " peak_memory_bytes environment"
    )
    assert set(run.split()) <= told.keys()
    assert set(of_job.split()) <= told["jobs"][0].keys()
    assert set(of_attempt.split()) <= told["jobs"][0]["attempts"][0].keys()
    assert set(told["jobs"][0]["checks"][0]) == {"text", "result", "observed", "exact", "oracle"}
    assert set(told["jobs"][0]["target"]) == {"device", "gpus", "toolchain", "settings"}
