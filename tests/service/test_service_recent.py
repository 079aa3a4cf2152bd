"""What is kept in the process: no longer than it may be, no more than there is room for."""

from __future__ import annotations

import time

from app.cache import Recent


def test_what_was_not_used_for_longest_goes_where_there_is_no_room() -> None:
    recent: Recent[str] = Recent(100)
    for name in "abc":
        recent.keep(name, name.upper(), 40)
        # Asked for again and again: the latest one.
        assert recent.find("a") == "A"
    assert [recent.find(name) for name in "abc"] == ["A", None, "C"]
    recent.keep("large", "L", 101)
    assert recent.find("large") is None
    assert recent.find("c") == "C"


def test_nothing_is_kept_for_ever(monkeypatch) -> None:
    recent: Recent[str] = Recent(100, most_seconds=60)
    recent.keep("a", "A", 60)
    began = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: began + 59)
    assert recent.find("a") == "A"
    # To be used again does not make it younger.
    monkeypatch.setattr(time, "monotonic", lambda: began + 61)
    recent.keep("b", "B", 60)
    assert recent.find("a") is None
    # Its room is had back.
    assert recent.find("b") == "B"
