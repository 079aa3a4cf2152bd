"""Benchmarks run seldom. What they import from the product is there nevertheless."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "bench").rglob("*.py") if "/scripts/" not in str(path))


def imports_of(path: Path) -> set[tuple[str, str]]:
    """(module, name) of what a file imports from the product."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    return {
        (node.module, alias.name)
        for node in nodes
        if node.module and node.module.partition(".")[0] in {"app", "worker"}
        for alias in node.names
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_benchmark_imports_what_is_there(path: Path) -> None:
    lacking = []
    for module, name in sorted(imports_of(path)):
        if not hasattr(import_module(module), name):
            try:
                import_module(f"{module}.{name}")
            except ImportError:
                lacking.append(f"{module}: {name}")
    assert lacking == []
