"""Pages around matrices, without JavaScript: the plan before it runs, queue positions, cells cancelled,
rerun and added.
"""

from __future__ import annotations

import pytest
from html_page import Page, faults
from running_web import Web
from stage import CLAIM, SCRIPT, result

from app.judging.check.reach import NO_GPU
from app.runs.submission.submit import Submission, submit
from app.storage.models import ReportRow, RunRow
from app.targets.parse import parse_target
from app.targets.planning.presets import PRESETS
from worker.contract import ExceptionFacts, Observation, Outcome

TYPED = {
    "text": "\n" + SCRIPT + "# </textarea>&amp;\n",
    "form": "script",
    "claim": CLAIM,
    "title": "A <title>",
    "source_url": "https://x/?a=1&b=2",
}
CHOSEN = {"preset": "determinism", "include": "cpu:seed=3 cuda", "exclude": "*:threads=*"}


def two_cells(web: Web) -> str:
    targets = tuple(map(parse_target, ("cpu", "cpu:threads=1")))
    with web.stage.session() as session:
        request = Submission(script=SCRIPT, claim=CLAIM, repeats=1, targets=targets)
        return submit(session, request, settings=web.stage.settings).document.id


def shown(web: Web, path: str, **fields: str) -> Page:
    answer = web.client.post(path, data=fields, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    assert list(faults(answer.text)) == []
    return Page(answer.text)


def test_the_form_leads_to_the_plan(web: Web) -> None:
    page = Page(web.client.get("/").text)
    assert [one.text for one in page.all("button") if "form" in one.inside] == ["Next"]
    assert page.one("form", action="/plan").attributes["method"] == "post"
    plan = shown(web, "/plan", text=SCRIPT)
    assert {one.attributes["value"] for one in plan.all("input", name="preset")} == set(PRESETS)


def test_the_plan_shows_cells_and_what_they_take_and_keeps_nothing(web: Web) -> None:
    web.stage.node("n")
    page = shown(web, "/plan", **TYPED, **CHOSEN)
    # Those that take the same are in one row.
    rows = [one.text for one in page.all("th", scope="row")]
    alike = "cpu@torch-2.13-cpu" + "cpu@torch-2.13-cpu:deterministic" + "cpu@torch-2.13-cpu:seed=3"
    assert rows == [f"3 targets with the same estimate{alike}", "cuda"]
    assert "No node has an NVIDIA GPU." in page.text
    assert "4, 1 of them without a node that can run them" in page.text
    assert "The times are a guess" in page.text
    assert "3 to 60" in page.text
    assert "*:threads=* leaves out 1 cell." in " ".join(page.text.split())
    assert web.stage.count(RunRow) == 0


def test_the_plan_is_run_as_it_was_typed(web: Web) -> None:
    web.stage.node("n")
    page = shown(web, "/plan", **TYPED, **CHOSEN)
    form = page.one("form", action="/")
    assert form.attributes["method"] == "post"
    # The first line break after the tag is the parser's, not the text's.
    sent = {name: page.one("textarea", name=name).text.removeprefix("\n") for name in ("text", "claim")}
    sent |= {
        name: page.one("input", name=name).attributes["value"]
        for name in ("title", "source_url", "include", "exclude")
    }
    sent["form"] = next(
        one.attributes["value"] for one in page.all("input", name="form") if "checked" in one.attributes
    )
    sent["preset"] = next(
        one.attributes["value"] for one in page.all("input", name="preset") if "checked" in one.attributes
    )
    assert sent == {**TYPED, **CHOSEN}
    run = web.stage.run(web.client.post("/", data=sent).headers["location"].removeprefix("/runs/"))
    assert (run.preset, len(run.jobs)) == ("determinism", 4)
    with web.stage.session() as session:
        row = session.get(ReportRow, run.report.id)
        assert row is not None
        assert row.text == TYPED["text"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"exclude": "gpu"}, "exclude is not a pattern"),
        ({"preset": "nix"}, "no such preset"),
        ({"text": " "}, "empty"),
        ({"exclude": "cpu cuda"}, "Nothing is left"),
    ],
)
def test_what_cannot_be_planned_is_said_and_nothing_is_lost(
    web: Web, changed: dict[str, str], words: str
) -> None:
    web.stage.node("n")
    typed = {**TYPED, **CHOSEN, **changed}
    answer = web.client.post("/plan", data=typed)
    assert answer.status_code == 422
    assert list(faults(answer.text)) == []
    page = Page(answer.text)
    assert words in page.one("p", role="alert").text
    assert page.one("textarea", name="text").text.removeprefix("\n") == typed["text"]
    assert page.one("input", name="exclude").attributes["value"] == typed["exclude"]
    at = "more" if "exclude" in changed or "preset" in changed else "change"
    assert "open" in page.one("details", id=at).attributes


def test_a_report_that_lacks_something_is_told_so_before_it_is_sent(web: Web) -> None:
    page = shown(
        web, "/plan", **{**TYPED, "form": "report", "text": "# It crashes\n\nIt crashes when I train.\n"}
    )
    assert "Send the script" in page.text


