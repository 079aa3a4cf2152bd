"""The Action, run step by step as a runner does: bash, variables, and files for outputs and the summary."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from cli.workflow_runner import SAMEHERE, Runner, read_action
from command_line import ROOT
from running_service import service_environment

from app.runs.exchange.read_bundle import NO_LIMITS, read_bundle
from app.runs.run_object.answer.in_markdown import plain

ACTION = read_action()
GATE = read_action(ROOT / "gate")
WORDS = "Fixed in x 2."
STEPS = ["install", "toolchain", "reproduce", "result", "Decide"]


@pytest.fixture
def folder(home: Path) -> Path:
    work = home / "work"
    work.mkdir()
    return work


def runner(folder: Path, **given: str) -> Runner:
    inputs = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
    inputs |= {"samehere": SAMEHERE, "packages": "", "targets": "cpu", "repeats": "1"} | given
    return Runner(ACTION, folder, service_environment(folder.parent), inputs)


@pytest.mark.parametrize("place", [ROOT, ROOT / "gate"])
def test_no_expression_stands_in_a_script(place: Path) -> None:
    action = read_action(place)
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), step["name"]
        assert ("run" in step) == (step.get("shell") == "bash")
    used = set(re.findall(r"inputs\.([a-z-]+)", (place / "action.yml").read_text()))
    assert used == set(action["inputs"])


@pytest.mark.parametrize(("place", "page"), [(ROOT, "github-action.md"), (ROOT / "gate", "gate.md")])
def test_every_input_and_output_is_documented(place: Path, page: str) -> None:
    action, text = read_action(place), (ROOT / "docs" / page).read_text()
    for name in (*action["inputs"], *action["outputs"]):
        assert f"`{name}`" in text, name


def test_the_answers_of_the_gate_are_outputs_and_mention_nobody(folder: Path) -> None:
    """An issue stands there as the workflow sent it, and nothing else that is not ours."""
    gate = Runner(GATE, folder, service_environment(folder.parent), {})
    items = [
        {
            "issue": issue,
            "answer": answer,
            "may_close": answer == "fixed",
            "words": "Fixed in x 2.",
            "url": "/r",
        }
        for issue, answer in (("@o/r#1", "fixed"), ("o/r#2|x", "still_happens"), ("o/r#3", "unknown"))
    ]
    (folder / "gate.json").write_text(json.dumps({"items": items}))
    gate.outputs |= {"install": {"samehere": SAMEHERE}, "ask": {"folder": str(folder)}}
    assert gate.step(GATE["runs"]["steps"][-1]) == 0, gate.log
    results = gate.results
    assert json.loads(results["may-close"]) == [{"issue": "@o/r#1", "words": WORDS, "url": "/r"}]
    assert [one["issue"] for one in json.loads(results["still-happens"])] == ["o/r#2|x"]
    assert json.loads(Path(results["answers"]).read_text())["items"] == items
    assert not re.search(r"@o|#1|r#2", gate.summary)


def test_bad_inputs_of_the_gate_end_with_a_word_about_it(folder: Path) -> None:
    for given, word in (
        ({"issues": "o/r#1", "file": "x"}, "one of issues and file"),
        ({"issues": "o/r#1", "server": ""}, "the address of the service"),
        ({"issues": "o/r#1", "run": "yes"}, "true or false"),
    ):
        inputs = {"issues": "", "file": "", "server": "http://127.0.0.1:1", "token": "", "run": "false"}
        gate = Runner(GATE, folder, service_environment(folder.parent), inputs | given)
        gate.outputs["install"] = {"samehere": SAMEHERE}
        assert gate.step(GATE["runs"]["steps"][1]) == 2
        assert word in gate.log


@pytest.mark.sandbox
@pytest.mark.usefixtures("toolchain")
def test_a_report_of_an_issue(folder: Path) -> None:
    report = "# Boom\n\n```python\nraise ValueError('the bug')\n```\n\nIt raises `ValueError: the bug`.\n"
    action = runner(folder, report=report, **{"fail-on": "seen"})
    statuses = action.run()
    assert statuses == {**dict.fromkeys(STEPS, 0), "Decide": 1}, action.log
    results = action.results
    assert (results["verdict"], results["seen"]) == ("reproduced", "true")
    assert json.loads(Path(results["run"]).read_text())["verdict"] == "reproduced"
    assert read_bundle(Path(results["bundle"]).read_bytes(), limits=NO_LIMITS).report.text == report + "\n"
    assert "samehere: reproduced" in action.summary
    assert re.search(r"\| cpu.* \| reproduced \| 1 of 1 \|", action.summary)


HOSTILE = r"""
# $(touch pwned) `touch pwned` "; touch pwned; ' ; touch pwned #  ${{ github.token }} @octocat

