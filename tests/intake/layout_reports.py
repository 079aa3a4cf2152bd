"""Small reports of a layout, and what is read of them."""

from __future__ import annotations

from default_limits import read

from app.intake.claim.claims import Role

DOCTEST = "import doctest\ndoctest.testmod()"
SORTS = "```python\nprint(sorted([3, 1]))\n```\n"
CODE = "```python\nprint(rank([3, 1]))\n```\n"


def fenced(text: str) -> str:
    return f"```\n{text}\n```\n"


def shown(report: str) -> list[tuple[list[str], list[str]]]:
    """(bugs, right ones) of each reading, each as its printed lines."""
    claim = read(report).claim
    return [
        (
            [line for check in each.having(Role.BUG) for line in check.lines],
            [line for check in each.having(Role.EXPECTED) for line in check.lines],
        )
        for each in (claim, *claim.further)
    ]


def script_with(comments: str) -> str:
    return f"```python\nprint(rank([3, 1]))\n{comments}\n```\n"