def test_a_waiting_cell_says_its_place_and_can_be_stopped(web: Web) -> None:
    web.stage.node("n", slots=1)
    first, second = two_cells(web), two_cells(web)
    page = Page(web.client.get(f"/runs/{second}").text)
    waiting = [one.text for one in page.elements if "data-waiting" in one.attributes]
    assert [text.split(" in the queue")[0] for text in waiting] == ["number 2 of 4", "number 4 of 4"]
    assert "starts in about" in waiting[1]
    cell = page.all("button", name="cell")[1].attributes["value"]
    after = shown(web, page.one("form", id="stop-cell").attributes["action"], cell=cell)
    assert len(after.all("button", name="cell")) == 1
    assert [job.state for job in web.stage.run(second).jobs] == ["queued", "cancelled"]
    assert [job.state for job in web.stage.run(first).jobs] == ["queued", "queued"]


def test_no_button_for_cells_whose_target_never_has_a_gpu(web: Web) -> None:
    web.stage.node("n")
    script = "import torch\nprint(torch.ones(3).cuda().sum().item())\n"
    with web.stage.session() as session:
        request = Submission(
            script=script, claim="prints 4.0, expected 3.0", repeats=1, targets=(parse_target("cpu"),)
        )
        run_id = submit(session, request, settings=web.stage.settings).document.id
    no_gpu = Observation(
        exit_status=1,
        exception=ExceptionFacts(type="RuntimeError", message="No CUDA GPUs are available"),
        stderr="RuntimeError: No CUDA GPUs are available\n",
        stderr_bytes=41,
    )
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n", observation=no_gpu))
    run = web.stage.run(run_id)
    assert [(job.verdict, job.reason) for job in run.jobs] == [("cannot_show", NO_GPU)]
    page = Page(web.client.get(f"/runs/{run_id}").text)
    assert page.all("button", name="which") == []
    answer = web.client.post(f"/api/v1/runs/{run_id}/rerun", json={"which": "failed"})
    assert answer.status_code == 409


def test_failed_cells_are_run_again_by_a_button(web: Web) -> None:
    web.stage.node("n")
    run_id = two_cells(web)
    web.client.post(f"/runs/{run_id}/cancel")
    page = Page(web.client.get(f"/runs/{run_id}").text)
    button = page.one("button", name="which")
    assert (button.text, button.attributes["value"]) == ("Rerun 2 failed cells", "failed")
    again = shown(web, f"/runs/{run_id}/rerun", which="failed")
    assert again.all("button", name="which") == []
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n"))
    assert web.stage.run(run_id).verdict == "reproduced"
    answer = web.client.post(f"/runs/{run_id}/rerun", data={"which": "failed"})
    assert (answer.status_code, list(faults(answer.text))) == (409, [])


def test_a_cell_is_added_from_the_matrix_of_the_report(web: Web) -> None:
    web.stage.node("n")
    run_id = two_cells(web)
    report_id = web.stage.run(run_id).report.id
    source = web.client.get(f"/reports/{report_id}").text
    assert list(faults(source)) == []
    form = Page(source).one("form", id="add-cell")
    assert form.attributes["action"] == f"/runs/{run_id}/cells"
    shown(web, form.attributes["action"], target="cpu@torch-2.13:deterministic")
    assert len(web.stage.run(run_id).jobs) == 3
    for typed, words in (("tpu", "no such device"), ("cpu@torch-2.13:deterministic", "already")):
        answer = web.client.post(form.attributes["action"], data={"target": typed})
        assert answer.status_code in {409, 422}
        assert list(faults(answer.text)) == []
        page = Page(answer.text)
        assert words in page.one("p", role="alert").text
        assert page.one("input", name="target").attributes["value"] == typed


def test_two_that_differ_in_too_much_offer_the_cell_between_them(web: Web) -> None:
    web.stage.node("n")
    targets = tuple(map(parse_target, ("cpu:threads=1", "cpu:seed=3")))
    with web.stage.session() as session:
        request = Submission(script="print(1)", claim="prints 2", repeats=1, targets=targets)
        run_id = submit(session, request, settings=web.stage.settings).document.id
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED))
    page = Page(web.client.get(f"/runs/{run_id}").text)
    assert "These two differ in seed and in threads" in page.text
    button = page.one("button", name="target")
    assert f"samehere add-cell {run_id} {button.attributes['value']}" in page.text
    after = shown(web, f"/runs/{run_id}/cells", target=button.attributes["value"])
    assert after.all("button", name="target") == []
    assert [job.target.settings for job in web.stage.run(run_id).jobs][2] in (
        {"seed": "3", "threads": "1"},
        {},
    )


@pytest.mark.parametrize("path", ["/plan", "/runs/{run}/rerun", "/runs/{run}/cells", "/runs/{run}/stop-cell"])
def test_another_page_cannot_press_these(web: Web, path: str) -> None:
    web.stage.node("n")
    run_id = two_cells(web)
    answer = web.client.post(
        path.format(run=run_id),
        data={**TYPED, "target": "cpu:seed=1"},
        headers={"Origin": "https://evil.example"},
    )
    assert answer.status_code == 403
    assert len(web.stage.run(run_id).jobs) == 2


def test_settings_of_targets_are_explained_where_they_stand(web: Web) -> None:
    web.stage.node("n")
    run_id = two_cells(web)
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n"))
    report = web.stage.run(run_id).report.id
    for path in (f"/runs/{run_id}", f"/reports/{report}"):
        text = " ".join(Page(web.client.get(path).text).text.split())
        assert "Settings of targets. threads: the number of threads that compute." in text, path
    with web.stage.session() as session:
        plain = Submission(script=SCRIPT, claim=CLAIM, repeats=1, targets=(parse_target("cpu"),))
        other = submit(session, plain, settings=web.stage.settings).document.id
    assert "Settings of targets" not in web.client.get(f"/runs/{other}").text
