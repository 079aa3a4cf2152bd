"""Toolchains are built whole or not at all, and an adopted environment is left as it was."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.contract import Attempt, Outcome
from worker.environment import EnvironmentRecorder
from worker.sandbox import Sandbox
from worker.toolchains import ToolchainError, ToolchainStore
from worker.toolchains.adopt import adopt
from worker.toolchains.build import add
from worker.toolchains.store import INSIDE

PACKAGE = "filelock"
WRITES = """
import adopted_thing
print(adopted_thing.VALUE)
try:
    open(adopted_thing.__file__, "a")
except OSError:
    print("refused")
"""


@pytest.fixture
def store(tmp_path: Path) -> ToolchainStore:
    tmp_path.chmod(0o755)
    return ToolchainStore(tmp_path / "toolchains")


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "adopted_thing.py").write_text("VALUE = 42\n")
    info = site / "adopted_thing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: adopted_thing\nVersion: 1.0\n")
    (site / "zz_writes.pth").write_text(
        f"import pathlib; pathlib.Path({str(site / 'written')!r}).write_text('x')\n"
    )
    return folder


def fingerprint(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        + str(path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    } | {
        str(path.relative_to(folder)): str(path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_dir()
    }


def test_a_built_one_runs_and_is_byte_compiled(store: ToolchainStore) -> None:
    add(store, "small", requirements=[PACKAGE])
    facts = store.list()[0]
    assert (facts.name, facts.state) == ("small", "ready")
    assert PACKAGE in facts.packages
    done = subprocess.run(
        [facts.python, "-c", "import filelock, sys; print(filelock.__cached__, sys.prefix)"],
        capture_output=True,
        text=True,
        check=True,
    )
    cached, prefix = done.stdout.split()
    assert Path(cached).is_file()
    assert Path(prefix) == store.root / "small"
    assert not (store.root / ".building" / "small").exists()


def test_the_same_again_is_left_alone_and_another_is_refused(store: ToolchainStore) -> None:
    add(store, "small", requirements=[PACKAGE])
    first = store.find("small")
    add(store, "small", requirements=[PACKAGE, PACKAGE])
    assert store.find("small") == first
    with pytest.raises(ToolchainError, match="other requirements"):
        add(store, "small", requirements=["six"])


def test_a_failure_is_kept_in_the_resolvers_words(store: ToolchainStore) -> None:
    with pytest.raises(ToolchainError, match="no-such-package-of-ours"):
        add(store, "bad", requirements=["no-such-package-of-ours==1"])
    facts = store.list()[0]
    assert facts.state == "failed"
    assert "no-such-package-of-ours" in facts.detail
    assert store.find("bad") is None
    store.remove("bad")
    assert store.list() == []


def test_builders_of_one_name_exclude_each_other(store: ToolchainStore) -> None:
    threads = [
        threading.Thread(target=add, args=(store, "small"), kwargs={"requirements": [PACKAGE]})
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [facts.state for facts in store.list()] == ["ready"]
    assert len(list((store.root / ".built").glob("*/*"))) == 1


def test_an_interrupted_build_is_said(store: ToolchainStore) -> None:
    store.write_state("half", "building")
    assert [(facts.name, facts.state) for facts in store.list()] == [("half", "failed")]
    with store.lock("half"):
        assert store.list()[0].state == "building"


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "UPPER", "x" * 101, "a b"])
def test_names_are_names(name: str, store: ToolchainStore) -> None:
    with pytest.raises(ToolchainError, match="name"):
        add(store, name, requirements=[PACKAGE])
    assert store.find(name) is None


def test_options_are_no_requirements(store: ToolchainStore) -> None:
    with pytest.raises(ToolchainError, match="not options"):
        add(store, "x", requirements=["--index-url=http://example.org"])


@pytest.mark.sandbox
def test_adopting_never_writes_into_what_is_adopted(
    store: ToolchainStore, venv: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    before = fingerprint(venv)
    adopt(store, "theirs", python=venv / "bin" / "python")
    facts = store.list()[0]
    assert facts.packages == {"adopted-thing": "1.0"}
    by_hand = subprocess.run(
        [facts.python, "-B", "-c", "import adopted_thing; print(adopted_thing.VALUE)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert by_hand.stdout == "42\n"
    executor = Executor(Identity("n", "i"), store, EnvironmentRecorder(tmp_path / "cache", probe_seconds=60))
    script = WRITES
    result = executor.execute(
        Attempt(attempt_id="a", script=script, toolchain="theirs"),
        sandbox,
        granted=[],
        cancelled=threading.Event(),
    )
    assert result.outcome is Outcome.COMPLETED
    assert result.observation.stdout == "42\nrefused\n"
    assert adopt(store, "theirs", python=venv / "bin" / "python").build_id == store.find("theirs").build_id  # type: ignore[union-attr]
    assert fingerprint(venv) == before


def test_a_plain_interpreter_can_be_adopted(store: ToolchainStore) -> None:
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    if not base.exists():
        pytest.skip("no base interpreter in its prefix")
    adopt(store, "plain", python=base)
    found = store.find("plain")
    assert found is not None
    done = subprocess.run(
        [found.facts.python, "-B", "-c", "import sys; print(sys.base_prefix)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()).resolve() == Path(sys.base_prefix).resolve()


ELSEWHERE = """
import multiprocessing, subprocess, sys, filelock
if __name__ == "__main__":
    print(sys.executable, sys.prefix, filelock.__file__)
    with multiprocessing.get_context("spawn").Pool(1) as pool: print(pool.map(abs, [-1]))
    print(subprocess.check_output([sys.executable, "-c", "import filelock; print(filelock.__cached__)"], text=True).strip())
    filelock.FileLock(3.5)
