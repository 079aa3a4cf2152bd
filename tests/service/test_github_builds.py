"""Does a pull request fix it? A real repository, its two sides built and run, and GitHub's stand-in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from github_stage import REPOSITORIES, App
from github_stand_in import StandIn, github
from stage import Stage
from tiny_wheels import take_only

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.contract import Hello
from worker.environment import EnvironmentRecorder
from worker.sandbox import Sandbox
from worker.toolchains import ToolchainStore
from worker.toolchains.build import add

pytestmark = pytest.mark.sandbox
UV = str(Path(sys.executable).parent / "uv")
NODE = "builder"
CHECKS = 'base = "base-{sha}"\nhead = "pr-{sha}"\n'
PYPROJECT = """[project]
name = "octonumbers"
version = "0.1"

[build-system]
requires = ["uv_build"]
build-backend = "uv_build"
"""
WRONG = "def mean(values):\n    return sum(values) // len(values)\n"
RIGHT = WRONG.replace("//", "/")
BROKEN = "import nothing_of_that_name\n"
REPORT = """`mean` rounds down:

```python
from octonumbers import mean

print(mean([1, 2]))
```

It prints `1`, and `1.5` is right.
"""


class Project:
    """A git repository with a small package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "src" / "octonumbers").mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit(WRONG)

    def git(self, *words: str) -> str:
        author = ("-c", "user.name=octo", "-c", "user.email=octo@example.org")
        # Nothing of the settings of whoever runs the tests.
        variables = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        ended = subprocess.run(
            ["git", *author, *words],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            check=True,
        )
        return ended.stdout.strip()

    def commit(self, source: str) -> str:
        """A commit on the present branch; its SHA."""
        (self.folder / "pyproject.toml").write_text(PYPROJECT)
        (self.folder / "src" / "octonumbers" / "__init__.py").write_text(source)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a change")
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str, source: str) -> str:
        """A branch from main, with one commit."""
        self.git("checkout", "--quiet", "-b", name, "main")
        return self.commit(source)

    def merge_base(self, head: str) -> str:
        return self.git("merge-base", "main", head)

    def wheel(self, commit: str, folder: Path) -> Path:
        """A wheel of this commit, as CI builds it; one for all commits with the same files."""
        out = folder / self.git("rev-parse", f"{commit}^{{tree}}")
        if out.exists():
            return next(out.glob("*.whl"))
        self.git("checkout", "--quiet", commit)
        command = [UV, "build", "--quiet", "--wheel", "--offline", "--no-config", "--out-dir", str(out)]
        subprocess.run(command, cwd=self.folder, check=True, timeout=60)
        (wheel,) = out.glob("*.whl")
        return wheel


@dataclass
class Builder:
    """A node whose attempts really run, in toolchains that CI adds."""

    store: ToolchainStore
    executor: Executor
    sandbox: Sandbox
    names: dict[Path, str] = field(default_factory=dict)

    def add(self, name: str, wheel: Path) -> None:
        """Add a toolchain with a wheel; from the lock of the first one with this wheel, if there is one."""
        known = self.store.read_recipe(self.names.setdefault(wheel, name))
        if known is None:
            add(self.store, name, requirements=[str(wheel)])
        else:
            add(self.store, name, lock=known.lock)

    def say_hello(self, stage: Stage) -> None:
        facts = self.store.list()
        hello = {"slots": 16, "level": self.sandbox.level, "cpu_flags": ["avx2"], "cores": 2}
        stage.say(Hello(node=NODE, instance="one", toolchains=facts, **hello))  # type: ignore[arg-type]
        stage.beat(NODE)

    def work(self, stage: Stage) -> None:
        """Run whatever is dispatched until nothing is."""
        for _ in range(10):
            stage.beat(NODE)
            attempts = stage.dispatch()
            if not attempts:
                return
            for attempt in attempts:
                stage.start(attempt, node=NODE)
                stage.say(
                    self.executor.execute(attempt, self.sandbox, granted=[], cancelled=threading.Event())
                )
        raise AssertionError("the run does not end")


@pytest.fixture(scope="module")
def hub() -> Iterator[StandIn]:
    with github() as stand_in:
        yield stand_in


@pytest.fixture
def builder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    take_only(home / "wheels", monkeypatch)
    store = ToolchainStore(home / "toolchains")
    environments = EnvironmentRecorder(home / "cache", probe_seconds=120)
    return Builder(
        store=store,
        executor=Executor(Identity(NODE, "one"), store, environments),
        sandbox=Sandbox(slot=8, home=home),
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_check_is_green_only_if_the_pull_request_mends_it(
    stage: Stage, hub: StandIn, builder: Builder, home: Path, tmp_path: Path
) -> None:
    project = Project(home / "project")
    mend = project.branch("mend", RIGHT)
    heads = {"mends it": mend, "can't be imported": project.branch("break", BROKEN)}
    bases = {name: project.merge_base(head) for name, head in heads.items()}
    # The mend is merged, and only then the third pull request begins.
    project.git("branch", "--force", "main", mend)
    heads["is late"] = project.branch("late", RIGHT)
    bases["is late"] = project.merge_base(heads["is late"])
    app = App(stage, hub, tmp_path)
    app.list.write_text(REPOSITORIES + CHECKS)
    for number, (name, head) in enumerate(heads.items(), start=1):
        builder.add(f"base-{head[:12]}", project.wheel(bases[name], home / "wheels"))
        builder.add(f"pr-{head[:12]}", project.wheel(head, home / "wheels"))
        hub.open(number, body=REPORT, head_sha=head)
    builder.say_hello(stage)
    for number in range(1, len(heads) + 1):
        app.round(hub.labelled(number))
    builder.work(stage)
    app.round()
    checks = {check["head_sha"]: check for check in hub.checks.values()}
    assert {name: checks[head]["conclusion"] for name, head in heads.items()} == {
        "mends it": "success",
        "can't be imported": "neutral",
        "is late": "neutral",
    }
    reasons = {name: checks[head]["output"]["summary"] for name, head in heads.items()}
    assert "no longer with this pull request" in reasons["mends it"]
    assert "the head gave no clear answer" in reasons["can't be imported"]
    assert "not seen on the base" in reasons["is late"]
