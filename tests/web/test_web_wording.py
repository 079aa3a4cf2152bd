"""The sentences at the head of a page: of words and counts of ours, true of what was recorded."""

from __future__ import annotations

import io

import pytest
from recorded_runs import recording
from rich.console import Console

from app.command.terminal.render import render
from app.judging.judgement import CheckResult, Scope, Verdict
from app.mcp.run_view import Size, run_view
from app.runs.run_object.claim_part import ClaimPart
from app.runs.run_object.document import FindingPart, RunDocument
from app.web.text import labels
from app.web.views.environments import distinguishing_fields, environment_views
from app.web.views.markdown_copy import run_markdown
from app.web.views.reports import claim_rows
from app.web.views.runs import card_groups, checks_of
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
    assert as_reported(run, []) == "not tried; different here: os, torch"
    assert as_reported(recorded("values", scope=Scope.AS_REPORTED), ["cpu.model"]) == "tried"
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
    assert as_reported(recorded("values", report=named, **device), []) == "not tried; different here: GPU"


@pytest.mark.parametrize("environment", [{}, {"python.version": "3.12"}, {"os.name": "Windows 11"}])
@pytest.mark.parametrize("differs", [["torch.version"], ["torch.version", "os.name"], ["device"]])
def test_the_words_about_the_reporters_environment_agree(
    environment: dict[str, str], differs: list[str]
) -> None:
    report = recorded("values").report.model_copy(update={"environment": environment})
    run = recorded("values", report=report, scope=Scope.ELSEWHERE, scope_differs=differs)
    short, sentence = as_reported(run, []), scope_words(run)
    is_another = short.startswith("not tried; different here")
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
    # Where chance may explain that it was not seen, no field is a reason.
    by_chance = recorded("logdet_cpu_isa")
    by_chance = by_chance.model_copy(update={"chance_where": by_chance.not_where})
    assert distinguishing_fields(by_chance) == []


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


def said_twice() -> RunDocument:
    """A run whose report says "prints 7 instead of 1.5", where 1.5 is seen."""
    run = recorded("logdet_cpu_isa")
    words = {"text": "prints 7 instead of 1.5", "kind": "value", "where": {}, "over": "attempt"}
    checks = [{**words, "role": "bug", "number": "7"}, {**words, "role": "expected", "number": "1.5"}]
    report = run.report.model_copy(update={"claim": ClaimPart.model_validate({"checks": checks})})
    findings = [
        FindingPart(text=words["text"], result=result, observed="1.5")
        for result in (CheckResult.ABSENT, CheckResult.MET)
    ]
    job = run.jobs[0].model_copy(update={"checks": findings})
    return run.model_copy(update={"report": report, "jobs": [job]})


def test_two_checks_of_the_same_words_keep_their_own_results() -> None:
    run = said_twice()
    rows = claim_rows(run)
    assert [(row.number, row.result, row.others) for row in rows] == [
        ("7", CheckResult.ABSENT, 0),
        ("1.5", CheckResult.MET, 0),
    ]
    assert [[result for result, _ in row.results] for row in checks_of(run)] == [
        [CheckResult.ABSENT],
        [CheckResult.MET],
    ]
    assert "The report says 7 (here: it did not happen):" in run_markdown(
        run, address="https://samehere.example/runs/1"
    )
    shown = io.StringIO()
    render(run, Console(file=shown, width=200, markup=False, emoji=False, highlight=False, no_color=True))
    lines = [line for line in shown.getvalue().splitlines() if "instead of" in line]
    label = run.jobs[0].target.label
    assert lines == [
        f"- “prints 7 instead of 1.5” (7): absent on {label}",
        f"- “prints 7 instead of 1.5” (expected 1.5): met on {label}",
    ]
    view = run_view(run, Size(characters=200, items=5), url="https://samehere.example/runs/1")
    told = [(check.role, check.number and check.number.untrusted_text) for check in view.cells[0].checks]
    assert told == [("bug", "7"), ("expected", "1.5")]


def test_every_setting_has_words() -> None:
    assert [*labels.SETTINGS] == [*SETTINGS]
    words = labels.settings_among(
        ["cpu", "cuda*2@torch-2.13:deterministic,threads=1", "cpu:trace=on", "cpu:x=1"]
    )
    assert [name for name, _ in words] == ["deterministic", "threads", "trace"]
    assert labels.settings_among(["cpu@torch-2.13"]) == []
