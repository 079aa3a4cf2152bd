"""Rules of this code that no linter knows, each shown to be able to fail."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import pytest
from conventions.source_trees import modules_of, named, nodes_of, source_of, tree_of

LOG_METHODS = {"debug", "info", "warning", "error", "exception", "critical"}
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
# Where a transaction may end: the one place that makes sessions, and what stands outside of requests and
# tasks.
MAY_COMMIT = {"app/storage/session.py"}
MAY_READ_THE_CLOCK = {"app/clock.py"}

Rule = Callable[[ast.AST], bool]


def commits(node: ast.AST) -> bool:
    """Transactions end at the edge of a request or task, by their context manager."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "commit"
        and not node.args
    )


def reads_the_clock(node: ast.AST) -> bool:
    """The time comes from app.clock."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"now", "utcnow", "today"}
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"datetime", "date"}
    )


def builds_an_event_name(node: ast.AST) -> bool:
    """An event's name is a constant; what varies is a field."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LOG_METHODS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"log", "logger"}
        and bool(node.args)
        and not isinstance(node.args[0], ast.Constant)
    )


def unpickles(node: ast.AST) -> bool:
    """Nothing that came from elsewhere is unpickled."""
    return isinstance(node, ast.Import) and any(
        alias.name.partition(".")[0] in {"pickle", "shelve", "dill"} for alias in node.names
    )


# A process and its own forks: nothing comes from elsewhere.
BOUNDED = {"app/bounded/calls.py", "app/bounded/forker.py"}


def breaches(rule: Rule, folder: str, allowed: set[str]) -> Iterator[str]:
    for path in modules_of(folder):
        if named(path) not in allowed:
            yield from (
                f"{named(path)}:{getattr(node, 'lineno', 0)}" for node in nodes_of(path) if rule(node)
            )


@pytest.mark.parametrize(
    ("rule", "folder", "allowed", "example"),
    [
        (commits, "app", MAY_COMMIT, "session.commit()"),
        (reads_the_clock, "app", MAY_READ_THE_CLOCK, "datetime.now(tz=UTC)"),
        (builds_an_event_name, "app", set(), "log.info(f'run {run_id} ended')"),
        (builds_an_event_name, "worker", set(), "log.info('run %s ended' % run_id)"),
        (unpickles, "app", BOUNDED, "import pickle"),
        (unpickles, "worker", set(), "import pickle"),
    ],
)
def test_rule(rule: Rule, folder: str, allowed: set[str], example: str) -> None:
    assert any(rule(node) for node in ast.walk(ast.parse(example)))
    assert list(breaches(rule, folder, allowed)) == [], rule.__doc__


def test_modules_are_named_for_what_is_in_them() -> None:
    found = [named(path) for path in modules_of("app", "worker") if path.stem in VAGUE_NAMES]
    assert found == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        named(path)
        for path in modules_of("app", "worker")
        if source_of(path).strip() and not ast.get_docstring(tree_of(path))
    ]
    assert silent == []
