"""Names and texts that a bundle brings stand in none of our own sentences."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from api.web_client import Web
from test_api_bundles import exported, from_elsewhere, give

from app.errors import InputError
from app.ids import new_id
from app.judging.comparison.environments import environment_digest
from app.runs.exchange.read_bundle import BundleLimits, read_bundle
from app.runs.run_object.contributed_names import KNOWN_CODES
from app.runs.run_object.storable import json_digest
from app.settings import ServiceSettings

# It has only characters that names of toolchains, nodes and packages may have.
MARKER = "IGNORE-ALL-INSTRUCTIONS"
# The report itself: its text and title are shown as the report's own.
REPORT = {"report"}
SILENT = {"pre", "code", "table", "script", "style", "textarea", "option"}
# The data of an attempt, in the answers of REST. The marker may stand in nothing else.
DATA = {"environment", "environments", "observation", "node", "stdout", "stderr", "stacks", "exception"} | {
    "devices_used",
    "flags",
    "flags_changed",
    "observed",
    "differences",
}


def places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all texts of a bundle, and of its objects, whose names may be replaced as well."""
    if isinstance(data, dict):
        yield path
        for name, value in data.items():
            yield from places(value, (*path, name))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from places(value, (*path, number))
    elif isinstance(data, str):
        yield path


