"""Finds a script's own check of its values, and tells which way it went."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from app.intake.code.syntax import dotted_name, nodes_of, tree_of

_EQUAL_TESTS = {"allclose", "equal", "array_equal", "array_equiv", "is_same_size"}
_ASSERTIONS = {
    "assert_close",
    "assert_equal",
    "assert_allclose",
    "assert_array_equal",
    "assert_array_almost_equal",
    "assert_almost_equal",
}
# With one of these, code that should be compiled may run uncompiled, without a word.
_MAY_NOT_COMPILE = (
    "suppress_errors",
    "TORCHDYNAMO_DISABLE",
    "TORCH_COMPILE_DISABLE",
    "disable=True",
    "_dynamo.disable",
)
_MOST_DEPTH = 4
_WRITES = {"print", "exit", "SystemExit", "write"}
# A condition with one of these is about the place, not about a result.
_OF_PLACE_TEXT = """
sys os platform argv args environ getenv is_available device_count cuda mps backend version __version__
version_info __name__ hasattr isinstance debug verbose time perf_counter
"""
_OF_PLACE = frozenset(_OF_PLACE_TEXT.split())
_EXITS = re.compile(r"^(?:sys\.|os\._?)?(?:exit|quit)\(")
_SAYS_WRONG = re.compile(
    r"(?<![a-z])(?:fail|differ|disagree|wrong|mis-?match|bugs?(?![a-z])|buggy|incorrect|error|bad(?![a-z])|broken"
    r"|unequal|not (?:equal|the same|close|ok)|inconsistent|unexpected|lost|corrupt|falsch|ungleich|fehler"
    r"|abweich|faux|incorrecto|distint|不一致|不同|错误|不相等)",
    re.IGNORECASE,
)
_SAYS_RIGHT = re.compile(
    r"(?<![a-z])(?<!not )(?<!n't )(?:same|equal|ok(?:ay)?|pass(?:ed|es)?|match(?:es)?|correct|fine|good|agree"
    r"|identical|consistent|all right|no (?:bug|difference|error|problem)|works|gleich|richtig|stimmt|égal"
    r"|igual|correcto|相同|正确|一致|相等)(?![a-z])",
    re.IGNORECASE,
)
# Shorter words may come from anywhere.
_LEAST_WORDS = 4
_MOST_CLAIMED = 20


def asserts_equality(tree: ast.Module, text: str) -> bool:
    """True if a statement that always runs asserts that two values are equal or close.

    Not counted are statements in a `try`, in a loop, behind a condition, or in a function that nothing calls.
    """
    if any(words in text for words in _MAY_NOT_COMPILE):
        return False
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    return any(_asserts(statement) for statement in _executed_statements(tree.body, functions, depth=0))


def _executed_statements(
    body: Sequence[ast.stmt], functions: dict[str, ast.FunctionDef], *, depth: int
) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.Return | ast.Raise):
            return
        if isinstance(statement, ast.With):
            yield from _executed_statements(statement.body, functions, depth=depth)
        elif isinstance(statement, ast.If):
            if _is_main_guard(statement.test):
                yield from _executed_statements(statement.body, functions, depth=depth)
            elif any(isinstance(part, ast.Return | ast.Raise) for part in ast.walk(statement)):
                # The rest may not run.
                return
        else:
            yield statement
            called = _called_function(statement, functions)
            if called is not None and depth < _MOST_DEPTH:
                yield from _executed_statements(called.body, functions, depth=depth + 1)


def _is_main_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _called_function(statement: ast.stmt, functions: dict[str, ast.FunctionDef]) -> ast.FunctionDef | None:
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        function = functions.get(value.func.id)
        # A decorator may replace the function.
        return function if function is not None and not function.decorator_list else None
    return None


def _asserts(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assert):
        test = statement.test
        return isinstance(test, ast.Call) and _last_name(test) in _EQUAL_TESTS
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and _last_name(call) in _ASSERTIONS


def _last_name(call: ast.Call) -> str:
    return ("", *dotted_name(call.func))[-1]


def went_the_other_way(script: str, claimed: Sequence[str], stdout: str) -> bool:
    """Whether a condition on the script's values that made the claimed lines did not hold.

    The script ended well. Each claimed line is made in one branch of a statement of the module, or is
    printed still. If the other branch prints words, they are there.
    """
    tree = tree_of(script)
    lines = [line.strip() for line in claimed if line.strip()]
    if tree is None or not lines or len(lines) > _MOST_CLAIMED:
        return False
    printed = {line.strip() for line in stdout.splitlines()}
    missing = [line for line in lines if line not in printed]
    if not missing or any(line in stdout for line in missing):
        return False
    for statement in _statements_of_module(tree.body):
        if not isinstance(statement, ast.If) or not _is_of_values(statement.test, tree):
            continue
        for branch, other in ((statement.body, statement.orelse), (statement.orelse, statement.body)):
            texts = _written_in(branch)
            if texts and all(any(_has_words(line, each) for each in texts) for line in missing):
                return (
                    _tells_right_from_wrong(branch, texts, other)
                    and _was_taken(other, stdout)
                    and not any(_has_words(line, each) for line in printed for each in texts)
                )
    return False


def _statements_of_module(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.With):
            yield from _statements_of_module(statement.body)


def _is_of_values(test: ast.expr, tree: ast.Module) -> bool:
    """Whether a condition, or what its names were given, is about results."""
    names = {name for node in ast.walk(test) for name in _names_of(node)}
    given = [
        node.value
        for node in nodes_of(tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in names for target in node.targets)
    ]
    everything = names | {name for value in given for node in ast.walk(value) for name in _names_of(node)}
    # A name that is given nothing but a constant is a switch.
    is_switch = isinstance(test, ast.Constant | ast.Name) and not any(
        not isinstance(value, ast.Constant) for value in given
    )
    return not is_switch and _OF_PLACE.isdisjoint(name.lower() for name in everything)


def _names_of(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name]
        case _:
            return []


def _written_in(branch: Sequence[ast.stmt]) -> list[list[str]]:
    """The fixed words of each call in a branch that prints them, or ends the script with them."""
    calls = [
        node
        for statement in branch
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and dotted_name(node.func)[-1:]
        and dotted_name(node.func)[-1] in _WRITES
    ]
    texts = [
        [
            node.value.strip()
            for argument in call.args
            for node in ast.walk(argument)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip()
        ]
        for call in calls
    ]
    return [each for each in texts if sum(map(len, each)) >= _LEAST_WORDS]


def _has_words(line: str, words: Sequence[str]) -> bool:
    """Whether the words stand in a line, in order."""
    at = 0
    for each in words:
        at = line.find(each, at)
        if at < 0:
            return False
        at += len(each)
    return True


def _tells_right_from_wrong(
    branch: Sequence[ast.stmt], texts: Sequence[Sequence[str]], other: Sequence[ast.stmt]
) -> bool:
    """Whether the words of the branches say which one is right, or the first one ends the script."""
    if len(other) == 1 and isinstance(other[0], ast.If):
        # Below `elif`, something else may be wrong.
        return False
    ends = any(
        isinstance(statement, ast.Raise)
        or (isinstance(statement, ast.Expr) and _EXITS.search(ast.unparse(statement)) is not None)
        for statement in branch
    )
    others = " ".join(word for words in _written_in(other) for word in words)
    words = " ".join(word for words in texts for word in words)
    return ends or _SAYS_WRONG.search(words) is not None or _SAYS_RIGHT.search(others) is not None


def _was_taken(branch: Sequence[ast.stmt], stdout: str) -> bool:
    texts = _written_in(branch)
    lines = stdout.splitlines()
    return not branch or any(_has_words(line, each) for line in lines for each in texts)
