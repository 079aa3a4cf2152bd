"""Runs the steps of a composite Action as a runner of GitHub does: bash, variables, and files."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from cli.command_line import ROOT

SAMEHERE = str(Path(sys.executable).parent / "samehere")
EXPRESSION = re.compile(r"\$\{\{\s*([a-z_]+(?:\.[A-Za-z0-9_-]+)+)\s*\}\}")
# How GitHub starts `shell: bash`.
BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")


def read_action(folder: Path = ROOT) -> dict[str, Any]:
    """The Action of a folder."""
    return dict(yaml.safe_load((folder / "action.yml").read_text()))


@dataclass
class Runner:
    """A runner in a folder: it fills expressions in variables, and reads what steps write."""

    action: dict[str, Any]
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
        for step in self.action["runs"]["steps"]:
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
        return {name: self.value(output["value"]) for name, output in self.action["outputs"].items()}


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
