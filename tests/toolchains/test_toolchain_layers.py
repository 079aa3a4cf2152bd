"""Packages that a report needs are added to a toolchain for its attempts, if the node permits them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tiny_wheels import make_wheel

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.cards.watch import CardWatch
from worker.contract import Attempt, Outcome, Result
from worker.contract.names import add_layers, split_layers
from worker.environment import EnvironmentRecorder
from worker.machine.settings import NodeSettings
from worker.node.parts import make_hello
from worker.sandbox import Sandbox
from worker.slots.pool import SlotPool
from worker.toolchains import ToolchainStore
from worker.toolchains.adopt import adopt
from worker.toolchains.build import add
from worker.toolchains.collect import prune
from worker.toolchains.demand import OnDemand, make_on_demand
from worker.toolchains.limits import BuildLimits
from worker.toolchains.store import RETRY_SECONDS

pytestmark = pytest.mark.sandbox
BOTH = (
    "import importlib.metadata as m, base, extra\n"
    "print(base.VERSION, extra.VERSION, sorted(d.name for d in m.distributions()))\n"
)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(slot=6, home=tmp_path)


def executor_of(store: ToolchainStore, tmp_path: Path, *, allowed: set[str]) -> Executor:
    on_demand = OnDemand(store, allowed=frozenset(allowed), limits=BuildLimits(seconds=60))
    return Executor(
        Identity("n", "i"),
        store,
        EnvironmentRecorder(tmp_path / "cache", probe_seconds=60),
        on_demand=on_demand,
    )


def execute(
    executor: Executor, sandbox: Sandbox, toolchain: str, script: str = BOTH, *, cancelled: bool = False
) -> Result:
    event = threading.Event()
    if cancelled:
        event.set()
    return executor.execute(
        Attempt(attempt_id="a", script=script, toolchain=toolchain), sandbox, granted=[], cancelled=event
    )


def test_what_is_added_is_recorded_and_what_is_there_stays(
    store: ToolchainStore, wheels: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    make_wheel(wheels, "base", "1.0")
    add(store, "small", requirements=["base"])
    # Newer wheels exist by now, but the base keeps its versions.
    make_wheel(wheels, "base", "2.0")
    make_wheel(wheels, "extra", requires=["base"])
    executor = executor_of(store, tmp_path, allowed={"extra"})
    result = execute(executor, sandbox, "small+extra")
    assert (result.outcome, result.reason) == (Outcome.COMPLETED, None)
    assert result.observation.stdout == "1.0 1.0 ['base', 'extra']\n"
    assert (result.environment["package.base"], result.environment["package.extra"]) == ("1.0", "1.0")
    small, layered = (
        {facts.name: facts for facts in store.list()}[name] for name in ("small", "small+extra")
    )
    assert (small.base, small.packages) == ("", {"base": "1.0"})
    assert (layered.base, layered.packages) == ("small", {"base": "1.0", "extra": "1.0"})
    modules = [
        next(store.folder(name).glob("lib/python*/site-packages/base.py"))
        for name in ("small", "small+extra")
    ]
    assert modules[0].samefile(modules[1])
    # The base itself has not changed.
    assert execute(executor, sandbox, "small").observation.exception is not None


def test_an_adopted_one_gains_packages_without_being_touched(
    store: ToolchainStore, wheels: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    make_wheel(wheels, "base")
    add(store, "built", requirements=["base"])
    theirs = tmp_path / "theirs"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(theirs)], check=True)
    site = next(theirs.glob("lib/python*/site-packages"))
    for path in next(store.folder("built").glob("lib/python*/site-packages")).glob("base*"):
        path.rename(site / path.name) if path.is_dir() else (site / path.name).write_bytes(path.read_bytes())
    before = sorted(site.rglob("*"))
    adopt(store, "mine", python=theirs / "bin" / "python")
    make_wheel(wheels, "extra", requires=["base"])
    result = execute(executor_of(store, tmp_path, allowed={"extra"}), sandbox, "mine+extra")
    assert result.observation.stdout == "1.0 1.0 ['base', 'extra']\n"
    assert sorted(site.rglob("*")) == before


def test_one_of_an_older_version_without_a_lock_gains_packages(
    store: ToolchainStore, wheels: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    make_wheel(wheels, "base")
    add(store, "old", requirements=["base"])
    real = store.folder("old").resolve()
    store.folder("old").unlink()
    real.rename(store.folder("old"))
    (store.root / ".recipes" / "old.json").unlink()
    make_wheel(wheels, "extra", requires=["base"])
    result = execute(executor_of(store, tmp_path, allowed={"extra"}), sandbox, "old+extra")
    assert result.observation.stdout == "1.0 1.0 ['base', 'extra']\n"
    assert next(facts.packages for facts in store.list() if facts.name == "old+extra") == {
        "base": "1.0",
        "extra": "1.0",
    }


def test_what_is_not_allowed_is_not_added(
    store: ToolchainStore, wheels: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    make_wheel(wheels, "base")
    make_wheel(wheels, "extra")
    add(store, "small", requirements=["base"])
    executor = executor_of(store, tmp_path, allowed={"other"})
    for name in (
        "small+extra",
        "small+extra+other",
        "small+other+other",
        "small+",
        "nothing+other",
    ):
        result = execute(executor, sandbox, name)
        assert (result.outcome, result.reason and result.reason.code) == (
            Outcome.SETUP_FAILED,
            "unknown_toolchain",
        )
    assert [facts.name for facts in store.list()] == ["small"]


def test_what_can_not_be_had_is_said_once_and_tried_again_later(
    store: ToolchainStore, wheels: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    make_wheel(wheels, "base")
    add(store, "small", requirements=["base"])
    executor = executor_of(store, tmp_path, allowed={"extra"})
    first = execute(executor, sandbox, "small+extra")
    assert (first.outcome, first.reason and first.reason.code) == (Outcome.SETUP_FAILED, "missing_package")
    assert first.reason is not None
    assert "extra" not in first.reason.detail
    assert [(facts.name, facts.state) for facts in store.list()] == [
        ("small", "ready"),
        ("small+extra", "failed"),
    ]
    make_wheel(wheels, "extra")
    before = time.monotonic()
    second = execute(executor, sandbox, "small+extra")
    assert (second.reason, time.monotonic() - before < 0.5) == (first.reason, True)
    note = store.root / ".state" / "small+extra.json"
    content = json.loads(note.read_text())
    note.write_text(json.dumps({**content, "at": content["at"] - RETRY_SECONDS - 1}))
    assert [facts.name for facts in store.list()] == ["small"]
    assert execute(executor, sandbox, "small+extra").outcome is Outcome.COMPLETED


def test_one_that_is_locked_is_built_for_the_attempt(
    store: ToolchainStore, wheels: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    make_wheel(wheels, "base")
    make_wheel(wheels, "extra")
    add(store, "both", requirements=["base", "extra"], build=False)
    executor = executor_of(store, tmp_path, allowed=set())
    assert execute(executor, sandbox, "both", cancelled=True).outcome is Outcome.CANCELLED
    assert [facts.state for facts in store.list()] == ["locked"]
    assert execute(executor, sandbox, "both").outcome is Outcome.COMPLETED
    prune(store, unused_seconds=-1)
    assert [facts.state for facts in store.list()] == ["locked"]
    assert execute(executor, sandbox, "both").outcome is Outcome.COMPLETED


def test_what_a_report_brought_is_forgotten_when_it_is_not_used(
    store: ToolchainStore, wheels: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    make_wheel(wheels, "base")
    make_wheel(wheels, "extra")
    add(store, "small", requirements=["base"])
    execute(executor_of(store, tmp_path, allowed={"extra"}), sandbox, "small+extra")
    prune(store, unused_seconds=-1)
    assert [(facts.name, facts.state) for facts in store.list()] == [("small", "locked")]


def test_a_node_says_what_it_would_add(store: ToolchainStore, tmp_path: Path) -> None:
    settings = NodeSettings(home=tmp_path, packages_allowed="Extra other")
    on_demand = make_on_demand(store, settings)
    cards = CardWatch([], lambda: None, folder=tmp_path, check_seconds=600, check_memory_bytes=0)
    executor = executor_of(store, tmp_path, allowed=set())
    pool = SlotPool(settings, executor, identity=Identity("n", "i"), cards=cards, deliver=lambda _: None)
    pool._first_sandbox = Sandbox(slot=6, home=tmp_path)
    hello = make_hello(Identity("n", "i"), pool, store, gpus=[], on_demand=on_demand)
    assert (hello.builds, hello.packages_allowed) == (True, ["extra", "other"])
    assert make_on_demand(store, NodeSettings(home=tmp_path, toolchain_wait_seconds=0)) is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("a+x", ("a", ["x"])),
        ("a+x+y", ("a", ["x", "y"])),
        ("a+y+x", None),
        ("a+x+x", None),
        ("torch-2.13+cpu", None),
        ("torch-2.13+cpu+x", ("torch-2.13+cpu", ["x"])),
        ("a", None),
        ("b+x", None),
    ],
)
def test_which_packages_a_name_adds(name: str, meant: tuple[str, list[str]] | None) -> None:
    known = ["a", "torch-2.13+cpu"]
    assert split_layers(name, known) == meant
    if meant is not None:
        assert add_layers(meant[0], meant[1]) == name
