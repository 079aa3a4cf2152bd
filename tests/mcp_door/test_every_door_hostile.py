"""Every door with every hostile text: none says it as ours, obeys it, mentions anybody or loads anything."""

from __future__ import annotations

import io
import json
import re
import socket
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import httpx2
import pytest
from event_loop import run_in_thread
from hostile_texts import FOREIGN, MARK, TEXTS
from markdown_it import MarkdownIt
from mcp import Client as ModelClient
from mcp.client.stdio import StdioServerParameters
from numpy_versions import say_hello
from rich.console import Console
from running_web import Web, web_of
from sqlalchemy import func, select
from stage import Stage, result

from app.command.doors.workflow import write_summary
from app.command.terminal.render import render
from app.runs.github.wording import posting
from app.runs.lookup.runs import run_document
from app.runs.run_object.document import RunDocument
from app.runs.submission.submit import Submission, submit
from app.runs.webhooks import news
from app.storage.models import EventRow, RunRow
from app.targets.target import Target
from samehere_client import Client
from worker.contract import Attempt, ExceptionFacts, Observation, Outcome

VERSIONS = {"1.26.4": False, "2.0.0": True}
ISSUE = "https://github.com/octocat/{name}/issues/7"
OUTPUTS = {"verdict", "seen", "defect", "summary", "run", "bundle"}
# Characters that act or hide, by category; a new line and a tab do neither.
_HIDING = {"Cc", "Cf", "Cs", "Co"}


@dataclass(frozen=True)
class Doors:
    """A web with one run for each hostile text, and the names that were looked up while it was asked."""

    web: Web
    runs: Mapping[str, RunDocument]
    looked_up: list[str]

    def json(self, path: str) -> Any:
        return self.web.client.get(path).raise_for_status().json()


def report_of(text: str) -> str:
    code = f"import numpy\nprint({text!r})\nraise RuntimeError({text!r})\n"
    return f"# {text}\n\n{text}\n\n```python\n{code}```\n\nIt fails with\n\n```\nRuntimeError: {text}\n```\n"


def answer(stage: Stage, attempt: Attempt, texts: Mapping[str, str]) -> None:
    """Show the text in all that a script may show."""
    version, text = attempt.toolchain.removeprefix("numpy-"), texts[attempt.run_id]
    error = ExceptionFacts(type="RuntimeError", message=text) if VERSIONS[version] else None
    shown = {"stdout": text, "stdout_bytes": 9, "stderr": text, "stacks": text}
    seen = Observation(exit_status=int(error is not None), exception=error, **shown)
    outcome = Outcome.COMPLETED if error is None else Outcome.RAISED
    said = result(attempt, node="n1", outcome=outcome, observation=seen)
    facts = {"cpu.model": "x", "python.version": "3.12.1", "package.numpy": version}
    stage.say(said.model_copy(update={"environment": facts}))


@pytest.fixture(scope="module")
def doors(stage_of_module: Stage) -> Iterator[Doors]:
    stage, looked_up = stage_of_module, []
    say_hello(stage, *VERSIONS)
    targets = tuple(Target(toolchain=f"numpy-{version}") for version in VERSIONS)
    texts: dict[str, str] = {}
    ids: dict[str, str] = {}
    for name, text in TEXTS.items():
        wish = Submission(
            report=report_of(text), targets=targets, repeats=1, title=text, source_url=ISSUE.format(name=name)
        )
        with stage.session() as session:
            ids[name] = submit(session, wish, settings=stage.settings).document.id
        texts[ids[name]] = text
    while attempts := stage.dispatch():
        stage.beat("n1")
        for attempt in attempts:
            answer(stage, attempt, texts)
    with stage.session() as session:
        runs = {name: run_document(session, run_id) for name, run_id in ids.items()}
    real = socket.getaddrinfo

    def look_up(host: Any, *more: Any, **options: Any) -> Any:
        looked_up.append(str(host))
        return real(host, *more, **options)

    with pytest.MonkeyPatch.context() as patch, web_of(stage) as web:
        patch.setattr(socket, "getaddrinfo", look_up)
        yield Doors(web, runs, looked_up)


