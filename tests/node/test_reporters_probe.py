"""`probe.py`, as a reporter has it: one file, in a Python that is not ours, not only on Linux, with nothing
private in what it prints.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.intake.probe_output import ReportersProbe, without_probes
from worker.contract.programs.probe import probe_program
from worker.harness import reporter_sources
from worker.harness.scrub import Scrubber

PYTHONS = sorted(
    {
        os.path.realpath(found)
        for found in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin"))
        if found
    }
)
SECRET = "ada-lovelace"
RAISES = """\
import os, sys
print("hello", os.environ.get("PYTHONPATH"), sys.argv[1:], [entry for entry in sys.path if "probe-" in entry])
loss = 1.5
count = 3
raise RuntimeError("boom in " + os.path.abspath(__file__))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A home whose name says who lives there, with the program in it."""
    home = tmp_path / SECRET
    home.mkdir()
    (home / "probe.py").write_text(probe_program())
    return home


def run(
    place: Path,
    script: str | None,
    *arguments: str,
    python: str = sys.executable,
    variables: Mapping[str, str] | None = None,
) -> str:
    words = [python, "probe.py"]
    if script is not None:
        (place / "my folder").mkdir(exist_ok=True)
        (place / "my folder" / "script.py").write_text(script)
        words += ["my folder/script.py", *arguments]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "USER": SECRET,
        "LOGNAME": SECRET,
        **(variables or {}),
    }
    done = subprocess.run(
        words, cwd=place, env=environment, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def block(printed: str) -> str:
    start = printed.index("```samehere-probe")
    return printed[start : printed.index("\n```\n", start) + 5]


def read(printed: str) -> ReportersProbe:
    rest, probe = without_probes(f"Before.\n\n{block(printed)}\nAfter.\n")
    assert probe is not None
    assert rest.split() == ["Before.", "After."]
    return probe


def test_it_is_python_3_8_and_imports_the_standard_library_alone() -> None:
    tree = ast.parse(probe_program(), feature_version=(3, 8))
    for source in reporter_sources().values():
        ast.parse(source, feature_version=(3, 8))
    names = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert names <= sys.stdlib_module_names


def test_it_is_made_of_what_a_node_runs_word_for_word() -> None:
    names: dict[str, Any] = {"__name__": "not main"}
    exec(compile(probe_program(), "probe.py", "exec"), names)  # noqa: S102
    sources = reporter_sources()
    del sources["program.py"]
    assert names["SOURCES"] == sources


@pytest.mark.parametrize("python", PYTHONS)
def test_what_happens_is_told_and_read_back(place: Path, python: str) -> None:
    probe = read(run(place, RAISES, "one", "two words", python=python))
    assert probe.whole
    assert (probe.exit_status, probe.signal) == (1, None)
    assert probe.exception is not None
    assert (probe.exception.type, probe.exception.message) == ("RuntimeError", "boom in .../script.py")
    # The script found its variables, its words and its path as they would have been by hand.
    assert probe.stdout == "hello None ['one', 'two words'] []\n"
    assert "Traceback (most recent call last):" in probe.stderr
    assert "probe-" not in probe.stderr
    assert {value.name: (value.dtype, value.digest[:7]) for value in probe.values} == {
        "loss": ("float", "sha256:"),
        "count": ("int", "sha256:"),
    }
    assert probe.environment["os.machine"] == platform.machine()
    if python == os.path.realpath(sys.executable):
        assert probe.environment["python.version"] == platform.python_version()


@pytest.mark.parametrize(
    ("script", "status", "name"),
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", None, "SIGSEGV"),
        ("raise SystemExit(7)\n", 7, None),
        ("x = 1\n", 0, None),
    ],
)
def test_every_end_is_seen(place: Path, script: str, status: int | None, name: str | None) -> None:
    probe = read(run(place, script))
    assert (probe.exit_status, probe.signal, probe.exception, probe.whole) == (status, name, None, True)


def test_an_exception_is_found_where_the_script_left_no_time_for_the_watch(place: Path) -> None:
    script = "import traceback, os\ntry:\n    1 / 0\nexcept Exception:\n    traceback.print_exc()\n    os._exit(1)\n"  # noqa: E501
    probe = read(run(place, script))
    assert probe.exception is not None
    assert (probe.exception.type, probe.exception.message) == ("ZeroDivisionError", "division by zero")


def test_only_the_end_of_a_long_output_is_told(place: Path) -> None:
    probe = read(run(place, "for number in range(100_000):\n    print('line', number, 'x' * 20)\n"))
    assert probe.stdout.endswith("line 99999 xxxxxxxxxxxxxxxxxxxx\n")
    assert (len(probe.stdout) <= 4096, probe.stdout_whole, probe.whole) == (True, False, True)


def test_nothing_tells_who_and_where(place: Path) -> None:
    host = platform.node()
    script = f"""\
