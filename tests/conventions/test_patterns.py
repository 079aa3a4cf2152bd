"""No pattern that meets a stranger's text takes more than linear time, and the measure sees one that does."""

from __future__ import annotations

import re

import pytest
from conventions.pattern_growth import worst_growth
from conventions.pattern_inputs import Inputs
from conventions.pattern_uses import Use, all_uses

from app.intake.exhibits import shown_outputs


def test_every_pattern_is_found() -> None:
    found = {use.place for use in all_uses()}
    assert len(found) > 350
    # A name of a module, one in a table, and one that a function writes.
    assert "app.intake.exhibits.shown_outputs._MENTIONS" in found
    assert "app.intake.text.claimed_environment._FIELDS" in found
    assert any(place.startswith("app.intake.claim.claim_text:") for place in found)


# It computes for half a minute, and takes many where others use the processor.
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("room", ["app.intake", "app.judging", "app.", "worker."])
def test_the_time_of_a_pattern_grows_no_faster_than_its_text(room: str) -> None:
    slow = []
    for use in all_uses():
        if _room_of(use) == room and (growth := worst_growth(use.pattern, use.flags, use.methods)):
            method, bait = growth
            slow.append(f"{use.place}: {method} of {bait}")
    assert slow == []


def _room_of(use: Use) -> str:
    return next(
        room for room in ("app.intake", "app.judging", "app.", "worker.") if use.place.startswith(room)
    )


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"^[ \t]*(?:cc|/cc|ping)?[ \t]*@[\w-]", "match"),
        (r"claim\s*:?\s*$", "search"),
        (r"\s+$", "search"),
        (r"<!--.*?-->", "sub"),
        (r"(?:->|=>)(?=[^:]*$)", "search"),
        (r"\d+\.\d+", "search"),
        (r"(?:fine|ok)(?: (?:fine|ok))* on linux", "finditer"),
        (r"a*a*a*b", "match"),
    ],
)
def test_a_quadratic_pattern_is_seen(pattern: str, method: str) -> None:
    assert worst_growth(pattern, 0, {method}) is not None


@pytest.mark.parametrize("pattern", [r"(?:a|a)*b", r"(?:\w+\s?)*:", r"(?:[a-z]+)+\d", r"(?:x?){25}x{25}$"])
def test_an_exponential_pattern_is_seen(pattern: str) -> None:
    assert worst_growth(pattern, 0, {"match"}) is not None


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"[ \t]*+@[\w-]", "match"),
        (r"a{0,200}b", "search"),
        (r'"[^"\n]{1,500}"', "sub"),
        (r"\bword\b", "finditer"),
    ],
)
def test_a_linear_pattern_is_not_accused(pattern: str, method: str) -> None:
    assert worst_growth(pattern, 0, {method}) is None


def test_the_inputs_hold_adjacent_repeats_with_a_failing_end() -> None:
    texts = {bait.text(4) for bait in Inputs(r"[ \t]*(?:cc)?[ \t]*@").baits()}
    assert "    \x00" in texts


def test_a_long_blank_line_is_read_at_once() -> None:
    """The line that stopped the web: 70 000 blanks took eleven seconds."""
    assert shown_outputs._MENTIONS.match(" " * 1_000_000 + "x") is None
    assert shown_outputs._MENTIONS.match("  cc @someone")
    assert shown_outputs._MENTIONS.match("@someone")
    assert re.match(shown_outputs._MENTIONS, " \tping\t@me")
