"""The Action, run step by step as a runner does: bash, variables, and files for outputs and the summary."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import ROOT
from running_service import service_environment

from app.runs.exchange.read_bundle import NO_LIMITS, read_bundle
from app.runs.run_object.answer.in_markdown import plain

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
SAMEHERE = str(Path(sys.executable).parent / "samehere")
EXPRESSION = re.compile(r"\$\{\{\s*([a-z_]+(?:\.[A-Za-z0-9_-]+)+)\s*\}\}")
# How GitHub starts `shell: bash`.
BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
STEPS = ["install", "toolchain", "reproduce", "result", "Decide"]


@dataclass
class Runner:
    """A runner in a folder: it fills expressions in variables, and reads what steps write."""

    folder: Path
    environment: Mapping[str, str]
    inputs: dict[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = ""

    def value(self, text: str) -> str:
        def fill(match: re.Match[str]) -> str:
            kind, *rest = match[1].split(".")
            if kind == "inputs":
                return self.inputs[rest[0]]
            if kind == "steps":
                return self.outputs.get(rest[0], {}).get(rest[2], "")
            assert match[1] == "github.action_path"
            return str(ROOT)

        return EXPRESSION.sub(fill, text)

    def step(self, step: Mapping[str, Any]) -> int:
        """Run one step with `run`; its exit status."""
        name = step.get("id", step["name"])
        files = {key: self.folder / f"{key}-{name.replace(' ', '-')}" for key in ("output", "summary")}
        for path in files.values():
            path.touch()
        variables = {
            **self.environment,
            **{key: self.value(text) for key, text in step.get("env", {}).items()},
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
        }
        script = self.folder / "step.sh"
        script.write_text(step["run"])
        ended = subprocess.run(
            [*BASH, str(script)],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            check=False,
            timeout=250,
        )
        self.log += ended.stdout.decode() + ended.stderr.decode()
        self.outputs[name] = outputs_in(files["output"].read_text())
        return ended.returncode

    def run(self) -> dict[str, int]:
        """Run all steps until one fails; their exit statuses."""
        statuses: dict[str, int] = {}
        for step in ACTION["runs"]["steps"]:
            if "run" not in step:
                continue
            statuses[step.get("id", step["name"])] = status = self.step(step)
            if status:
                break
        return statuses

    @property
    def summary(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.glob("summary-*")))

    @property
    def results(self) -> dict[str, str]:
        """The outputs of the Action."""
        return {name: self.value(output["value"]) for name, output in ACTION["outputs"].items()}


def outputs_in(text: str) -> dict[str, str]:
    """The outputs of a step, read as the runner reads them."""
    outputs: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, heredoc, end = line.partition("<<")
        if heredoc and "=" not in name:
            outputs[name] = "\n".join(itertools.takewhile(end.__ne__, lines))
        else:
            name, _, outputs[name] = line.partition("=")
    return outputs


@pytest.fixture
def folder(home: Path) -> Path:
    work = home / "work"
    work.mkdir()
    return work


def runner(folder: Path, **given: str) -> Runner:
    inputs = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
    inputs |= {"samehere": SAMEHERE, "packages": "", "targets": "cpu", "repeats": "1"} | given
    return Runner(folder, service_environment(folder.parent), inputs)


def test_no_expression_stands_in_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), step["name"]
        assert ("run" in step) == (step.get("shell") == "bash")
    used = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(ACTION["inputs"])


def test_every_input_and_output_is_documented() -> None:
    page = (ROOT / "docs" / "github-action.md").read_text()
    for name in (*ACTION["inputs"], *ACTION["outputs"]):
        assert f"`{name}`" in page, name


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
    action = Runner(folder, dict(os.environ), {"fail-on": fail_on})
    action.outputs["result"] = dict(zip(("seen", "verdict"), facts, strict=True))
    assert action.step(ACTION["runs"]["steps"][-1]) == status


def test_a_text_in_the_summary_is_only_text() -> None:
    shown = plain("a|b\n@x #1 [y](z) <b>")
    assert shown.replace("\u2060", "") == r"a\|b \@x \#1 \[y\]\(z\) &lt;b&gt;"
    # GitHub looks for mentions and references after Markdown has removed the backslashes.
    assert "@\u2060" in shown
    assert "#\u2060" in shown