import os, platform, uuid
print(os.getcwd(), os.path.expanduser("~"), os.path.expanduser("~/thesis 2/draft.txt"), __file__)
print({SECRET!r}, {SECRET!r}.upper(), platform.node(), uuid.uuid4(), "ada@example.org")
print("/home/someone/else/x.bin", "C:\\\\Users\\\\Someone\\\\x.bin", '"/Users/some one/a b/c.txt"')
name = {SECRET!r}
print("3/4 of 1/2, and torch/nn/functional.py, and /usr/lib/python3/dist-packages/torch/x.py stay")
open("/home/{SECRET}/nothing here.txt")
"""
    printed = block(run(place, script, variables={"PYTORCH_CUDA_ALLOC_CONF": str(place)}))
    told = " ".join(
        json.loads(line.partition(" = ")[2])
        for line in printed.splitlines()
        if line.startswith(("stdout", "stderr", "outcome exc"))
    )
    for text in (printed, told):
        assert SECRET not in text.lower()
        assert not re.search(
            r"someone|some one|thesis|my folder|example\.org|[0-9a-f]{8}-[0-9a-f]{4}-", text, re.IGNORECASE
        ), text
        assert len(host) < 4 or host == "localhost" or host not in text
    assert (
        "3/4 of 1/2, and torch/nn/functional.py, and /usr/lib/python3/dist-packages/torch/x.py stay" in told
    )
    assert "variable.PYTORCH_CUDA_ALLOC_CONF" not in printed
    assert "nothing here.txt" in told


def test_a_block_is_nothing_that_markdown_or_a_mail_could_change(place: Path) -> None:
    printed = block(run(place, "print('``` <b>&amp; @someone “quoted” é')\n"))
    inside = printed.strip().split("\n")[1:-1]
    assert all(line.isascii() and not set("`<>&@") & set(line) for line in inside)
    assert read(printed).stdout == "``` <b>&amp; @someone “quoted” é\n"


def test_packages_of_nobody_elses_business_are_left_out(place: Path) -> None:
    probe = read(run(place, "import psutil\n"))
    packages = {name for name in probe.environment if name.startswith("package.")}
    assert "package.psutil" in packages
    assert "package.pytest" not in packages


def test_without_a_script_there_is_the_environment_alone(place: Path) -> None:
    printed = run(place, None)
    probe = read(printed)
    assert (probe.ran, probe.whole) == (False, True)
    assert probe.environment["os.machine"] == platform.machine()
    assert "python probe.py script.py" in printed


def test_in_a_cell_the_script_stands_at_its_top(place: Path) -> None:
    """A notebook executes the text without a file, with words on the command line that are not ours."""
    text = probe_program().replace("SCRIPT = r'''\n'''", "SCRIPT = r'''\nprint(\"from a cell\")\n'''", 1)
    assert text != probe_program()
    kernel = "import sys\nsys.argv = ['ipykernel_launcher.py', '-f', 'kernel.json']\n"
    cell = f"{kernel}exec(compile({text!r}, '<cell>', 'exec'), {{'__name__': '__main__'}})\n"
    done = subprocess.run(
        [sys.executable, "-"], input=cell, cwd=place, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr
    assert read(done.stdout).stdout == "from a cell\n"


def test_a_file_that_is_not_there(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, "probe.py", "nothing.py"],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, "There is no file" in done.stdout) == (2, True)


def test_a_start_up_file_of_the_reporters_own_still_starts(place: Path) -> None:
    (place / "own").mkdir()
    (place / "own" / "sitecustomize.py").write_text("import builtins\nbuiltins.mine = 'started'\n")
    probe = read(
        run(
            place,
            "import os\nprint(mine, os.environ['PYTHONPATH'] == os.path.abspath('own'))\n",
            variables={"PYTHONPATH": str(place / "own")},
        )
    )
    assert probe.stdout == "started True\n"


MACOS = """\
machdep.cpu.brand_string: Apple M2 Pro
machdep.cpu.family: 0
hw.optional.arm.FEAT_BF16: 1
hw.optional.arm.FEAT_I8MM: 0
hw.optional.arm.FEAT_DotProd: 1
hw.optional.AdvSIMD: 1
"""
# A Mac, as the program sees it: no /proc, no os-release, another platform, and its own tool.
ELSEWHERE = """\
import builtins, os, platform, sys
opened = builtins.open
def no_proc(path, *rest, **more):
    if str(path).startswith(("/proc", "/usr/lib/os-release")):
        raise FileNotFoundError(path)
    return opened(path, *rest, **more)
