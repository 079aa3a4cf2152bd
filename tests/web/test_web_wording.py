"""The sentences at the head of a page: of words and counts of ours, true of what was recorded."""

from __future__ import annotations

import pytest
from recorded_runs import recording

from app.judging.judgement import CheckResult, Scope, Verdict
from app.runs.run_object.document import RunDocument
from app.web.text import labels
from app.web.views.environments import distinguishing_fields, environment_views
from app.web.views.markdown_copy import run_markdown
from app.web.views.reports import claim_rows
from app.web.views.runs import card_groups
from app.web.views.wording import as_reported, scope_fields, scope_words, what_is_missing
from worker.contract import CardState, Gpu
from worker.contract.names import SETTINGS


def recorded(name: str, **changed: object) -> RunDocument:
    return RunDocument.model_validate(recording(name)).model_copy(update=changed)


def test_what_cannot_be_shown_says_what_is_missing() -> None:
    lacking = recorded("two_gpus.cuda")
    said = "It cannot be shown here: "
    assert what_is_missing(lacking).startswith(said)
    assert said in run_markdown(lacking, address="https://samehere.example/runs/1")
    assert what_is_missing(recorded("weights_roundtrip.cuda")) == ""
    strange = lacking.model_copy(update={"summary": "It cannot be shown here: @everyone <b>look</b>"})
    assert "@everyone" not in run_markdown(strange, address="https://samehere.example/runs/1")


def test_what_ran_on_some_target_is_not_what_could_not_be_run() -> None:
    lacking = recorded("two_gpus.cuda")
    ran = lacking.jobs[0].model_copy(update={"verdict": Verdict.OBSERVED})
    assert what_is_missing(lacking.model_copy(update={"jobs": [*lacking.jobs, ran]})) == ""


def test_whether_it_was_tried_as_reported() -> None:
    run = recorded("weights_roundtrip.cuda", scope=Scope.ELSEWHERE, scope_differs=["os", "torch"])
    assert as_reported(run, []) == "no, different: os, torch"
    assert as_reported(recorded("values", scope=Scope.AS_REPORTED), ["cpu.model"]) == "yes"
    assert as_reported(recorded("values"), []) == "the report names no environment"
    unnamed = {"scope": Scope.ELSEWHERE, "scope_differs": ["torch.version", "os.name"]}
    assert as_reported(recorded("values", **unnamed), []) == "the report names no environment"
    named = recorded("values").report.model_copy(update={"environment": {"python.version": "3.12"}})
    assert (
        as_reported(recorded("values", report=named, **unnamed), [])
        == "not known: the report does not name torch, operating system"
    )
    of_numpy = {"x": {"package.numpy": "2.4.0", "os.name": "Linux"}}
    assert (
        as_reported(recorded("values", report=named, environments=of_numpy, **unnamed), [])
        == "not known: the report does not name operating system"
    )
    device = {**unnamed, "scope_differs": ["torch.version", "device"]}
    assert as_reported(recorded("values", report=named, **device), []) == "no, different: GPU"


@pytest.mark.parametrize("environment", [{}, {"python.version": "3.12"}, {"os.name": "Windows 11"}])
@pytest.mark.parametrize("differs", [["torch.version"], ["torch.version", "os.name"], ["device"]])
def test_the_words_about_the_reporters_environment_agree(
    environment: dict[str, str], differs: list[str]
) -> None:
    report = recorded("values").report.model_copy(update={"environment": environment})
    run = recorded("values", report=report, scope=Scope.ELSEWHERE, scope_differs=differs)
    short, sentence = as_reported(run, []), scope_words(run)
    is_another = short.startswith("no, different")
    assert is_another == sentence.startswith("We did not try it in the reporter's environment")
    assert is_another != sentence.startswith("The report does not say exactly in which environment")


def test_the_fields_of_another_environment_are_told_apart_from_unknown_ones() -> None:
    report = recorded("values").report.model_copy(update={"environment": {"package.numpy": "2.3.5"}})
    differs = ["package.numpy", "device", "os.name"]
    run = recorded("values", report=report, scope=Scope.ELSEWHERE, scope_differs=differs)
    assert scope_fields(run) == (
        "Different on the reporter's machine: numpy, GPU. The report does not name: operating system."
    )
    assert scope_fields(recorded("values", scope=Scope.AS_REPORTED)) == ""


def test_what_sets_the_targets_apart_comes_first() -> None:
    apart = distinguishing_fields(recorded("logdet_cpu_isa"))
    assert (apart[0].name, apart[0].likely) == ("blas.path", True)
    assert set(apart[0].there) == {"mkl:sse4.2", "mkl:compatible"}
    assert not set(apart[0].there) & set(apart[0].elsewhere)
    assert [one.likely for one in apart] == sorted((one.likely for one in apart), reverse=True)
    assert distinguishing_fields(recorded("values")) == []


def test_of_further_environments_only_what_differs_is_shown() -> None:
    first, *others = environment_views(recorded("logdet_cpu_isa").environments)
    assert (first.first, len(first.rows) > 40) == (True, True)
    assert others
    assert all(0 < len(one.rows) < 20 and not one.first for one in others)


def test_equal_cards_are_counted() -> None:
    card = Gpu(index=0, model="H200", memory_bytes=1, capability="9.0", driver="1", state=CardState.SOUND)
    cards = [
        card,
        card.model_copy(update={"index": 1}),
        card.model_copy(update={"index": 2, "state": CardState.FAULTY, "detail": "ECC"}),
    ]
    assert [(one.count, one.state) for one in card_groups(cards)] == [
        (2, CardState.SOUND),
        (1, CardState.FAULTY),
    ]


def test_two_checks_of_the_same_words_keep_their_own_results() -> None:
    run = recorded("logdet_cpu_isa")
    check = run.report.claim.checks[0]
    claim = run.report.claim.model_copy(
        update={"checks": [check, check.model_copy(update={"role": "expected"})]}
    )
    finding = run.jobs[0].checks[0].model_copy(update={"text": check.text, "result": CheckResult.MET})
    job = run.jobs[0].model_copy(
        update={"checks": [finding, finding.model_copy(update={"result": CheckResult.OTHER})]}
    )
    twice = run.model_copy(update={"report": run.report.model_copy(update={"claim": claim}), "jobs": [job]})
    assert [row.result for row in claim_rows(twice)] == [CheckResult.MET, CheckResult.OTHER]
    assert [row.others for row in claim_rows(twice)] == [0, 0]


def test_every_setting_has_words() -> None:
    assert [*labels.SETTINGS] == [*SETTINGS]
    words = labels.settings_among(
        ["cpu", "cuda*2@torch-2.13:deterministic,threads=1", "cpu:trace=on", "cpu:x=1"]
    )
    assert [name for name, _ in words] == ["deterministic", "threads", "trace"]
    assert labels.settings_among(["cpu@torch-2.13"]) == []
