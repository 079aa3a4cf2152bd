"""No file and no function grows beyond what can be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from conventions.source_trees import modules_of, named

FILE_LINES = 400
FUNCTION_LINES = 60
TEST_FUNCTION_LINES = 80


def long_functions(source: str, limit: int) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > limit:
                yield f"{node.name} ({lines} lines)"


@pytest.mark.parametrize("folder", ["app", "worker", "migrations", "samehere_client", "tests", "bench"])
def test_a_source_file_can_be_read_at_once(folder: str) -> None:
    limit = TEST_FUNCTION_LINES if folder == "tests" else FUNCTION_LINES
    found = []
    for path in modules_of(folder):
        source = path.read_text()
        lines = len(source.splitlines())
        if lines > FILE_LINES:
            found.append(f"{named(path)} ({lines} lines)")
        # A shorter file has no longer function.
        if lines > limit:
            found += [f"{named(path)}: {function}" for function in long_functions(source, limit)]
    assert found == []


def test_the_measure_sees_a_long_function() -> None:
    source = "def short():\n    pass\n\ndef long():\n" + "    x = 1\n" * 60
    assert list(long_functions(source, 60)) == ["long (61 lines)"]
