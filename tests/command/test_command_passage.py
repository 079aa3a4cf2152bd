"""Reports whose failure is gone, or is only hidden, in the real sandbox: a "no" was seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from default_limits import read
from running_service import share_environments

from app.runs.local.run import LocalOptions, run_locally
from app.runs.run_object.document import JobPart, RunDocument
from app.targets.planning.run_request import RunRequest
from worker.contract import AttemptKind, Limits

pytestmark = pytest.mark.sandbox

THREAD = (
    "import threading\ndef work():\n    int('1')\n"
    "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n"
)


class Silent:
    """A progress that reports nothing."""

    def __getattr__(self, _name: str) -> Any:
        return lambda *_arguments: None


@pytest.fixture(autouse=True)
def _own_home(home: Path, toolchains: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share_environments(home)
    monkeypatch.setenv("SAMEHERE_HOME", str(home))
    monkeypatch.setenv("SAMEHERE_TOOLCHAINS", str(toolchains))
    monkeypatch.setenv("SAMEHERE_SLOTS", "1")


def run(script: str, line: str, failure: str) -> RunDocument:
    traceback = (
        f'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    {line}\n{failure}'
    )
    report = f"# it fails\n\n```python\n{script}```\n\n```\n{traceback}\n```\n"
    options = LocalOptions(limits=Limits(wall_seconds=60.0))
    request = RunRequest(repeats=1)
    return run_locally(read(report), request, options, progress=Silent()).document


def outcomes_of(job: JobPart) -> list[dict[str, Any]]:
    """What a failed test prints, so that a rare failure can be understood from its output."""
    shown = {"id", "kind", "state", "outcome", "reason", "stderr", "exit_status"}
    return [attempt.model_dump(include=shown) for attempt in job.attempts]


@pytest.mark.parametrize(
    ("script", "line", "verdict", "reason"),
    [
        ("x = int('1')\n", "x = int('1')", "not_reproduced", "point_passed"),
        ("try:\n    int('x')\nexcept ValueError:\n    pass\n", "int('x')", "different", "other_failure"),
        (
            "def f():\n    raise ValueError('bad')\nprint(False and f())\n",
            "print(False and f())",
            "cannot_show",
            "point_not_seen",
        ),
        ("import os\nif os.cpu_count() == 0:\n    int('x')\n", "int('x')", "cannot_show", "point_not_seen"),
        (
            "for text in ('1', 'x'):\n    try:\n        int(text)\n    except ValueError:\n        break\n",
            "int(text)",
            "different",
            "other_failure",
        ),
        (
            THREAD,
            "int('1')",
            "not_reproduced",
            "point_passed",
        ),
    ],
    ids=["passed", "swallowed", "short_circuit", "branch_never_taken", "loop", "thread"],
)
def test_a_no_was_seen(script: str, line: str, verdict: str, reason: str) -> None:
    job = run(script, line, "ValueError: bad").jobs[0]
    assert job.reason is not None
    assert (job.verdict, job.reason.code) == (verdict, reason), outcomes_of(job)
    kinds = [(attempt.kind, attempt.counted) for attempt in job.attempts]
    assert kinds == [(AttemptKind.REPEAT, True), (AttemptKind.PASSAGE, False)]


def test_printed_text_that_shows_the_passage_needs_no_passage_check() -> None:
    job = run("print(int('1'))\n", "print(int('1'))", "ValueError: bad").jobs[0]
    assert (job.verdict, [attempt.kind for attempt in job.attempts]) == (
        "not_reproduced",
        [AttemptKind.REPEAT],
    )


def test_a_bug_that_is_there_needs_no_passage_check() -> None:
    job = run("int('x')\n", "int('x')", "ValueError: invalid literal for int() with base 10: 'x'").jobs[0]
    assert (job.verdict, [attempt.kind for attempt in job.attempts]) == ("reproduced", [AttemptKind.REPEAT])