builtins.open = no_proc
sys.platform = "darwin"
platform.mac_ver = lambda: ("14.5", ("", "", ""), "arm64")
platform.libc_ver = lambda: ("", "")
del os.sched_getaffinity
"""


def test_where_there_is_no_proc_the_system_is_asked_in_its_own_way(place: Path) -> None:
    tools = place / "tools"
    tools.mkdir()
    (tools / "sysctl").write_text(f"#!/bin/sh\ncat <<'END'\n{MACOS}END\n")
    (tools / "sysctl").chmod(0o755)
    program = place / "elsewhere.py"
    program.write_text(ELSEWHERE + reporter_sources()["probe.py"])
    environment = {"PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-S", str(program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    found = json.loads(done.stdout)
    assert (found["os.name"], found["cpu.model"]) == ("macOS 14.5", "Apple M2 Pro")
    assert found["cpu.flags"] == ["asimd", "asimddp", "bf16"]
    assert found["cpu.cores"] == os.cpu_count()
    assert not {"os.libc", "cpu.affinity", "tool.gcc"} & set(found)


def test_where_even_that_is_missing_the_rest_is_told(place: Path) -> None:
    program = place / "elsewhere.py"
    program.write_text(
        ELSEWHERE.replace('"darwin"', '"win32"')
        + "platform.win32_ver = lambda: ('10', '10.0.22631', 'SP0', '')\n"
        + reporter_sources()["probe.py"]
    )
    done = subprocess.run(
        [sys.executable, "-S", str(program)],
        env={"PATH": ""},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    found = json.loads(done.stdout)
    assert (found["os.name"], found["cpu.flags"]) == ("Windows 11 (10.0.22631)", [])
    assert "cpu.model" not in found


def test_what_is_alike_in_two_texts_is_alike_when_it_was_cleaned() -> None:
    scrub = Scrubber(["/home/ada", "D:\\work\\ada"], ["ada-l", "db", "root"])
    assert scrub.clean("/home/ada/x/y.py") == scrub.clean("D:\\work\\ada\\z\\y.py") == ".../y.py"
    assert scrub.clean('File "/home/ada/my work/y.py", line 3') == 'File ".../y.py", line 3'
    assert (
        scrub.clean("/opt/conda/lib/python3.11/site-packages/torch/nn/x.py")
        == ".../site-packages/torch/nn/x.py"
    )
    assert scrub.clean("in /home/ada, db root ADA-L's") == "in ..., db root NAME's"
    assert scrub.clean("x" * 100_000 + "/a" * 50_000) == "x" * 100_000 + "/a" * 50_000
