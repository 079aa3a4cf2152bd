"""A build that can't succeed ends within its limits, with a message that is safe to show."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tiny_wheels import make_wheel

from worker.machine import allowed_packages
from worker.machine.settings import NodeSettings
from worker.toolchains import ToolchainError, ToolchainStore
from worker.toolchains.build import add, rebuild
from worker.toolchains.errors import CancelledError
from worker.toolchains.limits import Budget, BuildLimits, clean_message
from worker.toolchains.locking.lock import Lock, read_lock, write_lock


@pytest.fixture
def silent_index() -> Iterator[str]:
    """An index that accepts every connection and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/simple"


def test_an_index_that_never_answers_is_not_waited_for(
    store: ToolchainStore, wheels: Path, silent_index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", silent_index)
    before = time.monotonic()
    with pytest.raises(ToolchainError, match="not done within 2 seconds"):
        add(store, "x", requirements=["thing"], budget=Budget(BuildLimits(seconds=2)))
    assert time.monotonic() - before < 20
    assert [(facts.name, facts.state) for facts in store.list()] == [("x", "failed")]
    assert not _children_named("pip")


def _children_named(word: str) -> list[psutil.Process]:
    children = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if word in process.cmdline():
                children.append(process)
    return children


def test_a_wheel_that_unpacks_to_too_much_is_refused(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "bomb", files={"bomb.py": "", "bomb.dat": bytes(40_000_000)})
    with pytest.raises(ToolchainError, match="larger than 1000000 bytes"):
        add(store, "x", requirements=["bomb"], budget=Budget(BuildLimits(bytes=1_000_000)))
    assert store.find("x") is None
    assert not list((store.root / ".building").iterdir())


def test_what_grows_is_measured_while_it_grows(tmp_path: Path) -> None:
    budget = Budget(BuildLimits(seconds=60, bytes=1_000_000))
    growing = (
        f"import time\nwith open({str(tmp_path / 'big')!r}, 'wb') as f:\n"
        f"    f.write(bytes(2_000_000)); f.flush(); time.sleep(60)"
    )
    before = time.monotonic()
    with pytest.raises(ToolchainError, match="larger than"):
        budget.run(["python3", "-c", growing], measured_folder=tmp_path)
    assert time.monotonic() - before < 30


def test_whoever_waits_for_another_build_does_not_wait_for_ever(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    with store.lock("x"), pytest.raises(ToolchainError, match="not done within"):
        add(store, "x", requirements=["thing"], budget=Budget(BuildLimits(seconds=0.5)))


def test_a_build_that_nobody_waits_for_ends_and_has_not_failed(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    add(store, "x", requirements=["thing"], build=False)
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(CancelledError):
        rebuild(store, "x", budget=Budget(BuildLimits(), cancelled=cancelled))
    assert [facts.state for facts in store.list()] == ["locked"]


def test_a_failure_is_told_in_the_resolvers_words(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing", requires=["other>=2"])
    make_wheel(wheels, "other", "1.0")
    with pytest.raises(ToolchainError, match="other>=2"):
        add(store, "x", requirements=["thing"])
    facts = store.list()[0]
    assert (facts.state, "other>=2" in facts.detail) == ("failed", True)
    # After a fix, it can be added again under the same name.
    make_wheel(wheels, "other", "2.0")
    add(store, "x", requirements=["thing"])
    assert store.list()[0].state == "ready"


def test_a_disk_that_refuses_is_a_failure_with_words(store: ToolchainStore, wheels: Path) -> None:
    make_wheel(wheels, "thing")
    store.root.mkdir()
    (store.root / ".packages").write_text("in the way")
    with pytest.raises(ToolchainError, match="exists"):
        add(store, "x", requirements=["thing"])
    assert store.list()[0].state == "failed"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("ERROR: \x1b[31mred\x1b[0m\x07 text", "ERROR: red text"),
        ("\x1b]0;title\x07ERROR: x", "ERROR: x"),
        (
            "Looking in indexes: https://me:secret@index.example/simple",
            "Looking in indexes: https://index.example/simple",
        ),
        ("WARNING: noise\n\nERROR: no\u202etxet\r", "ERROR: notxet"),
        ("\x00\x9b2J", "2J"),
    ],
)
def test_words_are_plain(text: str, cleaned: str) -> None:
    assert clean_message(text) == cleaned


def test_words_are_cut() -> None:
    assert len(clean_message("x" * 1_000_000)) <= 500
    assert len(clean_message("\n".join(["y" * 400] * 5000))) <= 4000


LOCK = Lock.model_validate(
    {
        "python": "3.11.7",
        "implementation": "cpython",
        "platform": "linux-x86_64",
        "packages": [
            {
                "name": "Some_Thing",
                "version": "1.0",
                "file": "some_thing-1.0-py3-none-any.whl",
                "sha256": "a" * 64,
                "url": "https://me:secret@index.example/some_thing-1.0-py3-none-any.whl#sha256=00",
            }
        ],
    }
)


def test_a_lock_is_read_as_it_was_written() -> None:
    text = write_lock(LOCK)
    assert "secret" not in text
    assert read_lock(text) == LOCK
    assert LOCK.packages[0].name == "some-thing"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("lock-version", "version-of"),
        ("a" * 64, "A" * 64),
        ("some_thing-1.0-py3-none-any.whl", "../../some_thing-1.0-py3-none-any.whl"),
        ("https://", "ssh://"),
        ('version = "1.0"\n\n[[packages.wheels]]', 'version = "one"\n\n[[packages.wheels]]'),
        ("[tool.samehere]", "[tool.other]"),
        ("[[packages.wheels]]", "[packages.sdist]"),
        ("index.example/some", "index.example/\\nsome"),
    ],
)
def test_what_is_no_lock_is_refused(old: str, new: str) -> None:
    text = write_lock(LOCK)
    assert old in text
    with pytest.raises(ToolchainError):
        read_lock(text.replace(old, new))


def test_a_lock_for_another_python_is_refused(store: ToolchainStore) -> None:
    with pytest.raises(ToolchainError, match=r"is for pypy 3\.11|no Python"):
        add(store, "x", lock=LOCK.model_copy(update={"implementation": "pypy"}))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", set()),
        ("NumPy, sci_kit.learn\teinops", {"numpy", "sci-kit-learn", "einops"}),
        (allowed_packages.DEFAULT, set(allowed_packages.DEFAULT.split())),
    ],
)
def test_the_list_of_allowed_packages(text: str, read: set[str]) -> None:
    assert allowed_packages.read(text) == read


def test_the_list_of_allowed_packages_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "allowed.txt").write_text("# ours\nscipy  # of course\n\nEinops\n")
    assert allowed_packages.read(str(tmp_path / "allowed.txt")) == {"scipy", "einops"}
    for wrong in ("--index-url=x", "a b/c", str(tmp_path / "nothing"), "git+https://x"):
        with pytest.raises(ValueError, match=r"name of a package|can't be read"):
            NodeSettings(packages_allowed=wrong)


def test_what_is_allowed_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMEHERE_PACKAGES_ALLOWED")
    allowed = allowed_packages.read(NodeSettings().packages_allowed)
    assert {"numpy", "scipy", "einops"} <= allowed
    assert not {"torch", "requests", "transformers"} & allowed
