"""No file and no function grows beyond what can be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE_LINES = 400
FUNCTION_LINES = 60
TEST_FUNCTION_LINES = 80


def sources() -> list[Path]:
    return sorted(
        path
        for folder in ("app", "worker", "migrations", "samehere_client", "tests", "bench")
        for path in (ROOT / folder).rglob("*.py")
    )


def long_functions(source: str, limit: int) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > limit:
                yield f"{node.name} ({lines} lines)"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_source_file_can_be_read_at_once(path: Path) -> None:
    relative = path.relative_to(ROOT)
    source = path.read_text()
    assert len(source.splitlines()) <= FILE_LINES
    limit = TEST_FUNCTION_LINES if relative.parts[0] == "tests" else FUNCTION_LINES
    assert list(long_functions(source, limit)) == []


def test_the_measure_sees_a_long_function() -> None:
    source = "def short():\n    pass\n\ndef long():\n" + "    x = 1\n" * 60
    assert list(long_functions(source, 60)) == ["long (61 lines)"]