@pytest.fixture(params=sorted(TEXTS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(doors: Doors, name: str) -> RunDocument:
    return doors.runs[name]


def assert_ours(text: str) -> None:
    """Words of ours alone, with nothing that acts or hides."""
    assert MARK not in text
    assert FOREIGN not in text
    assert_plain(text)


def assert_plain(text: str) -> None:
    """Nothing that acts on a terminal or hides, beside the word joiner that we put behind an @ ourselves."""
    signs = {sign for sign in text if unicodedata.category(sign) in _HIDING}
    assert signs <= {"\n", "\t", "\u2060"}, signs


def places(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text of an answer, with the name of its field. Names of fields are texts, too."""
    if isinstance(value, dict):
        for field, each in value.items():
            yield "", field
            yield from places(each, field)
    elif isinstance(value, list):
        for each in value:
            yield from places(each, key)
    elif isinstance(value, str):
        yield key, value


def test_every_text_was_run(doors: Doors, run: RunDocument, name: str) -> None:
    """The others would show little if it had not been."""
    assert run.state == "finished"
    assert len(run.jobs) == len(VERSIONS)
    assert MARK in json.dumps(doors.json(f"/api/v1/runs/{run.id}"))


def test_rest_marks_it(doors: Doors, run: RunDocument, name: str) -> None:
    schemas = doors.json("/api/v1/openapi.json")["components"]["schemas"]
    marked = {
        field
        for schema in schemas.values()
        for field, form in schema.get("properties", {}).items()
        if form.get("x-strangers-text")
    }
    for path in (f"runs/{run.id}", f"reports/{run.report.id}", f"attempts/{run.jobs[0].attempts[0].id}"):
        found = {field for field, text in places(doors.json(f"/api/v1/{path}")) if MARK in text}
        assert found <= marked, path


def test_the_brief_has_none_of_it(doors: Doors, run: RunDocument, name: str) -> None:
    brief = doors.json(f"/api/v1/runs/{run.id}?view=brief")
    for _, text in places(brief):
        assert_ours(text)
    assert {urlsplit(link).netloc for link in brief["links"].values()} == {urlsplit(doors.web.url).netloc}


def test_the_gate_closes_nothing(doors: Doors, run: RunDocument, name: str) -> None:
    asked = {"issues": [ISSUE.format(name=name), run.report.id]}
    for item in doors.web.client.post("/api/v1/gate", json=asked).json()["items"]:
        assert item.pop("may_close") is False
        for _, text in places(item):
            assert_ours(text)


def test_events_hold_ids(doors: Doors, run: RunDocument, name: str) -> None:
    assert_ours(doors.web.client.get(f"/api/v1/runs/{run.id}/events").text)


def test_models_get_it_under_its_mark(doors: Doors) -> None:
    """Over HTTP and over stdio, as a program and as a model see it."""
    command = [*("-P", "-m", "app.cli", "mcp", "--server"), doors.web.url]
    for server in (f"{doors.web.url}/mcp", StdioServerParameters(command=sys.executable, args=command)):
        for shown in run_in_thread(lambda server=server: ask_model_door(server, doors)):
            own, data = (part.text for part in shown.content)
            assert_ours(own)
            found = {field for field, text in places(json.loads(data)) if MARK in text or FOREIGN in text}
            assert found == {"untrusted_text"}
            assert_plain("".join(text for _, text in places(json.loads(data))))


async def ask_model_door(server: Any, doors: Doors) -> list[Any]:
    async with ModelClient(server) as client:
        return [await client.call_tool("get_run", {"run": run.id}) for run in doors.runs.values()]


def test_a_terminal_obeys_none_of_it(run: RunDocument, name: str) -> None:
    written = io.StringIO()
    render(run, Console(file=written, width=100, highlight=False))
    assert_plain(written.getvalue())


def test_markdown_mentions_nobody_and_loads_nothing(doors: Doors, run: RunDocument, name: str) -> None:
    for path in (f"/runs/{run.id}.md", f"/reports/{run.report.id}.md"):
        text = doors.web.client.get(path).raise_for_status().text
        assert_plain(text)
        assert_harmless_markdown(text, doors)


def assert_harmless_markdown(text: str, doors: Doors) -> None:
    """What strangers wrote stands in fences only; GitHub mentions and links nothing there."""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "fence":
            continue
        assert MARK not in token.content
        assert FOREIGN not in token.content
        for child in token.children or ():
            assert child.type != "image"
            href = str(child.attrs.get("href", doors.web.url))
            assert urlsplit(href).netloc in {urlsplit(doors.web.url).netloc, ""}


def test_the_action_tells_other_steps_nothing_of_it(
    run: RunDocument, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, summary, document = (tmp_path / each for each in ("output", "summary", "run.json"))
    document.write_text(run.model_dump_json())
    monkeypatch.setenv("GITHUB_OUTPUT", str(output))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    write_summary(str(document), bundle=None)
    assert_ours(summary.read_text())
    assert_ours(output.read_text())
    assert set(re.findall(r"^(\w+)<<end_", output.read_text(), re.MULTILINE)) == OUTPUTS


def test_a_webhook_tells_none_of_it(
    doors: Doors, run: RunDocument, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Mapping[str, Any]] = []
    monkeypatch.setattr(news, "add_news", lambda _session, _owner, _kind, facts, **_: sent.append(facts))
    with doors.web.stage.session() as session:
        row = session.get_one(RunRow, run.id)
        news.announce_end(session, row, run)
    [facts] = sent
    for _, text in places(json.loads(json.dumps(facts))):
        assert_ours(text)


def test_a_comment_on_github_says_none_of_it(doors: Doors, run: RunDocument, name: str) -> None:
    sides = (run.jobs[0].target.toolchain, run.jobs[1].target.toolchain)
    posted = posting(run, run.answer, page=doors.web.url, sides=sides)
    assert posted.check is not None
    for text in (posted.text, posted.check.title, posted.check.summary):
        assert_ours(text)
        assert_harmless_markdown(text, doors)


class Elements(HTMLParser):
    """What a browser would load, run or follow."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: set[str] = set()
        self.scripts: list[str | None] = []
        self.handlers: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.handlers |= {name for name in values if name.startswith("on")}
        if tag == "script":
            self.scripts.append(values.get("src"))
        self.addresses |= {str(values[key]) for key in ("href", "src", "action", "srcset") if key in values}


def test_pages_load_and_follow_nothing_of_it(doors: Doors, run: RunDocument, name: str) -> None:
    for path in ("/", f"/runs/{run.id}", f"/reports/{run.report.id}", f"/jobs/{run.jobs[1].id}"):
        page = doors.web.client.get(path).raise_for_status()
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert_plain(page.text)
        elements = Elements()
        elements.feed(page.text)
        assert elements.handlers == set()
        assert all(source is not None and source.startswith("/static/") for source in elements.scripts)
        foreign = {each for each in elements.addresses if MARK in each or FOREIGN in each}
        assert foreign == set(), path


def test_what_models_read_first_has_none_of_it(doors: Doors) -> None:
    for path in ("/llms.txt", "/api/v1/openapi.json"):
        assert_ours(doors.web.client.get(path).raise_for_status().text)


def test_the_feed_links_to_this_service(doors: Doors) -> None:
    feed = doors.web.client.get("/changes.atom").raise_for_status()
    entries = ET.fromstring(feed.content).findall("{*}entry")  # noqa: S314  # our own
    assert any(MARK in "".join(entry.itertext()) for entry in entries)
    links = [str(link.get("href")) for entry in entries for link in entry.findall("{*}link")]
    assert {urlsplit(link).netloc for link in links} == {urlsplit(doors.web.url).netloc}
    for entry in entries:
        title = entry.findtext("{*}title", "")
        assert_plain(title)
        assert "\n" not in title


def test_the_client_asks_this_service_alone(doors: Doors, run: RunDocument, name: str) -> None:
    asked: list[str] = []

    def note(request: httpx2.Request) -> None:
        asked.append(request.url.host)

    with httpx2.Client(event_hooks={"request": [note]}) as http, Client(doors.web.url, http=http) as client:
        brief, whole = client.brief(run.id), client.run(run.id)
    assert_ours(brief.model_dump_json())
    assert whole.id == run.id
    assert set(asked) == {"127.0.0.1"}


def test_nothing_was_fetched_run_or_noted(doors: Doors) -> None:
    """The last of this file: after every door was asked."""
    assert not [host for host in doors.looked_up if FOREIGN in host]
    assert not list(Path.cwd().glob(f"*{MARK}*"))
    with doors.web.stage.session() as session:
        assert session.scalar(select(func.count()).select_from(RunRow)) == len(TEXTS)
        ids = session.scalars(select(EventRow.ids)).all()
    assert MARK not in json.dumps(list(ids))
