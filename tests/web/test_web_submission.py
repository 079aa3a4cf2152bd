"""The second step of a submission: what was read, each thing with its correction, and who sent it before."""

from __future__ import annotations

from html_page import Page, faults
from running_web import Web
from stage import result

from app.storage.models import ReportRow, RunRow

REPORT = """# The total is wrong

On numpy 2.3 on Windows 11 this prints the wrong total.

```python
import numpy
print("total", 5)
```

Here I get

```
total 6
```

Expected:

```
total 5
```
"""


def read(web: Web, **fields: str | list[str]) -> Page:
    """The page with what was read."""
    answer = web.client.post("/plan", data={"text": REPORT, **fields})
    assert answer.status_code == 200, answer.text
    assert list(faults(answer.text)) == []
    assert web.stage.count(RunRow) == 0
    return Page(answer.text)


def sent(page: Page) -> dict[str, str | list[str]]:
    """What a browser sends with the form of the page, without its buttons."""
    fields: dict[str, str | list[str]] = {}
    for one in page.elements:
        name = one.attributes.get("name", "")
        if "form" not in one.inside or not name or one.tag == "button" or name == "q":
            continue
        if one.attributes.get("type") in {"radio", "checkbox"} and "checked" not in one.attributes:
            continue
        value = one.text.removeprefix("\n") if one.tag == "textarea" else one.attributes.get("value", "")
        if name in {"environment_name", "environment_value", "environment_read", "need_read", "need"}:
            fields.setdefault(name, [])
            fields[name] += [value]  # type: ignore[operator]
        else:
            fields[name] = value
    return fields


def test_it_shows_what_was_read_and_offers_two_answers(web: Web) -> None:
    web.stage.node("n")
    page = read(web)
    assert [mark.text for mark in page.all("mark")] == ["total 6", "total 5"]
    assert "this happens: total 6" in " ".join(page.text.split())
    assert "this should happen instead: total 5" in " ".join(page.text.split())
    assert [one.text for one in page.all("button", name="answer")] == ["Quick answer", "Which versions?"]
    values = [one.attributes["value"] for one in page.all("input", name="environment_value")]
    assert values == ["Windows 11", "2.3", ""]
    [need] = page.all("input", name="need")
    assert need.attributes["value"] == "package"
    # A tick says yes to a positive sentence.
    assert "checked" in need.attributes
    assert "It needs packages: numpy" in " ".join(page.text.split())


def test_a_button_runs_its_preset_whatever_is_chosen_below(web: Web) -> None:
    web.stage.node("n")
    page = read(web)
    for answer, preset in (("version", "version"), ("quick", "quick")):
        fields = {**sent(page), "preset": "determinism", "answer": answer}
        run = web.client.post("/", data=fields).headers["location"].removeprefix("/runs/")
        assert web.stage.run(run).preset == preset
    run = web.client.post("/", data={**sent(page), "preset": "determinism"}).headers["location"]
    assert web.stage.run(run.removeprefix("/runs/")).preset == "determinism"


def test_everything_that_was_read_wrongly_is_corrected_before_it_runs(web: Web) -> None:
    web.stage.node("n")
    page = read(web, **{**sent(read(web)), "stance": "e2 actual"})
    looks = [mark.attributes["class"] for mark in page.all("mark")]
    assert looks == ["seen", "seen"]
    fields = sent(page) | {"environment_value": ["Windows 10", ""], "need": []}
    page = read(web, **fields)
    assert [mark.attributes["class"] for mark in page.all("mark")] == ["seen", "seen"]
    values = [one.attributes["value"] for one in page.all("input", name="environment_value")]
    assert values == ["Windows 10", "", ""]
    [need] = page.all("input", name="need")
    assert "checked" not in need.attributes
    run = web.client.post("/", data={**sent(page), "answer": "quick"}).headers["location"]
    report = web.stage.run(run.removeprefix("/runs/")).report
    assert [check.role for check in report.claim.checks] == ["bug", "bug"]
    assert report.environment == {"os.name": "Windows 10"}
    assert [need.kind for need in report.ignored_needs] == ["package"]


