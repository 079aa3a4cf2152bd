"""Finds the statements that stand on a line, as points whose passage can be observed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from app.intake.code.syntax import dotted_name, nodes_of
from worker.contract.passage import PassagePoint, Span

MODULE = "<module>"
# Calls that only report a failure: they are reached when the condition around them holds.
_GIVES_UP = {"exit", "_exit", "fail", "abort", "quit"}
_MOST_CALLS = 16
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def points_on(tree: ast.Module, line: int) -> tuple[PassagePoint, ...]:
    """The points on a line, the outer statement first. Empty if no statement is there, or none can be seen.

    The condition stands for a statement that only reports a failure, such as a `raise` below an `if`.
    """
    statements = list(_statements(tree.body, MODULE, None))
    here = [each for each in statements if _covers(each.parts, line)]
    points: list[PassagePoint] = []
    for statement in here:
        seen_as = statement
        while _only_gives_up(seen_as.node):
            if seen_as.condition is None:
                return ()
            seen_as = seen_as.condition
        point = _point(seen_as, statements)
        if point is None:
            return ()
        if point not in points:
            points.append(point)
    return tuple(points)


class _Statement:
    """A statement, its own expressions (not those of its body), its code, and the `if` that it depends on."""

    __slots__ = ("code", "condition", "node", "parts")

    def __init__(self, node: ast.stmt, code: str, condition: _Statement | None) -> None:
        self.node, self.code, self.condition = node, code, condition
        self.parts = _parts_of(node)


def _statements(body: list[ast.stmt], code: str, condition: _Statement | None) -> Iterator[_Statement]:
    for node in body:
        own = _Statement(node, code, condition)
        if own.parts:
            yield own
        if isinstance(node, _SCOPES):
            yield from _statements(node.body, node.name, None)
            continue
        for field in ("body", "orelse", "finalbody"):
            # The condition of an `except` or of a loop can't be observed.
            inner = own if isinstance(node, ast.If) else condition if isinstance(node, ast.With) else None
            yield from _statements(getattr(node, field, None) or [], code, inner)
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from _statements(part.body, code, None)


def _parts_of(node: ast.stmt) -> list[ast.AST]:
    """The statement itself, or the expressions in the head of one that has a body. Empty for a definition."""
    match node:
        case ast.If(test=head) | ast.While(test=head) | ast.Match(subject=head):
            return [head]
        case ast.For(target=target, iter=iterated) | ast.AsyncFor(target=target, iter=iterated):
            return [target, iterated]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.context_expr for item in items]
        case ast.Try() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return []
        case ast.Global() | ast.Nonlocal() | ast.Pass() | ast.Import() | ast.ImportFrom():
            return [node]
        case _:
            return [] if hasattr(node, "handlers") else [node]


def _covers(parts: list[ast.AST], line: int) -> bool:
    span = _span(parts)
    return span is not None and span[0] <= line <= span[2]


def _span(parts: list[ast.AST]) -> Span | None:
    places = [
        (part.lineno, part.col_offset, part.end_lineno or part.lineno, part.end_col_offset or 0)
        for part in parts
        if isinstance(part, ast.stmt | ast.expr)
    ]
    if not places:
        return None
    first, last = min(places), max(places, key=lambda place: place[2:])
    return (*first[:2], *last[2:])


def _only_gives_up(node: ast.stmt) -> bool:
    match node:
        case ast.Raise():
            return True
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Expr(value=ast.Call(func=function)):
            return dotted_name(function)[-1:] != () and dotted_name(function)[-1] in _GIVES_UP
        case _:
            return False


def _point(statement: _Statement, statements: list[_Statement]) -> PassagePoint | None:
    span = _span(statement.parts)
    if span is None:
        return None
    others = [each for each in statements if each is not statement]
    alone = not any(
        other[0] <= span[2] and span[0] <= other[2]
        for each in others
        if (other := _span(each.parts)) is not None
    )
    needed = [call for part in statement.parts for call in _calls(part, conditional=not alone)]
    calls = [place for call in needed if (place := _span([call])) is not None]
    if len(calls) > _MOST_CALLS:
        return None
    return PassagePoint(span=span, code=statement.code, calls=calls, alone=alone)


def _calls(node: ast.AST, *, conditional: bool) -> Iterator[ast.Call]:
    """The calls that may be left out when the expression is evaluated."""
    if isinstance(node, ast.Call) and conditional:
        yield node
    for part, may_be_left_out in _inner(node):
        yield from _calls(part, conditional=conditional or may_be_left_out)


def _inner(node: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """The parts of an expression, and whether each may be left out."""
    match node:
        case ast.BoolOp(values=[first, *others]):
            yield first, False
            yield from ((each, True) for each in others)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield from ((test, False), (body, True), (orelse, True))
        case ast.Compare(left=left, comparators=[first, *others]):
            yield from ((left, False), (first, False), *((each, True) for each in others))
        case ast.Lambda(body=body):
            yield body, True
        case ast.Assert(test=test):
            yield test, False
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            first_source = node.generators[0].iter
            yield first_source, False
            yield from ((each, True) for each in _below(node) if each is not first_source)
        case _:
            yield from ((each, False) for each in ast.iter_child_nodes(node))


def _below(node: _COMPREHENSIONS) -> Iterator[ast.AST]:
    """The expressions of a comprehension."""
    yield from ((node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,))
    for generator in node.generators:
        yield from (generator.iter, *generator.ifs)


def calls_by_name(tree: ast.Module, name: str) -> list[int]:
    """The lines of the calls of functions with this last name."""
    return [
        node.lineno
        for node in nodes_of(tree)
        if isinstance(node, ast.Call) and dotted_name(node.func)[-1:] == (name,)
    ]