def with_marker(bundle: dict[str, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
    """The bundle with the marker in one place, and with right digests."""
    changed = json.loads(json.dumps({name: value for name, value in bundle.items() if name != "digest"}))
    whole = outer = changed
    for part in path[:-1]:
        outer = outer[part]
    inner = outer[path[-1]] if path else whole
    if isinstance(inner, dict):
        inner[MARKER] = MARKER
    else:
        outer[path[-1]] = MARKER
    digests = {old: environment_digest(facts) for old, facts in whole["environments"].items()}
    whole["environments"] = {digests[old]: facts for old, facts in whole["environments"].items()}
    for job in whole["jobs"]:
        for attempt in job["attempts"]:
            attempt["environment"] = digests.get(attempt["environment"], attempt["environment"])
    return {**whole, "digest": json_digest(whole)}


def full_of_markers(bundle: dict[str, Any]) -> dict[str, Any]:
    """The bundle with the marker in every place that takes it."""
    limits = BundleLimits.of(ServiceSettings())
    plain = {name: value for name, value in bundle.items() if name != "digest"}
    read_bundle(json.dumps({**plain, "digest": json_digest(plain)}).encode(), limits=limits)
    taken = 0
    for path in list(places({name: bundle[name] for name in bundle if name not in REPORT})):
        try:
            changed = with_marker(bundle, path)
            read_bundle(json.dumps(changed).encode(), limits=limits)
        except (InputError, KeyError, TypeError):
            continue
        bundle, taken = changed, taken + 1
    assert taken > 20
    assert bundle["jobs"][0]["target"]["toolchain"] == MARKER
    assert bundle["jobs"][0]["attempts"][0]["result"]["node"] == MARKER
    return bundle


class Sentences(HTMLParser):
    """The text of a page without code, tables and what is typed into fields."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.silent: list[str] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, _attributes: Any) -> None:
        if tag in SILENT:
            self.silent.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.silent and tag == self.silent[-1]:
            self.silent.pop()

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.text.append(data)


def marked(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if MARKER in line]


@pytest.fixture
def run(web: Web) -> dict[str, Any]:
    bundle = from_elsewhere(exported(web))
    job = bundle["jobs"][0]
    reason = {"code": "probe_failed", "detail": "It failed.", "who_can_act": "operator"}
    attempt = job["attempts"][0]["result"]
    attempt["reason"] = attempt["start_reason"] = reason
    card = {"index": 0, "throttled": ["hot"]}
    attempt["observation"] |= {"cards": [card], "flags": {"a": "b"}, "devices_used": ["cpu"]}
    # A cell of its own in the matrix.
    target = {**job["target"], "settings": {"threads": "3"}}
    lacking = {**job, "id": new_id(), "target": target, "reason": reason, "attempts": []}
    bundle["jobs"].append(lacking)
    answer = give(web, full_of_markers(bundle), params={"by": "Ada"})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def sentences_in_json(run: dict[str, Any]) -> Iterator[Any]:
    names = "summary answer where not_where newest contributed ask cause scope_differs"
    for name in names.split():
        yield run[name]
    for job in run["jobs"]:
        yield job["reason"]
        yield from (attempt["reason"] for attempt in job["attempts"])


def test_the_words_of_a_bundle_stand_in_none_of_our_sentences(web: Web, run: dict[str, Any]) -> None:
    assert MARKER not in json.dumps(list(sentences_in_json(run)))
    get: Callable[[str], str] = lambda path: web.client.get(path).text  # noqa: E731
    report = run["report"]["id"]
    for listing in ("/api/v1/runs", "/api/v1/reports", f"/api/v1/runs/{run['id']}/events"):
        assert marked(get(listing)) == []
    for path in (f"/runs/{run['id']}.md", f"/reports/{report}.md"):
        assert marked(re.sub(r"^(`{3,}).*?^\1$", "", get(path), flags=re.DOTALL | re.MULTILINE)) == [], path
    jobs = [f"/jobs/{job['id']}" for job in run["jobs"]]
    attempts = [f"/attempts/{attempt['id']}" for job in run["jobs"] for attempt in job["attempts"]]
    for path in (
        "/",
        "/reports",
        "/nodes",
        "/changes",
        f"/runs/{run['id']}",
        f"/reports/{report}",
        *jobs,
        *attempts,
    ):
        assert marked("\n".join(Sentences(get(path)).text)) == [], path


def without_data(answer: Any) -> Any:
    """An answer of REST without the fields that hold what an attempt left."""
    if isinstance(answer, dict):
        return {name: without_data(value) for name, value in answer.items() if name not in DATA}
    return [without_data(value) for value in answer] if isinstance(answer, list) else answer


def test_rest_answers_have_the_words_of_a_bundle_only_as_data_of_attempts(
    web: Web, run: dict[str, Any]
) -> None:
    report = run["report"]["id"]
    one, other = [attempt["id"] for job in run["jobs"] for attempt in job["attempts"]][:2]
    routes = ("runs", "reports", "nodes", "toolchains", "changes", "acts", "quarantines")
    for route in (
        *routes,
        f"runs/{run['id']}",
        f"reports/{report}",
        f"reports/{report}/matrix",
        f"reports/{report}/bisections",
        f"attempts/{one}",
        f"comparisons/{one}-{other}",
    ):
        answer = web.client.get(f"/api/v1/{route}")
        assert answer.status_code == 200, route
        assert marked(json.dumps(without_data(answer.json()), indent=1)) == [], route


def test_all_reads_name_a_contributed_toolchain_alike(web: Web, run: dict[str, Any]) -> None:
    name = run["jobs"][0]["target"]["toolchain"]
    cells = web.client.get(f"/api/v1/reports/{run['report']['id']}/matrix").json()["cells"]
    assert {cell["target"]["toolchain"] for cell in cells if cell["contributed_by"]} == {name}
    attempt = web.client.get(f"/api/v1/attempts/{run['jobs'][0]['attempts'][0]['id']}").json()
    assert attempt["target"]["toolchain"] == name


@pytest.mark.parametrize("version", ["2.99.0+this.is.fixed.please.close.it", "1" + "0" * 18, "close-it"])
def test_a_contributed_version_with_words_is_in_no_grid(web: Web, version: str) -> None:
    bundle = exported(web)
    for facts in bundle["environments"].values():
        facts["torch.version"] = facts["package.torch"] = version
    digests = {old: environment_digest(facts) for old, facts in bundle["environments"].items()}
    bundle["environments"] = {digests[old]: facts for old, facts in bundle["environments"].items()}
    for job in bundle["jobs"]:
        for attempt in job["attempts"]:
            attempt["environment"] = digests.get(attempt["environment"])
    run = give(web, from_elsewhere(bundle), params={"by": "Ada"}).json()
    assert run["contributed"], run
    for path in (f"/reports/{run['report']['id']}", f"/reports/{run['report']['id']}.md"):
        page = web.client.get(path).text
        assert version not in page
        assert version.rpartition("+")[2] not in page


def test_a_name_that_says_only_a_version_is_shown(web: Web) -> None:
    shown = give(web, from_elsewhere(exported(web))).json()
    assert shown["where"] == ["cpu@torch-2.13-cpu"]


def code_of(call: ast.Call) -> object:
    """The code in a call that makes a reason, None if it is no constant."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    code = call.args[0] if call.args else named.get("code")
    return code.value if isinstance(code, ast.Constant) else None


def test_the_codes_of_all_our_reasons_are_known() -> None:
    found = {
        code_of(node)
        for folder in ("app/judging", "app/targets", "worker")
        for path in (Path(__file__).parents[2] / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"Reason", "_reason", "operator_reason", "SettingError", "Fallback"}
    }
    assert found - KNOWN_CODES - {None} == set()
