"""Statements and calls that stand in sentences, where a report shows no other code."""

from __future__ import annotations

import pytest
from default_limits import read


def script_of(text: str) -> str:
    reading = read(f"# wrong\n\n{text}\n", form="report")
    assert reading.ask == ()
    return reading.scripts[0].script


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("With `a = [1, 2]`, `a[5:]` gives `[]` instead of an error.", ["a = [1, 2]", "a[5:]"]),
        (
            "If `G = nx.path_graph(3)` then `nx.diameter(G)` returns 2.",
            ["G = nx.path_graph(3)", "nx.diameter(G)"],
        ),
        ("Calling statistics.median([1, 2]) returns 1.5, not 1.", ["statistics.median([1, 2])"]),
        ("To reproduce: torch.tensor([1, 2]).sum() gives tensor(3)", ["torch.tensor([1, 2]).sum()"]),
        ("calendar.isleap(1900) 返回 False, 应该返回 True", ["calendar.isleap(1900)"]),
        ("sympy: integrate(1/x, x) gives log(x), not log(Abs(x))", ["integrate(1/x, x)"]),
        ("print(len('abc'))\n\nIt prints 3, but I want 4.", ["print(len('abc'))"]),
        ("Der Code ist:\nimport math\nprint(math.pi)\nEr gibt 3.14 aus.", ["import math", "print(math.pi)"]),
        ("   import math\n   print(math.pi)\n\nprints 3.14", ["import math", "print(math.pi)"]),
    ],
)
def test_sentences_name_what_is_run(text: str, lines: list[str]) -> None:
    script = script_of(text)
    assert all(line in script for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        "`process(data, 3)` returns None, should return a list.",
        "Calling process(3) returns None.",
        "Calling np.mean(values) returns nan.",
        "With `a = load()`, `a.b` gives 3.",
        "It happens in f(x) (see below).",
        "print(result)\n\nprints 3",
    ],
)
def test_calls_of_what_nobody_defines_are_no_script(text: str) -> None:
    assert read(f"# wrong\n\n{text}\n", form="report").ask