def test_a_field_that_was_not_read_is_added_and_one_of_another_text_is_forgotten(web: Web) -> None:
    web.stage.node("n")
    fields = sent(read(web))
    assert fields["environment_name"] == ["os.name", "package.numpy", ""]
    fields |= {
        "environment_name": ["os.name", "package.numpy", "gpu.0.model"],
        "environment_value": ["Windows 11", "2.4.1", "NVIDIA H100"],
    }
    page = read(web, **fields)
    values = {
        name.attributes["value"]: value.attributes["value"]
        for name, value in zip(
            page.all("input", name="environment_name"),
            page.all("input", name="environment_value"),
            strict=False,
        )
    }
    assert values == {"gpu.0.model": "NVIDIA H100", "os.name": "Windows 11", "package.numpy": "2.4.1"}
    assert "in the text: 2.3" in page.text
    # Another text says nothing of Windows: only what somebody wrote stays.
    other = {**sent(page), "text": REPORT.replace(" on Windows 11", "")}
    run = web.client.post("/", data={**other, "answer": "quick"}).headers["location"]
    report = web.stage.run(run.removeprefix("/runs/")).report
    assert report.environment == {"gpu.0.model": "NVIDIA H100", "package.numpy": "2.4.1"}
    shown = web.client.get(f"/reports/{report.id}").text
    assert "The submitter corrected the environment" in shown


def test_words_in_place_of_what_was_read(web: Web) -> None:
    web.stage.node("n")
    page = read(web, **{**sent(read(web)), "claim": "RuntimeError: boom"})
    assert "this happens: RuntimeError: boom" in " ".join(page.text.split())


def test_a_known_report_is_shown_with_its_verdict_before_anything_runs(web: Web) -> None:
    web.stage.node("n")
    script = "raise RuntimeError('boom')\n"
    web.client.post("/", data={"text": script, "claim": "RuntimeError: boom", "title": "It says boom"})
    while attempts := web.stage.dispatch():
        for attempt in attempts:
            web.stage.say(result(attempt, node="n"))
    answer = web.client.post("/plan", data={"text": f"# mine\n{script}"})
    assert list(faults(answer.text)) == []
    known = Page(answer.text).one("section", id="known")
    assert "It says boom" in known.text
    assert "the same script" in known.text
    assert "● reproduced" in known.text
    assert "It happens, as reported. Seen on" in " ".join(known.text.split())
    assert "cpu@" not in known.text
    with web.stage.session() as session:
        [report] = session.query(ReportRow.id).all()
    web.client.post(f"/reports/{report.id}/close", data={"disposition": "by_design"})
    known = Page(web.client.post("/plan", data={"text": script}).text).one("section", id="known")
    assert "closed: by design" in known.text
    assert web.stage.count(RunRow) == 1


def test_a_script_is_known_by_nobody_if_it_is_new(web: Web) -> None:
    web.stage.node("n")
    assert Page(web.client.post("/plan", data={"text": "print(77)\n"}).text).all("section", id="known") == []


def test_a_number_of_the_environment_is_a_number(web: Web) -> None:
    web.stage.node("n")
    text = REPORT + "\ncuDNN version: 8902\n"
    page = Page(web.client.post("/plan", data={"text": text}).text)
    fields = sent(page)
    names = list(fields["environment_name"])
    assert "cudnn.version" in names
    values = list(fields["environment_value"])
    values[names.index("cudnn.version")] = "eight"
    answer = web.client.post("/", data={**fields, "environment_value": values})
    assert (answer.status_code, "cudnn.version is a whole number" in answer.text) == (422, True)
    assert list(faults(answer.text)) == []


def test_a_form_that_names_needs_that_are_none_is_still_read(web: Web) -> None:
    web.stage.node("n")
    page = read(web, ignore_needs="package")
    [need] = page.all("input", name="need")
    assert "checked" not in need.attributes
    answer = web.client.post("/plan", data={"text": "", "need_read": ["package"], "need": []})
    [carried] = Page(answer.text).all("input", name="ignore_needs")
    assert carried.attributes["value"] == "package"