"""  # noqa: E501


@pytest.mark.sandbox
def test_inside_its_path_is_not_the_operators(
    store: ToolchainStore, sandbox: Sandbox, tmp_path: Path
) -> None:
    add(store, "small", requirements=[PACKAGE])
    executor = Executor(Identity("n", "i"), store, EnvironmentRecorder(tmp_path / "cache", probe_seconds=60))
    attempt = Attempt(attempt_id="a", script=ELSEWHERE, toolchain="small")
    seen = executor.execute(attempt, sandbox, granted=[], cancelled=threading.Event()).observation
    where, pool, cached = seen.stdout.splitlines()
    assert where.split()[:2] == [f"{INSIDE}/bin/python", INSIDE]
    assert (pool, cached.startswith(INSIDE)) == ("[1]", True)
    # Compiled elsewhere, and still the frames of packages name where they are.
    assert f'File "{INSIDE}/lib/' in seen.stderr
    assert str(store.root) not in seen.stdout + seen.stderr


def test_facts_follow_a_changed_environment(store: ToolchainStore, venv: Path) -> None:
    python = venv / "bin" / "python"
    first = adopt(store, "theirs", python=python)
    info = next(venv.glob("lib/python*/site-packages")) / "late-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 2.0\n")
    again = adopt(store, "theirs", python=python)
    assert again.build_id != first.build_id
    assert again.facts.packages["late"] == "2.0"


def test_what_is_no_interpreter_is_refused(store: ToolchainStore, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="does not exist"):
        adopt(store, "x", python=tmp_path / "nothing")
    (tmp_path / "fake").write_text("not a program")
    with pytest.raises(ToolchainError, match="does not work as a Python interpreter"):
        adopt(store, "x", python=tmp_path / "fake")


def test_the_command_line_lists_as_json(store: ToolchainStore, venv: Path) -> None:
    adopt(store, "theirs", python=venv / "bin" / "python")
    variables = {"SAMEHERE_TOOLCHAINS": str(store.root), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "worker", "toolchain", "list", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env=variables,
    )
    listed = json.loads(done.stdout)
    assert [(entry["name"], entry["state"]) for entry in listed] == [("theirs", "ready")]
    assert Path(listed[0]["python"]).exists()
