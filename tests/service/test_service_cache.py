"""The cache in this process: its values expire after their time, and stay within its bytes."""

from __future__ import annotations

from app.cache import SizedCache


def test_the_least_recently_used_value_goes_when_there_is_no_room() -> None:
    cache: SizedCache[str] = SizedCache(100)
    for name in "abc":
        cache.store(name, name.upper(), 40)
        # It is used after each step, so it is the most recent one.
        assert cache.find("a") == "A"
    assert [cache.find(name) for name in "abc"] == ["A", None, "C"]


def test_a_value_larger_than_the_cache_is_not_stored() -> None:
    cache: SizedCache[str] = SizedCache(100)
    cache.store("c", "C", 40)
    cache.store("large", "L", 101)
    assert cache.find("large") is None
    assert cache.find("c") == "C"


def test_nothing_is_stored_for_ever() -> None:
    moments = [0.0]
    cache: SizedCache[str] = SizedCache(100, most_seconds=60, timer=lambda: moments[0])
    cache.store("a", "A", 60)
    moments[0] = 59
    assert cache.find("a") == "A"
    cache.store("a", "A", 60)
    # A value that is used or stored again does not become younger.
    moments[0] = 61
    cache.store("b", "B", 60)
    assert cache.find("a") is None
    # Its bytes are free again.
    assert cache.find("b") == "B"
