"""Slots and cards are locked for the whole machine, in a place that no other user can prepare."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from worker.machine.locks import (
    HostLock,
    LockFolderError,
    acquire_gpus,
    host_folder,
    prepare_folder,
    slot_lock,
)
from worker.machine.settings import NodeSettings


def test_two_homes_lock_in_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMEHERE_LOCKS")
    one, other = NodeSettings(home=tmp_path / "one"), NodeSettings(home=tmp_path / "other")
    assert one.lock_folder == other.lock_folder == host_folder()
    assert not host_folder().is_relative_to(tmp_path)


def test_each_user_has_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    assert host_folder().name == "samehere-locks-1234"


def test_a_lock_keeps_others_out(tmp_path: Path) -> None:
    first, second = slot_lock(tmp_path, 0), slot_lock(tmp_path, 0)
    assert first.acquire()
    assert not second.acquire()
    assert slot_lock(tmp_path, 1).acquire()
    first.release()
    assert second.acquire()
    second.release()


def test_a_lock_whose_file_was_tidied_away_meanwhile_is_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "slot-0.lock"
    first, second = HostLock(path), HostLock(path)
    assert first.acquire()
    waiting = threading.Thread(target=second.acquire, kwargs={"wait": True})
    waiting.start()
    path.unlink()
    first.release()
    waiting.join(10)
    # The one that others would lock, not the one that is gone.
    assert not HostLock(path).acquire()
    second.release()


def test_cards_are_had_all_or_none(tmp_path: Path) -> None:
    held = acquire_gpus(tmp_path, [0, 1], 1)
    assert held is not None
    assert list(held) == [0]
    assert acquire_gpus(tmp_path, [0, 1], 2) is None
    rest = acquire_gpus(tmp_path, [0, 1], 1)
    assert rest is not None
    assert list(rest) == [1]


@pytest.mark.parametrize("prepared", ["link", "open", "file"])
def test_a_place_that_someone_prepared_is_refused(tmp_path: Path, prepared: str) -> None:
    folder = tmp_path / "locks"
    if prepared == "link":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    elif prepared == "open":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.touch()
    with pytest.raises(LockFolderError):
        prepare_folder(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_a_place_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    folder.mkdir(mode=0o700)
    os.chown(folder, 1234, 1234)
    with pytest.raises(LockFolderError, match="SAMEHERE_LOCKS"):
        prepare_folder(folder)