::set-output name=verdict::not_reproduced
::add-mask::reproduced
verdict=not_reproduced
samehere=/tmp/evil
EOF
end_
<img src=x onerror=alert(1)> [click](https://evil.example) ![](https://evil.example/pixel.png)

```python
import os, sys
for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH"):
    print("::error::pwned", name, os.environ.get(name), flush=True)
print("::set-output name=verdict::not_reproduced", file=sys.stderr, flush=True)
raise ValueError("@octocat ::error::pwned $(touch pwned) [x](https://evil.example)")
```

It raises `ValueError: @octocat ::error::pwned $(touch pwned) [x](https://evil.example)`.
"""


@pytest.mark.sandbox
@pytest.mark.usefixtures("toolchain")
def test_a_hostile_issue_reaches_neither_the_shell_nor_the_runner(folder: Path) -> None:
    """The text is also given as claim, so every way of a text into the steps is tried."""
    action = runner(folder, report=HOSTILE, claim="$(touch pwned)\n@octocat `touch pwned`\nverdict=x")
    statuses = action.run()
    assert statuses == dict.fromkeys(STEPS, 0), action.log
    assert not list(folder.rglob("pwned"))
    shown = action.summary + "".join(
        text for name, text in action.results.items() if name not in {"run", "bundle"}
    )
    for part in ("octocat", "evil", "pwned", "github.token", "<img", "set-output"):
        assert part not in shown, part
    assert set(action.outputs["result"]) == {"verdict", "seen", "defect", "summary", "run", "bundle"}
    assert set(action.outputs["install"]) == {"samehere"}
    assert set(action.outputs["reproduce"]) == {"folder"}
    # Between these two lines the runner obeys no command, and nothing else looks like one.
    commands = [line for line in action.log.splitlines() if line.startswith("::")]
    begin, end = commands[0], commands[-1]
    assert re.fullmatch(r"::stop-commands::[0-9a-f]{32}", begin)
    assert end == f"::{begin.removeprefix('::stop-commands::')}::"
    assert commands == [begin, end]


def test_bad_inputs_end_with_a_word_about_it(folder: Path) -> None:
    action = runner(folder, report="x", file="y.md")
    assert action.run()["reproduce"] == 2
    assert "one of file and report" in action.log
    action = runner(folder, file="--help")
    assert action.run()["reproduce"] == 2


@pytest.mark.parametrize(
    ("fail_on", "facts", "status"),
    [
        ("never", ("true", "reproduced"), 0),
        ("seen", ("true", "flaky"), 1),
        ("seen", ("false", "cannot_show"), 0),
        ("absent", ("false", "not_reproduced"), 1),
        ("absent", ("false", "needs_info"), 0),
        ("sometimes", ("false", "no_result"), 2),
    ],
)
def test_when_the_step_fails(folder: Path, fail_on: str, facts: tuple[str, str], status: int) -> None:
    action = Runner(ACTION, folder, dict(os.environ), {"fail-on": fail_on})
    action.outputs["result"] = dict(zip(("seen", "verdict"), facts, strict=True))
    assert action.step(ACTION["runs"]["steps"][-1]) == status


def test_a_text_in_the_summary_is_only_text() -> None:
    shown = plain("a|b\n@x #1 [y](z) <b>")
    assert shown.replace("\u2060", "") == r"a\|b \@x \#1 \[y\]\(z\) &lt;b&gt;"
    # GitHub looks for mentions and references after Markdown has removed the backslashes.
    assert "@\u2060" in shown
    assert "#\u2060" in shown
