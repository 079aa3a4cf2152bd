"""Pages of a report that has several runs: no sentence denies what another run of it has shown."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from html_page import Page, faults
from numpy_versions import again, answer, say_hello
from running_web import Web
from stage import Stage, result
from test_web_markdown import recorded

from app.judging.judgement import Verdict
from app.judging.verdict.contrast import ContrastKind
from app.runs.lookup.history import Point
from app.runs.run_object.answer.contrast_sentence import contrast_sentence
from app.runs.run_object.answer.rates import sighting_words
from app.runs.run_object.document import ContrastPart, TargetPart
from app.runs.submission.submit import Submission, submit
from app.targets.target import Target, label_without_toolchain
from app.web.views.environments import field_text
from app.web.views.whole_pages.compare_choices import compare_choices
from worker.contract import Observation, Outcome

OLD, NEW = "1.26.4", "2.4.0"
REPORT = """# It fails

```python
import numpy
raise RuntimeError('boom')
```

It raises `RuntimeError: boom`. numpy 1.26.4, Linux.
"""


def text_of(web: Web, path: str) -> str:
    source = web.client.get(path).text
    assert list(faults(source)) == []
    return " ".join(Page(source).text.split())


def play(stage: Stage, **broken: bool) -> None:
    by_version = {OLD: broken["old"], NEW: broken["new"]}
    while attempts := stage.dispatch():
        for attempt in attempts:
            answer(stage, attempt, by_version, **{"os.name": "Debian GNU/Linux 12"})


def in_two_versions(web: Web, *, text: str = REPORT, old: bool = True, new: bool = False) -> str:
    """A report that ran with the older version, then with the newer one; its path."""
    say_hello(web.stage, OLD, NEW)
    with web.stage.session() as session:
        wish = Submission(
            report=text, claim="RuntimeError: boom", targets=(Target(toolchain=f"numpy-{OLD}"),), repeats=3
        )
        report = submit(session, wish, settings=web.stage.settings).document.report.id or ""
    play(web.stage, old=old, new=new)
    again(web.stage, report, NEW)
    play(web.stage, old=old, new=new)
    return f"/reports/{report}"


def test_the_reporters_environment_may_have_been_tried_by_another_run(web: Web) -> None:
    path = in_two_versions(web)
    said = text_of(web, path)
    assert "We did not try it in the reporter's environment" not in said
    assert "Another run of this report tried what the report names (numpy 1.26.4" in said
    assert "tried, as far as the report names it (numpy 1.26.4" in said
    markdown = web.client.get(f"{path}.md").text
    assert "Another run of this report tried what the report names (numpy 1.26.4" in markdown
    assert "in place of 1.26.4" not in markdown


def test_another_version_than_the_reporters_is_still_said(web: Web) -> None:
    said = text_of(web, in_two_versions(web, text=REPORT.replace("1.26.4", "1.25.2"), old=False))
    assert "We did not try it in the reporter's environment" in said
    assert "not tried; different here: numpy" in said


def test_a_run_points_to_the_report_that_knows_more(web: Web) -> None:
    path = in_two_versions(web, old=False, new=True)
    newest = Page(web.client.get(path).text)
    assert "May have regressed in numpy 2.4.0, fine in 1.26.4." in newest.text
    run = web.client.get(f"/api/v1{path}").json()["runs"][0]["id"]
    knows = "The report knows more: May have regressed in numpy 2.4.0, fine in 1.26.4."
    assert knows in text_of(web, f"/runs/{run}")
    assert knows in web.client.get(f"/runs/{run}.md").text
    assert knows in web.client.get(f"/api/v1/runs/{run}", params={"view": "brief"}).json()["of_report"]
    web.client.post(f"{path}/close", data={"disposition": "by_design"})
    assert "The report knows more: a maintainer decided: By design." in text_of(web, f"/runs/{run}")


def test_a_run_that_knows_as_much_as_its_report_does_not_point_to_it(web: Web) -> None:
    web.stage.node("n")
    run = web.stage.submit().document.id
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n"))
    assert "knows more" not in text_of(web, f"/runs/{run}")
    assert web.client.get(f"/api/v1/runs/{run}", params={"view": "brief"}).json()["of_report"] == ""


def test_every_place_is_not_every_place_if_another_run_has_one_without_it(web: Web) -> None:
    say_hello(web.stage, OLD, NEW)
    with web.stage.session() as session:
        targets = (Target(toolchain=f"numpy-{OLD}", settings={"threads": "1"}),)
        wish = Submission(report=REPORT, claim="RuntimeError: boom", targets=targets, repeats=3)
        report = submit(session, wish, settings=web.stage.settings).document.report.id or ""
    play(web.stage, old=False, new=True)
    again(web.stage, report, NEW)
    play(web.stage, old=False, new=True)
    said = text_of(web, f"/reports/{report}")
    assert "In the latest run it was tried in one place only, so nothing shows yet" in said
    assert "every place" not in said


def test_a_cell_says_which_result_is_the_bug_and_which_is_expected(web: Web) -> None:
    web.stage.node("n")
    claim = "It prints `took 1`, expected `refused`."
    run = web.stage.submit("print('took 1')\n", claim=claim).document.id
    seen = Observation(exit_status=0, stdout="refused\n", stdout_bytes=8)
    while attempts := web.stage.dispatch():
        for attempt in attempts:
            web.stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED, observation=seen))
    job = web.stage.run(run).jobs[0].id
    said = text_of(web, f"/jobs/{job}")
    assert "the bug" in said
    assert "expected instead" in said
    assert "✓ as expected" in said
    assert "● as claimed" not in said


def test_who_decides_next_and_where_it_will_stand(web: Web) -> None:
    path = in_two_versions(web, old=True, new=True)
    words = "Next: a maintainer decides whether this is a bug. This page will show it; keep its address."
    assert words in text_of(web, path)
    run = web.client.get(f"/api/v1{path}").json()["runs"][0]["id"]
    assert "The page of the report will show it; keep its address." in text_of(web, f"/runs/{run}")
    web.client.post(f"{path}/confirm")
    assert "Next:" not in text_of(web, path)


def test_a_report_that_lacks_something_is_completed_from_its_page(web: Web) -> None:
    web.stage.node("n")
    lacking = "# The median is wrong\n\nSince the update the median is wrong. Please fix <b>it</b>.\n"
    web.client.post("/", data={"text": lacking, "form": "report"})
    [report] = web.client.get("/api/v1/reports").json()["items"]
    page = Page(web.client.get(f"/reports/{report['id']}").text)
    for gone in ("Rerun…", "Explain the numbers", "Bisect over"):
        assert gone not in page.text
    [link] = page.all("a", href=f"/plan?report={report['id']}")[:1]
    form = web.client.get(link.attributes["href"])
    assert (form.status_code, list(faults(form.text))) == (200, [])
    assert Page(form.text).one("textarea", id="text").text.strip() == lacking.strip()
    assert "Please:" in Page(form.text).text
    web.client.post(f"/reports/{report['id']}/withdraw", data={"reason": "a secret"})
    assert web.client.get(f"/plan?report={report['id']}").status_code == 404
    assert web.client.get("/plan?report=nothing").status_code == 404


def point(verdict: Verdict, *, attempt: str, node: str = "n1", hardware: str = "x") -> Point:
    return Point(
        script="s",
        target=Target(toolchain=f"numpy-{NEW}"),
        version=NEW,
        at=datetime(2026, 11, 28, tzinfo=UTC),
        verdict=verdict,
        job=f"j{attempt}",
        run="r",
        attempt=attempt,
        node=node,
        hardware=hardware,
    )


def test_results_that_ran_are_compared_first_and_equal_ones_name_their_node() -> None:
    choices = compare_choices(
        [
            point(Verdict.CANNOT_SHOW, attempt="a"),
            point(Verdict.REPRODUCED, attempt="b", node="one", hardware="x" * 80 + "1"),
            point(Verdict.REPRODUCED, attempt="c", node="two", hardware="x" * 80 + "2"),
        ],
        ["s"],
    )
    assert {choices.baseline, choices.candidate} == {"b", "c"}
    first, *others = [choice.words for group in choices.groups for choice in group.choices]
    assert "node" not in first
    assert [words.rpartition(", node ")[2] for words in others] == ["one", "two"]


def in_threads(target: TargetPart, number: int) -> TargetPart:
    return TargetPart.model_validate({**target.model_dump(), "settings": {"threads": str(number)}})


NONE = {"contrast": ContrastPart(kind=ContrastKind.NONE), "verdict": Verdict.REPRODUCED}


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ((Verdict.REPRODUCED,), "It was tried in one place only, so"),
        ((Verdict.REPRODUCED, Verdict.REPRODUCED), "It happened in every place that was tried, so"),
        (
            (Verdict.REPRODUCED, Verdict.REPRODUCED, Verdict.CANNOT_SHOW),
            "It happened in every place that could be tested, so",
        ),
        ((Verdict.REPRODUCED, Verdict.CANNOT_SHOW), "It could be tested in one place only, so"),
        ((Verdict.REPRODUCED, Verdict.NOT_REPRODUCED), "No place is known to be free of it, so"),
    ],
)
def test_the_sentence_about_places_is_true_of_each_cell(verdicts: tuple[Verdict, ...], sentence: str) -> None:
    run = recorded("logdet_cpu_isa")
    first = run.jobs[0]
    jobs = [
        first.model_copy(update={"verdict": verdict, "target": in_threads(first.target, number)})
        for number, verdict in enumerate(verdicts)
    ]
    assert sentence in contrast_sentence(run.model_copy(update={**NONE, "jobs": jobs, "cause": None})).words
    # A cause that a test showed says what it depends on.
    explained = run.model_copy(update={**NONE, "jobs": jobs, "cause": "uninitialised_memory"})
    assert contrast_sentence(explained).words == ""


def test_rates_that_differ_name_their_places() -> None:
    job = recorded("logdet_cpu_isa").jobs[0].model_copy(update={"rate_interval": None, "of": 3})
    other = job.target.model_copy(update={"device": "cuda", "gpus": 1})
    rare = job.model_copy(update={"matched": 1})
    always = job.model_copy(update={"matched": 3, "target": other})
    words = sighting_words([rare, always], [])
    assert words.startswith(f"{label_without_toolchain(job.target)}: 1 of 3 attempts")
    assert f"; {label_without_toolchain(other)}: 3 of 3 attempts" in words
    assert sighting_words([rare], []).startswith("1 of 3 attempts")


def test_bytes_of_a_card_are_gib() -> None:
    assert field_text("gpu.0.memory_bytes", 85_017_493_504) == "79.2 GiB"
    assert field_text("gpu.0.memory_bytes", 12) == "12"
    assert field_text("cpu.cores", 85_017_493_504) == "85017493504"
