"""Builds use only wheels, are shared by names with the same lock, and have the same bytes everywhere."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_wheels import make_source, make_wheel

from worker.contract import ToolchainFacts
from worker.toolchains import ToolchainError, ToolchainStore
from worker.toolchains.build import add, rebuild
from worker.toolchains.limits import Budget, BuildLimits
from worker.toolchains.locking.lock import read_lock, write_lock

# Modules whose bytecode tends to vary: it has names that other modules also have, and sets of constants.
MODULE = """
WORDS = {{'alpha', 'beta', 'gamma', 'delta', {number}}}
def shared(self, value, *, number={number}):
    "Says what it does."
    if value in {{'alpha', 'beta', 'gamma', 'delta'}}: return self.shared(value, number=number)
    return [each for each in WORDS if each not in (1, 2.5, 'alpha', None)]
"""


def many_modules(count: int) -> dict[str, str | bytes]:
    return {
        f"many/{'__init__' if not number else f'part{number}'}.py": MODULE.format(number=number)
        for number in range(count)
    }


def budget() -> Budget:
    return Budget(BuildLimits())


def facts_of(store: ToolchainStore, name: str) -> ToolchainFacts:
    return next(facts for facts in store.list() if facts.name == name)


def printed(store: ToolchainStore, name: str, program: str) -> str:
    return subprocess.run(
        [facts_of(store, name).python, "-c", program], capture_output=True, text=True, check=True
    ).stdout


def files_of(folder: Path) -> dict[str, str]:
    """Digests of all files, except those that contain their own paths."""
    own = {"samehere-toolchain.json"}
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in own
    }


def other_store(tmp_path: Path, name: str) -> ToolchainStore:
    return ToolchainStore(tmp_path / name)


def test_two_builds_give_the_same_bytes(store: ToolchainStore, wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "many", files=many_modules(60))
    other = other_store(tmp_path, "elsewhere")
    for each in (store, other):
        add(each, "x", requirements=["many"])
    first, second = (files_of(each.folder("x").resolve()) for each in (store, other))
    assert first == second
    assert sum(name.endswith(".pyc") for name in first) > 60
    manifests = [each.read_manifest("x") for each in (store, other)]
    assert manifests[0] is not None
    assert manifests[1] is not None
    assert manifests[0].files_digest == manifests[1].files_digest


def test_what_was_resolved_stays_so(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing", "1.0")
    add(store, "x", requirements=["thing"], build=False)
    assert (facts_of(store, "x").state, facts_of(store, "x").packages) == ("locked", {"thing": "1.0"})
    make_wheel(wheels, "thing", "2.0")
    rebuild(store, "x", budget=budget())
    assert (facts_of(store, "x").state, facts_of(store, "x").packages) == ("ready", {"thing": "1.0"})
    add(store, "y", requirements=["thing"])
    assert facts_of(store, "y").packages == {"thing": "2.0"}


def test_a_lock_is_built_again_elsewhere(
    store: ToolchainStore, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(wheels, "thing", requires=["other"])
    make_wheel(wheels, "other")
    add(store, "x", requirements=["thing"])
    recipe = store.read_recipe("x")
    assert recipe is not None
    text = write_lock(recipe.lock)
    # The other node has the wheels in another folder, with newer ones beside them.
    moved = wheels.rename(tmp_path / "moved")
    monkeypatch.setenv("PIP_FIND_LINKS", str(moved))
    make_wheel(moved, "other", "3.0")
    other = other_store(tmp_path, "elsewhere")
    add(other, "renamed", lock=read_lock(text))
    assert files_of(other.folder("renamed").resolve()) == files_of(store.folder("x").resolve())
    assert facts_of(other, "renamed").packages == {"other": "1.0", "thing": "1.0"}


def test_a_wheel_that_was_exchanged_is_refused(store: ToolchainStore, wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "thing")
    add(store, "x", requirements=["thing"])
    recipe = store.read_recipe("x")
    assert recipe is not None
    make_wheel(wheels, "thing", files={"thing.py": "VERSION = 'another'\n"})
    other = other_store(tmp_path, "elsewhere")
    with pytest.raises(ToolchainError, match=r"(?i)hash"):
        add(other, "x", lock=recipe.lock)
    assert facts_of(other, "x").state == "failed"
    assert other.find("x") is None


def test_equal_packages_are_the_same_files(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "large", files={"large.py": "X = 1\n", "large.dat": os.urandom(300_000)})
    make_wheel(wheels, "thing")
    add(store, "a", requirements=["large"])
    before = _disk(store.root)
    add(store, "b", requirements=["large", "thing"])
    one, two = (next(store.folder(name).glob("lib/python*/site-packages/large.dat")) for name in ("a", "b"))
    assert one.samefile(two)
    compiled = [
        next(store.folder(name).glob("lib/python*/site-packages/__pycache__/large*.pyc"))
        for name in ("a", "b")
    ]
    assert compiled[0].samefile(compiled[1])
    assert _disk(store.root) - before < 100_000
    add(store, "c", requirements=["thing", "large"])
    assert store.folder("b").resolve() == store.folder("c").resolve()


def _disk(folder: Path) -> int:
    sizes = {
        (status.st_ino): status.st_size
        for path in folder.rglob("*")
        if path.is_file() and (status := path.lstat())
    }
    return sum(sizes.values())


def test_files_cannot_be_written(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    add(store, "x", requirements=["thing"])
    folder = store.folder("x").resolve()
    writable = [
        path
        for path in (folder / "lib").rglob("*")
        if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o222
    ]
    assert writable == []


def test_commands_find_their_python_wherever_they_are_shown(
    store: ToolchainStore, wheels: Path, tmp_path: Path
) -> None:
    make_wheel(
        wheels,
        "tool",
        files={"tool.py": "import sys\ndef main(): print(sys.prefix)\n"},
        commands={"tool": "tool:main"},
    )
    add(store, "x", requirements=["tool"])
    command = store.folder("x") / "bin" / "tool"
    assert str(store.root) not in command.read_text()
    (tmp_path / "shown").symlink_to(store.folder("x").resolve())
    for place in (store.folder("x"), tmp_path / "shown"):
        process = subprocess.run([place / "bin" / "tool"], capture_output=True, text=True, check=True)
        assert Path(process.stdout.strip()).resolve() == store.folder("x").resolve()


def test_nothing_of_a_package_runs_while_it_is_built(
    store: ToolchainStore, wheels: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    source = make_source(wheels, "sly", marker)
    with pytest.raises(ToolchainError, match="sly"):
        add(store, "x", requirements=["sly"])
    for required in (
        str(source),
        f"{source}.tar.gz",
        f"sly @ file://{source}",
        "sly @ git+https://example.org/sly",
        "--editable=.",
    ):
        with pytest.raises(ToolchainError):
            add(store, "y", requirements=[required])
    # Not even by the address that a wheel gives for a dependency.
    make_wheel(wheels, "innocent", requires=[f"sly @ file://{source}.tar.gz"])
    with pytest.raises(ToolchainError, match="only wheels"):
        add(store, "y", requirements=["innocent"])
    # Neither start-up files of the interpreter, nor modules at a place where Python looks for its own.
    runs = f"open({str(marker)!r}, 'w')\n"
    files = {
        "zz.pth": f"import os; {runs}",
        "thing.py": runs,
        "json.py": runs,
        "py_compile.py": runs,
        "sitecustomize.py": runs,
    }
    data = {f"thing-1.0.data/data/{name}": runs for name in ("py_compile.py", "importlib.py", "json.py")}
    make_wheel(wheels, "thing", files={**files, **data})
    add(store, "z", requirements=["thing"])
    assert facts_of(store, "z").state == "ready"
    assert not marker.exists()


def test_a_wheel_is_a_requirement(store: ToolchainStore, tmp_path: Path, wheels: Path) -> None:
    wheel = make_wheel(tmp_path / "mine", "thing", "7.0")
    add(store, "x", requirements=[str(wheel)])
    assert facts_of(store, "x").packages == {"thing": "7.0"}


def test_python_is_named_by_its_version(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    add(store, "x", requirements=["thing"], python=minor)
    assert printed(store, "x", "import thing, sys; print(sys.version)").startswith(f"{minor}.")
    with pytest.raises(ToolchainError, match=r"no Python 3\.99"):
        add(store, "y", requirements=["thing"], python="3.99")


def test_the_same_wanted_at_once_is_built_once(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "many", files=many_modules(200))
    words = [
        [sys.executable, "-P", "-m", "worker", "toolchain", "add", name, "many"] for name in ("a", "b", "c")
    ]
    variables = {**os.environ, "SAMEHERE_TOOLCHAINS": str(store.root)}
    running = [subprocess.Popen(each, env=variables, stdout=subprocess.DEVNULL) for each in words]
    assert [each.wait(120) for each in running] == [0, 0, 0]
    assert len({store.folder(name).resolve() for name in "abc"}) == 1
    assert (
        len(list((store.root / ".built").glob("*/*"))) == len(list((store.root / ".packages").iterdir())) == 1
    )


def test_a_build_that_is_killed_leaves_nothing_that_counts(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "many", files=many_modules(3000))
    variables = {**os.environ, "SAMEHERE_TOOLCHAINS": str(store.root)}
    words = [sys.executable, "-P", "-m", "worker", "toolchain", "add", "x", "many"]
    with subprocess.Popen(words, env=variables) as process:
        deadline = time.monotonic() + 60
        while (
            not list((store.root / ".building").glob("package-*/package/tree/lib/**/part9.py"))
            and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert (facts_of(store, "x").state, store.find("x")) == ("failed", None)
    assert "interrupted" in facts_of(store, "x").detail
    assert not (store.root / ".packages").exists()
    add(store, "x", requirements=["many"])
    assert Path(printed(store, "x", "import many.part2999 as m; print(m.__cached__)").strip()).is_file()


def test_one_without_a_lock_serves_until_it_is_built_anew(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    add(store, "old", requirements=["thing"])
    # Like toolchains of older versions: a real folder, and no recipe.
    real = store.folder("old").resolve()
    store.folder("old").unlink()
    real.rename(store.folder("old"))
    (store.root / ".recipes" / "old.json").unlink()
    stored = store.find("old")
    assert stored is not None
    assert stored.folder == store.folder("old")
    add(store, "old", requirements=["thing"])
    assert store.read_recipe("old") is None
    rebuild(store, "old", budget=budget())
    assert store.folder("old").is_symlink()
    assert not list((store.root / ".building").iterdir())
    assert store.read_recipe("old") is not None
    assert facts_of(store, "old").packages == {"thing": "1.0"}


def test_what_a_link_leads_to_elsewhere_is_used_as_well(
    store: ToolchainStore, wheels: Path, tmp_path: Path
) -> None:
    make_wheel(wheels, "thing")
    elsewhere = other_store(tmp_path, "elsewhere")
    add(elsewhere, "x", requirements=["thing"])
    store.root.mkdir(parents=True, exist_ok=True)
    store.folder("x").symlink_to(elsewhere.folder("x").resolve())
    with store.use("x") as used:
        assert used is not None
        assert used.folder == elsewhere.folder("x").resolve()
        assert printed(store, "x", "import thing") == ""
    assert store.last_used(used.folder) > 0
