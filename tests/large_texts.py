"""Large texts of several kinds, as people paste them and as strangers make them: `text_of(kind, size)`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path

HERE = Path(__file__).parent
# Every text but those of reports begins with it, so that there is a script and a claim.
REPORT = "```python\nimport torch\nprint(torch.ones(2).sum())\n```\nIt prints 2.0, expected 3.0.\n\n"
_ROWS = 5_000


def _rows(form: Callable[[int, random.Random], str]) -> list[str]:
    chance = random.Random(1)  # noqa: S311 - chance, not secrets
    return [form(number, chance) for number in range(_ROWS)]


def _reports() -> list[str]:
    """The reports of the corpus, one after the other."""
    stored = [json.loads(path.read_text())["text"] for path in sorted((HERE / "reports").glob("*.json"))]
    kinds = [path.read_text() for path in sorted((HERE / "reports" / "kinds").glob("*.md"))]
    return [f"{text}\n\n" for text in (*stored, *kinds)]


def _log() -> list[str]:
    return _rows(
        lambda number, chance: (
            f"2026-01-02 03:04:{number % 60:02d},123 INFO worker[{number}] step {number} "
            f"loss={chance.random():.4f} lr=1e-3 gpu=0 mem={chance.randrange(9999)}MB\n"
        )
    )


def _tracebacks() -> list[str]:
    return _rows(
        lambda number, _: (
            f'Traceback (most recent call last):\n  File "/a/b{number}.py", line {number}, in f\n'
            f"    return g(x)\nValueError: bad value {number}\n\n"
        )
    )


def _diffs() -> list[str]:
    return _rows(
        lambda number, _: (
            f"--- a/x{number}.py\n+++ b/x{number}.py\n@@ -{number},3 +{number},3 @@\n def f(x):\n"
            f"-    return x + {number}\n+    return x - {number}\n"
        )
    )


_PROSE = (
    "The result is different on the GPU than on the CPU, and I think that it should be the same. ",
    "It happens with every version since 2.1 that I tried.\n\n",
    "Setting a seed does not help; the second call raises an error instead of returning NaN.\n",
)
_GERMAN = (
    "Das Ergebnis ist falsch, wenn man es auf der GPU ausführt, aber mit der CPU läuft alles gut. ",
    "Es kommt `4` statt `5`, und seit Version 2.1 gibt es einen Fehler.\n\n",
)
# What a hostile report of the fuzz is made of.
_HOSTILE = (
    "torch 2.3 on an A100. ",
    "`" * 7,
    "expected 3, got 4. ",
    "\u202e",
    "is 3 times slower than numpy. ",
)
_LINES: dict[str, Callable[[], Sequence[str]]] = {
    "log": _log,
    "short lines": lambda: [f"a {number % 7}\n" for number in range(_ROWS)],
    "one long line": lambda: ["word and more prose, 3.5 is printed; "],
    "one long word": lambda: ["a" * 1_000],
    "tracebacks": _tracebacks,
    "table": lambda: _rows(
        lambda number, chance: f"| {number} | {chance.random():.3f} | torch 2.1 | yes |\n"
    ),
    "prose": lambda: _PROSE,
    "prose in German": lambda: _GERMAN,
    "hostile lines": lambda: [*_HOSTILE, "\r\n", *_HOSTILE[::-1], "should raise ValueError but does not. \n"],
}
_FENCED: dict[str, Callable[[], Sequence[str]]] = {
    "log in a fence": _log,
    "tracebacks in a fence": _tracebacks,
    "diff": _diffs,
}
_WHOLE: dict[str, Callable[[], Sequence[str]]] = {
    "reports": _reports,
    "fences": lambda: _rows(lambda number, _: f"```python\nx = {number}\nprint(x)\n```\n"),
}
# No script is longer than the limit of a script, so this one is smaller.
_SCRIPT = "one script"
KINDS = (*_WHOLE, *_LINES, *_FENCED, _SCRIPT)
MOST_SCRIPT = 200_000


def text_of(kind: str, size: int) -> str:
    """A text of about so many characters."""
    if kind in _WHOLE:
        return _filled(_WHOLE[kind](), size)
    if kind in _LINES:
        return REPORT + _filled(_LINES[kind](), size - len(REPORT))
    if kind in _FENCED:
        rest = _filled(_FENCED[kind](), size - len(REPORT) - 20)
        return f"{REPORT}```{'diff' if kind == 'diff' else ''}\n{rest}\n```\n"
    rows = _rows(lambda number, _: f"x{number} = torch.ones({number % 9}).sum()\nprint(x{number})\n")
    return (
        f"```python\nimport torch\n{_filled(rows, min(size, MOST_SCRIPT))}\n```\nIt prints 3, expected 4.\n"
    )


def _filled(pieces: Sequence[str], size: int) -> str:
    chosen, length = list[str](), 0
    for piece in cycle(pieces):
        if length >= size:
            break
        chosen.append(piece)
        length += len(piece)
    return "".join(chosen)
