"""The work of reading is counted, not timed: calls of functions and of patterns, which no load changes."""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cache
from types import FrameType
from typing import Any

import pytest
from default_limits import read

from tests.large_texts import KINDS, text_of

SIZE = 12_000
# Twice the text may take twice the work, and a little for what begins at some length only.
MOST_GROWTH = 2.3
# Without the words and the memory, a line of a log met a hundred patterns, and one in a fence two hundred.
MOST_PATTERNS = 60
METHODS = {"search", "match", "fullmatch", "finditer", "findall", "sub", "split"}


# Its reading loads all that is loaded once: rules, words of other languages, public names.
FIRST = (
    "# Es druckt 3\n\nErwartet: 4. 输出是 3。 With `other(1)` it prints `3`.\n\n"
    "```python\nprint(array(3))\n```\n"
)


@pytest.fixture(autouse=True, scope="module")
def _all_is_loaded() -> None:
    read(FIRST, form="report")


@cache
def work_of(text: str) -> Counter[str]:
    """The calls of functions, and those of the methods of patterns, while a report is read."""
    calls: Counter[str] = Counter()

    def note(_: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            calls["functions"] += 1
        elif event == "c_call" and isinstance(getattr(argument, "__self__", None), re.Pattern):
            calls["patterns"] += argument.__name__ in METHODS

    sys.setprofile(note)
    try:
        read(text, form="report")
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("kind", KINDS)
def test_work_grows_no_faster_than_the_text(kind: str) -> None:
    small, large = work_of(text_of(kind, SIZE)), work_of(text_of(kind, 2 * SIZE))
    for what, count in large.items():
        assert count <= MOST_GROWTH * small[what] + 1_000, what


# A hostile line holds sentences of many rules.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "hostile lines"])
def test_few_patterns_meet_each_line(kind: str) -> None:
    """Rules ask for the words of a line, and remember what they said about it."""
    small, large = text_of(kind, SIZE), text_of(kind, 2 * SIZE)
    lines = large.count("\n") - small.count("\n")
    assert work_of(large)["patterns"] - work_of(small)["patterns"] <= MOST_PATTERNS * lines + 500


def test_the_script_is_not_searched_for_each_sentence() -> None:
    """A sentence about code asks what the script holds: its text is made ready once."""
    script = "\n".join(f"value_{number} = {number}" for number in range(200))
    sentences = "\n\n".join(f"With `other({number})` instead it prints `{number}`." for number in range(40))
    report = f"```python\n{script}\nprint(value_1)\n```\n\n{sentences}\n"
    longer = report.replace(script, f"{script}\n{script.replace('value', 'more')}")
    assert work_of(longer)["functions"] <= MOST_GROWTH * work_of(report)["functions"]
