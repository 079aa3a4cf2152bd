"""The matrix of a report over versions says what they are versions of."""

from __future__ import annotations

from html_page import Page
from numpy_versions import finish, say_hello, send
from running_web import Web

from app.runs.lookup.history import axis_of

BROKEN = {"1.26.4": True, "2.0.0": True, "2.1.0": False}


def test_versions_of_numpy_are_not_called_torch(web: Web) -> None:
    say_hello(web.stage, *BROKEN)
    report_id = send(web.stage, *BROKEN)
    finish(web.stage, BROKEN)
    page = Page(web.client.get(f"/reports/{report_id}").text)
    said = "May be fixed in numpy 2.1.0; it happens in 2.0.0."
    assert said in page.text
    assert "torch" not in page.text.replace("such as torch", "").replace("operation of torch", "").replace(
        "cpu@torch-2.13", ""
    ).replace("cuda@torch-2.13", "")
    assert page.one("input", id="over").attributes["value"] == "numpy"
    markdown = web.client.get(f"/reports/{report_id}.md").text
    assert said in markdown
    assert "| target | numpy 1.26.4 to 2.0.0 | numpy 2.1.0 |" in markdown


def test_equal_results_in_several_versions_of_one_run_are_no_further_runs(web: Web) -> None:
    say_hello(web.stage, *BROKEN)
    report_id = send(web.stage, *BROKEN)
    finish(web.stage, BROKEN)
    text = " ".join(Page(web.client.get(f"/reports/{report_id}").text).text.split())
    assert "the same in each" in text
    assert "the same in 2 runs" not in text


def test_a_script_that_imports_nothing_runs_over_what_was_varied(web: Web) -> None:
    say_hello(web.stage, *BROKEN)
    report_id = send(web.stage, *BROKEN, script="raise RuntimeError('boom')\n")
    finish(web.stage, BROKEN)
    assert "numpy 1.26.4 to 2.0.0" in Page(web.client.get(f"/reports/{report_id}").text).text


def test_the_axis_is_what_the_script_imports_and_what_was_varied() -> None:
    apart = [
        {"torch": "2.11", "numpy": "2.0", "python": "3.12"},
        {"torch": "2.13", "numpy": "2.1", "python": "3.13"},
    ]
    assert axis_of(apart, ["torch", "numpy"]) == "torch"
    assert axis_of(apart, ["numpy"]) == "numpy"
    assert axis_of([{**one, "torch": "2.13"} for one in apart], ["torch", "numpy"]) == "numpy"
    assert axis_of([{"python": "3.12"}, {"python": "3.13"}], ["torch"]) == "python"
    assert axis_of([{"numpy": "2.1"}], ["numpy"]) == "numpy"
    assert axis_of([], []) == "torch"


def test_a_node_says_what_its_toolchains_hold(web: Web) -> None:
    say_hello(web.stage, "2.0.0")
    page = Page(web.client.get("/nodes").text)
    assert [
        element.attributes["data-name"]
        for element in page.all("td")
        if element.attributes.get("data-name") == "packages"
    ]
    assert "numpy 2.0.0" in page.text


def test_an_environment_says_in_which_package_it_differs(web: Web) -> None:
    say_hello(web.stage, *BROKEN)
    send(web.stage, *BROKEN)
    finish(web.stage, BROKEN)
    [run] = web.client.get("/api/v1/runs").json()["items"]
    text = " ".join(Page(web.client.get(f"/runs/{run['id']}").text).text.split())
    assert "1 field differs from the first" in text
    assert "0 fields differ" not in text


def test_no_number_of_an_attempt_stands_without_its_name_on_a_phone(web: Web) -> None:
    say_hello(web.stage, "2.0.0")
    send(web.stage, "2.0.0")
    finish(web.stage, BROKEN)
    [run] = web.client.get("/api/v1/runs").json()["items"]
    source = web.client.get(f"/runs/{run['id']}").text
    table = source.partition('<table class="stack attempts">')[2].partition("</table>")[0]
    assert all(f'data-name="{name}">' in table for name in ("exit", "seconds", "node"))
