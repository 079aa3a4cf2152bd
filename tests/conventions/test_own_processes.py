"""Every process of ours starts with a command, an environment and a folder that `own_process` knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conventions.source_trees import modules_of, named

from app.settings import ServiceSettings
from worker.contract.own_process import OWN_PATHS
from worker.machine.settings import NodeSettings

ROOT = Path(__file__).parents[2]
# Programs that run elsewhere: inside the sandbox, or in the Python of a reporter.
ELSEWHERE = ("worker/harness/", "worker/contract/programs/")
# Where the path of our interpreter may be named, and why.
NAMES_OUR_PYTHON = {
    "worker/contract/own_process.py": "the one place that makes commands",
    "worker/toolchains/venv.py": "a candidate for the base of a toolchain, asked with -I",
    "worker/sandbox/isolation/bubblewrap.py": "pid 1 inside the sandbox",
}
# Replace this process by the program that it was started for.
MAY_REPLACE_ITSELF = {
    "app/command/node.py",
    "app/command/service/serve.py",
    "app/embedded/launch.py",
    "worker/sandbox/process/init.py",
}
STARTS = {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"}
OTHER_STARTS = re.compile(
    r"os\.(?:exec|spawn|posix_spawn|system|popen)\w*|multiprocessing\b.*|asyncio\.create_subprocess\w*"
)


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in modules_of("app", "worker", "migrations"):
        if not named(path).startswith(ELSEWHERE):
            yield named(path), ast.parse(path.read_text())


def faults(name: str, tree: ast.Module) -> Iterator[str]:
    """The places of a module that start a process past `own_process`."""
    for node in ast.walk(tree):
        place = f"{name}:{getattr(node, 'lineno', 0)}"
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "executable"
            and ast.unparse(node) == "sys.executable"
            and name not in NAMES_OUR_PYTHON
        ):
            yield f"{place} names sys.executable: take a command of own_process"
        if isinstance(node, ast.ImportFrom) and node.module in {"subprocess", "os", "multiprocessing"}:
            yield f"{place} imports from {node.module}: the module's name has to stand at each start"
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.startswith("subprocess.") and called.removeprefix("subprocess.") in STARTS:
                given = {word.arg: ast.unparse(word.value) for word in node.keywords}
                if "cwd" not in given or "env" not in given:
                    yield f"{place} starts a process without `cwd` and `env`"
                elif re.search(r"\benviron\b", given["env"]):
                    yield f"{place} passes this process's variables on: take own_environment()"
            elif OTHER_STARTS.fullmatch(called) and name not in MAY_REPLACE_ITSELF:
                yield f"{place} starts a process by {called}"


def test_no_process_starts_past_own_process() -> None:
    assert [fault for name, tree in sources() for fault in faults(name, tree)] == []


@pytest.mark.parametrize(
    "start",
    [
        "subprocess.run([sys.executable, '-m', 'worker'], cwd='/', env={})",
        "subprocess.Popen(['uv'], env=own_environment())",
        "subprocess.run(['uv'], cwd='/')",
        "subprocess.check_output(['uv'], cwd='/', env={**os.environ})",
        "from subprocess import run",
        "os.system('uv')",
        "os.execve('/bin/uv', [], {})",
        "multiprocessing.Process(target=main)",
    ],
)
def test_a_start_past_it_is_found(start: str) -> None:
    assert list(faults("app/new.py", ast.parse(start)))


def test_the_exemptions_are_used() -> None:
    for name in (*NAMES_OUR_PYTHON, *MAY_REPLACE_ITSELF):
        assert list(faults("app/new.py", ast.parse((ROOT / name).read_text()))), name


def test_every_path_among_the_settings_is_made_absolute() -> None:
    """A process of ours has another working folder than the user who set a relative path."""
    paths = {
        f"SAMEHERE_{name.upper()}"
        for settings in (ServiceSettings, NodeSettings)
        for name, field in settings.model_fields.items()
        if "Path" in str(field.annotation)
    }
    assert paths == OWN_PATHS


def starts_without_p(text: str) -> list[str]:
    """The starts of a module or of code, in the words of a shell or as a list, that lack `-P`."""
    # pytest is for developers, and imports the folder of the tests.
    return re.findall(r"python\b[\s,]+-[mc]\b(?!,? pytest).*", re.sub(r"[\"']", "", text))


@pytest.mark.parametrize("start", ["python -m worker node", 'CMD ["python", "-c", "import app"]'])
def test_a_start_without_p_is_found(start: str) -> None:
    assert starts_without_p(start)


@pytest.mark.parametrize("name", ["Dockerfile", "docker-compose.yml", "Makefile"])
def test_files_that_start_python(name: str) -> None:
    assert starts_without_p((ROOT / name).read_text()) == []


@pytest.mark.parametrize("folder", ["bench", "demo", "tests"])
def test_helpers_start_our_modules_with_p(folder: str) -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*.py")
        if path != Path(__file__)
        and re.search(r'(?:executable|python"\)), "-m", "(?:app|worker)', path.read_text())
    ]
    assert wrong == []
