"""The file that repeats a cell: the script unchanged, settings around it, the right answer, and nothing of
a stranger as code of ours.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from held_values import showing
from hostile_web import EVIL, Hostile
from html_page import Page, faults
from hypothesis import example, given
from hypothesis import strategies as st
from running_web import Web
from stage import result

from app.runs.submission.submit import Submission, submit
from app.targets.target import Target
from worker.contract import Device, Observation, Outcome
from worker.contract.programs.repeat import MOST_PRINTED, RecordedAttempt, repeat_program

SCRIPT = "import os\nprint('threads', os.environ.get('OMP_NUM_THREADS'), os.environ['PYTHONHASHSEED'])\nprint('sum', 5)\n"  # noqa: E501


def run_it(program: str, folder: Path, *, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    path = folder / "repeat.py"
    path.write_text(program)
    return subprocess.run(
        [python, path], capture_output=True, text=True, timeout=120, cwd=folder, check=False
    )


def recorded(**changed: object) -> RecordedAttempt:
    facts = {
        "script": SCRIPT,
        "target": "cpu:threads=1",
        "device": "cpu",
        "settings": {"threads": "1"},
        "hash_seed": "7",
        "exit_status": 0,
    }
    return RecordedAttempt(**{**facts, "stdout": "threads 1 7\nsum 5\n", **changed})  # type: ignore[arg-type]


def test_the_same_is_the_same(tmp_path: Path) -> None:
    done = run_it(repeat_program(recorded()), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "The same result here: yes" in done.stdout
    assert "OMP_NUM_THREADS=1" in done.stdout


@pytest.mark.parametrize(
    "changed",
    [
        {"stdout": "threads 1 7\nsum 6\n"},
        {"exit_status": 1},
        {"exception": "RuntimeError: boom"},
        {"signal": "SIGSEGV"},
    ],
)
def test_something_else_is_not(tmp_path: Path, changed: dict[str, object]) -> None:
    done = run_it(repeat_program(recorded(**changed)), tmp_path)
    assert done.returncode == 1
    assert "The same result here: no" in done.stdout


def test_what_hung_there_is_stopped_here_and_what_it_printed_is_kept(tmp_path: Path) -> None:
    hung = recorded(
        script="print('before')\nimport time\ntime.sleep(60)\n",
        stdout="before\n",
        exit_status=None,
        ended="timed_out",
        seconds=1.2,
    )
    program = repeat_program(hung)
    assert "max(20, " in program
    done = run_it(program.replace("max(20, ", "max(2, "), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the recorded attempt took 1 seconds; this run is stopped after 2" in done.stdout
    assert "\nbefore\n" in done.stdout
    assert "this run was stopped too" in done.stdout
    # With all that it started, and however far it came.
    script = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(77)'])\nwhile True: print('on')\n"  # noqa: E501
    endless = recorded(script=script, stdout="on\n" * 9, exit_status=None, ended="timed_out", seconds=1.2)
    done = run_it(repeat_program(endless).replace("max(20, ", "max(2, "), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not [
        one
        for one in psutil.process_iter(["cmdline"])
        if "import time; time.sleep(77)" in (one.info["cmdline"] or [])
    ]
    ended = run_it(repeat_program(recorded(ended="timed_out", seconds=1.2, exit_status=None)), tmp_path)
    assert ended.returncode == 1
    assert "this run ended by itself" in ended.stdout


def test_what_ran_out_of_memory_is_told_apart_by_that(tmp_path: Path) -> None:
    facts = {"stdout": "", "exit_status": None, "signal": "SIGKILL", "ended": "out_of_memory", "seconds": 1.0}
    done = run_it(repeat_program(recorded(script="raise MemoryError\n", **facts)), tmp_path)
    assert done.returncode == 0
    assert "this run has no limit" in done.stdout
    assert "Out of memory: the recorded attempt yes, this run yes" in done.stdout
    assert run_it(repeat_program(recorded(script="pass\n", **facts)), tmp_path).returncode == 1


def test_a_package_that_is_missing_here_is_no_answer(tmp_path: Path) -> None:
    lacking = recorded(script="import no_such_thing.part\n", packages={"no_such_thing": "1.5+cpu"})
    done = run_it(repeat_program(lacking), tmp_path)
    assert done.returncode == 2
    assert "no_such_thing is not installed here. Install no_such_thing==1.5 " in done.stdout
    assert "The same result" not in done.stdout
    caught = "import sys, traceback\ntry:\n    import no_such_thing\nexcept ImportError:\n    traceback.print_exc()\nprint('sum', 5)\n"  # noqa: E501
    assert run_it(repeat_program(recorded(script=caught, stdout="sum 5\n")), tmp_path).returncode == 0
    # There it was missing, too: that is what is compared.
    error = "ModuleNotFoundError: No module named 'no_such_thing'"
    same = recorded(script="import no_such_thing\n", exit_status=1, exception=error, stdout="")
    assert run_it(repeat_program(same), tmp_path).returncode == 0


def test_an_error_that_was_not_there_is_named(tmp_path: Path) -> None:
    done = run_it(repeat_program(recorded(script="raise ValueError('at last')\n")), tmp_path)
    assert "Error here:     ValueError: at last" in done.stdout


def test_what_happens_now_and_then_says_how_often(tmp_path: Path) -> None:
    done = run_it(repeat_program(recorded(stdout="sum 6\n", matched=7, of=20)), tmp_path)
    assert "The same result in this run: no" in done.stdout
    assert "The recorded run shows it in 7 of 20 attempts." in done.stdout
    assert "One run proves little: run this several times." in done.stdout
    assert "attempts" not in run_it(repeat_program(recorded()), tmp_path).stdout


def test_of_a_flaky_cell_an_attempt_that_shows_it_is_repeated(web: Web) -> None:
    web.stage.node("n")
    request = Submission(script="import random\nprint(random.random())\n", claim="It prints 7", repeats=3)
    with web.stage.session() as session:
        run = submit(session, request, settings=web.stage.settings).document
    numbers = iter(("0.17\n", "6\n", "7\n"))
    while attempts := web.stage.dispatch():
        for attempt in sorted(attempts, key=lambda attempt: attempt.attempt_id):
            stdout = "7\n" if attempt.kind == "preview" else next(numbers, "0.17\n")
            seen = Observation(exit_status=0, stdout=stdout)
            web.stage.say(
                result(attempt, node="n", outcome=Outcome.COMPLETED, observation=seen, kind=attempt.kind)
            )
    [job] = web.stage.run(run.id).jobs
    assert (job.verdict, job.matched) == ("flaky", 1)
    program = web.client.get(f"/jobs/{job.id}/repeat.py").text
    assert "'stdout': '7\\n'" in program
    assert f"'of': {job.of}" in program


def test_an_error_is_looked_for_by_its_words(tmp_path: Path) -> None:
    raised = recorded(
        script="raise ValueError('at 0x7f0012345678')\n",
        exit_status=1,
        exception="ValueError: at 0x7fffffffffff",
        stdout="",
    )
    assert run_it(repeat_program(raised), tmp_path).returncode == 0


def test_a_long_text_is_compared_by_its_digest(tmp_path: Path) -> None:
    printed = "x" * (MOST_PRINTED + 1) + "\n"
    digest = "sha256:" + hashlib.sha256(printed.encode()).hexdigest()
    long = recorded(script=f"print('x' * {MOST_PRINTED + 1})\n", stdout=printed, stdout_digest=digest)
    program = repeat_program(long)
    assert len(program) < MOST_PRINTED
    assert run_it(program, tmp_path).returncode == 0


@pytest.mark.sandbox
def test_settings_of_torch_hold(tmp_path: Path, toolchains: Path, toolchain: str) -> None:
    script = "import torch, sys\nprint(torch.are_deterministic_algorithms_enabled(), torch.initial_seed(), sys.argv[1:], __name__)\n"  # noqa: E501
    target = recorded(
        script=script, settings={"deterministic": "on", "seed": "11"}, stdout="True 11 [] __main__\n"
    )
    done = run_it(repeat_program(target), tmp_path, python=str(toolchains / toolchain / "bin" / "python"))
    assert "The same result here: yes" in done.stdout, done.stdout + done.stderr


@given(st.text(max_size=60), st.text(max_size=30))
@example('"""\n"); import os  # \\', "1\n# ///\nimport os")
@example("\ud800\r\x00\x85\u2028", "\n")
def test_what_strangers_wrote_is_data(text: str, version: str) -> None:
    program = repeat_program(
        recorded(
            script=text,
            stdout=text,
            exception=text,
            hash_seed=text,
            python=version,
            packages={text: version, "torch": version},
            facts={text: version},
            ended=text,
            address=text,
        )
    )
    assert program.isascii()
    tree = ast.parse(program)
    plain = ast.parse(repeat_program(recorded(script="")))
    assert [type(node) for node in tree.body] == [type(node) for node in plain.body]
    [script] = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "SCRIPT"
    ]  # type: ignore[attr-defined]
    assert ast.literal_eval(script) == text
    outside = [line for line in program.splitlines() if line.startswith("#")]
    assert all(
        line
        in {
            "#!/usr/bin/env python3",
            "# /// script",
            "# dependencies = [",
            "# ]",
            "# ///",
            "# The script, line by line, unchanged.",
        }
        or line.startswith(('#   "', "# requires-python"))
        for line in outside
    )


