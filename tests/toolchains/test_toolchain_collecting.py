"""`prune` removes builds and wheels that were long unused, and nothing that is in use."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from tiny_wheels import make_wheel

from worker.machine.locks import SharedLock
from worker.toolchains import ToolchainError, ToolchainStore
from worker.toolchains.adopt import adopt
from worker.toolchains.build import add, rebuild
from worker.toolchains.collect import prune
from worker.toolchains.limits import Budget, BuildLimits
from worker.toolchains.records import MANIFEST_NAME

DAY = 86_400.0


def age(store: ToolchainStore, name: str, *, days: float) -> None:
    """Set the times of the build and of its last use so many days back."""
    folder = store.folder(name).resolve()
    then = time.time() - days * DAY
    paths = [folder / MANIFEST_NAME, store.use_path(folder), *(store.root / ".packages").iterdir()]
    for path in paths:
        if path.exists():
            os.utime(path, (then, then))


def states(store: ToolchainStore) -> dict[str, str]:
    return {facts.name: facts.state for facts in store.list()}


def test_what_was_not_used_for_long_goes_and_is_built_again_from_its_lock(
    store: ToolchainStore, wheels: Path
) -> None:
    make_wheel(wheels, "thing")
    make_wheel(wheels, "other")
    add(store, "old", requirements=["thing"])
    add(store, "new", requirements=["other"])
    age(store, "old", days=31)
    pruned = prune(store, unused_seconds=30 * DAY)
    assert (pruned.names, pruned.environments, pruned.packages) == (["old"], 1, 1)
    assert pruned.bytes > 0
    assert states(store) == {"new": "ready", "old": "locked"}
    assert store.find("old") is None
    rebuild(store, "old", budget=Budget(BuildLimits()))
    assert states(store) == {"new": "ready", "old": "ready"}


def test_a_use_counts(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    add(store, "x", requirements=["thing"])
    with store.use("x") as used:
        assert used is not None
    age(store, "x", days=31)
    with store.use("x"):
        pass
    assert prune(store, unused_seconds=30 * DAY).environments == 0
    assert states(store) == {"x": "ready"}


def test_what_an_attempt_runs_in_stays(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    add(store, "x", requirements=["thing"])
    folder = store.folder("x").resolve()
    with store.use("x"), store.use("x"):
        assert prune(store, unused_seconds=-1).environments == 0
        # Even if its name was removed.
        store.remove("x")
        assert prune(store, unused_seconds=-1).environments == 0
        assert next(folder.glob("lib/python*/site-packages/thing.py")).is_file()
    assert prune(store, unused_seconds=-1).environments == 1
    assert not folder.exists()
    assert states(store) == {}


def test_a_name_that_is_removed_leaves_what_another_has(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    for name in ("a", "b"):
        add(store, name, requirements=["thing"])
    store.remove("a")
    assert prune(store, unused_seconds=30 * DAY).environments == 0
    assert states(store) == {"b": "ready"}
    store.remove("b")
    pruned = prune(store, unused_seconds=30 * DAY)
    # The wheels stay for a while, so that adding the toolchain again is fast.
    assert (pruned.environments, pruned.packages) == (1, 0)
    assert prune(store, unused_seconds=-1).packages == 1


def test_what_was_built_twice_is_never_at_the_same_place(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    add(store, "x", requirements=["thing"])
    first = store.find("x")
    prune(store, unused_seconds=-1)
    rebuild(store, "x", budget=Budget(BuildLimits()))
    second = store.find("x")
    assert first is not None
    assert second is not None
    assert first.build_id == second.build_id
    assert first.folder != second.folder


def test_builds_and_collecting_keep_out_of_each_others_way(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    with SharedLock(store.collecting_path), pytest.raises(ToolchainError, match="being built"):
        prune(store, unused_seconds=0)
    build_ended = threading.Event()

    def build() -> None:
        add(store, "x", requirements=["thing"])
        build_ended.set()

    with SharedLock(store.collecting_path, alone=True):
        thread = threading.Thread(target=build)
        thread.start()
        assert not build_ended.wait(4)
    thread.join(60)
    assert states(store) == {"x": "ready"}


def test_what_is_adopted_or_has_no_lock_stays(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    add(store, "x", requirements=["thing"])
    adopt(store, "mine", python=store.folder("x") / "bin" / "python")
    age(store, "x", days=400)
    assert prune(store, unused_seconds=30 * DAY).names == ["x"]
    assert states(store) == {"mine": "ready", "x": "locked"}


def test_whoever_may_only_read_the_store_uses_it_all_the_same(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    add(store, "x", requirements=["thing"])
    # Rights do not stop root; this stops everyone.
    (store.root / ".locks" / "use").write_text("in the way")
    with store.use("x") as used:
        assert used == store.find("x")


def test_an_adopted_one_that_is_in_use_goes_when_it_no_longer_is(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    add(store, "x", requirements=["thing"])
    adopt(store, "mine", python=store.folder("x") / "bin" / "python")
    inside = os.open(store.folder("mine"), os.O_RDONLY)
    with store.use("mine"):
        store.remove("mine")
        assert "mine" not in states(store)
        prune(store, unused_seconds=30 * DAY)
        # The path that a mount has.
        assert os.listdir(inside)  # noqa: PTH208  # of a descriptor
    prune(store, unused_seconds=30 * DAY)
    assert not os.listdir(inside)  # noqa: PTH208
    os.close(inside)