def test_versions_are_pinned_as_tools_read_them() -> None:
    program = repeat_program(
        recorded(python="3.12.3", packages={"torch": "2.13.0+cpu", "numpy": "2.5.2", "x y": "1", "z": "1\n#"})
    )
    assert (
        '# requires-python = "==3.12.*"\n# dependencies = [\n#   "numpy==2.5.2",\n#   "torch==2.13.0",\n# ]\n# ///'  # noqa: E501
        in program
    )


def test_every_cell_offers_its_command_and_its_file(web: Web, tmp_path: Path) -> None:
    web.stage.node("n")
    with web.stage.session() as session:
        targets = (Target(device=Device.CPU, settings={"threads": "1"}),)
        request = Submission(script="print('sum', 5)\n", claim="prints 6", targets=targets, repeats=1)
        run = submit(session, request, settings=web.stage.settings).document
    job = f"/jobs/{run.jobs[0].id}"
    waiting = web.client.get(job)
    assert (waiting.status_code, list(faults(waiting.text))) == (200, [])
    assert web.client.get(f"{job}/repeat.py").status_code == 409
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED, observation=showing("sum 5\n")))
    page = Page(web.client.get(job).text)
    assert "samehere reproduce FILE --target cpu@torch-2.13-cpu:threads=1" in page.text
    answer = web.client.get(f"{job}/repeat.py")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "The same result here: yes" in run_it(answer.text, tmp_path).stdout
    report = Page(web.client.get(f"/reports/{run.report.id}").text)
    assert {link.attributes["href"] for link in report.all("a")} >= {job, f"{job}/repeat.py"}


def test_a_hostile_cell_is_whole(hostile: Hostile) -> None:
    report = Page(hostile.page("report"))
    jobs = {
        link.attributes["href"] for link in report.all("a") if link.attributes["href"].startswith("/jobs/")
    }
    pages = [link for link in jobs if not link.endswith(".py")]
    assert pages
    for path in pages:
        source = hostile.client.get(path).text
        assert list(faults(source)) == []
        assert "<script>alert" not in source
        program = hostile.client.get(f"{path}/repeat.py")
        assert program.status_code == 200
        ast.parse(program.text)
        assert EVIL not in program.text
