"""Runs `%time` and `%timeit` of IPython without it: the statement runs, and its time is printed.

A statement keeps the number of its line, but for a compound one. Its label counts the statements that are
timed, so that each has another one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.code.syntax import parses, tree_of
from app.intake.memory import remembers
from app.intake.reading import Repair

# A cell ends at such a comment.
CELL_END = "# %%"
LABEL = re.compile(r"\b(?:wall|best) time \d{1,3} of \d{1,3}\b")
_MAGIC = re.compile(r"(?P<indent>[ \t]*)(?P<sign>%{1,2})(?P<name>timeit|time)(?:[ \t]++(?P<rest>.*))?+$")
_OPTION = re.compile(r"-(?:(?P<number>[nrp]) ?(?P<value>\d{1,9})|[tcqvo]|-[a-z-]{1,40})(?:[ \t]+|$)")
_CLOCK = '__import__("time").perf_counter()'
_MOST_TIMED = 200
_MOST_REPEATS = 5
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Import, ast.ImportFrom)


def times_a_cell(line: str) -> bool:
    """Whether a line times all of its cell, as `%%time` and `%%timeit` do."""
    match = _MAGIC.match(line)
    return match is not None and match["sign"] == "%%"


@remembers()
def with_timings(code: str) -> tuple[str, tuple[Repair, ...]]:
    """The code with the statements timed that a line such as `%time f(x)` times, and the repair.

    A line stays as it is if no statement can be read behind it, and so do more lines than a person times.
    """
    lines = code.split("\n")
    places = [at for at, line in enumerate(lines) if _MAGIC.match(line)]
    # With the first ones alone, the code still could not be read.
    if not places or len(places) > _MOST_TIMED or parses(code):
        return code, ()
    timed = [place for place in places if _timed_at(lines, place, "") is not None]
    numbers = {place: number for number, place in enumerate(timed, 1)}
    result: list[str] = []
    at = 0
    while at < len(lines):
        number = numbers.get(at)
        timing = _timed_at(lines, at, f"time {number} of {len(numbers)}") if number else None
        result += timing[0] if timing else [lines[at]]
        at = timing[1] if timing else at + 1
    detail = f"Made {len(numbers)} lines of IPython print the time of their statements."
    return "\n".join(result), (Repair(code="timed_statement", detail=detail),) if numbers else ()


def _timed_at(lines: Sequence[str], at: int, label: str) -> tuple[list[str], int] | None:
    """The lines that time what a magic of a line or cell times, and the line behind it; None for no code."""
    match = _MAGIC.match(lines[at])
    if match is None:
        return None
    options, rest = _options_of(match["rest"] or "")
    is_wall = match["name"] == "time"
    if match["sign"] == "%":
        timed = _wall(rest, label) if is_wall else _best(rest, options, label)
        return ([match["indent"] + line for line in timed], at + 1) if timed else None
    end = next((n for n in range(at + 1, len(lines)) if _ends_cell(lines[n])), len(lines))
    body = list(lines[at + 1 : end])
    while body and not body[-1].strip():
        body.pop()
    tree = tree_of("\n".join(body))
    if tree is None or not tree.body or not (parses(rest) or not rest):
        return None
    cell = _wall_of_cell(rest, body, label) if is_wall else _best_of_cell(rest, body, options, label)
    blank = [""] * (end - at - 2 - len(body))
    return [*cell, *blank], end


def _ends_cell(line: str) -> bool:
    return line.startswith(CELL_END) or times_a_cell(line)


def _options_of(rest: str) -> tuple[dict[str, int], str]:
    """The numbers that options such as `-n 10` give, and the statement behind them."""
    options: dict[str, int] = {}
    rest = rest.strip()
    while match := _OPTION.match(rest):
        if match["number"]:
            options[match["number"]] = int(match["value"])
        rest = rest[match.end() :]
    return options, rest


def _wall(statement: str, label: str) -> list[str]:
    tree = tree_of(statement)
    if tree is None or not tree.body:
        return []
    begin, end = f"_begin = {_CLOCK}", _print(f"wall {label}", f"{_CLOCK} - _begin")
    if not all(isinstance(each, _SIMPLE) for each in tree.body):
        return [begin, statement, end]
    code, comment = _without_comment(statement, tree)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        # A prompt shows the value. To show it takes time, too.
        own = code.encode()
        place = last.col_offset
        code = f"{own[:place].decode()}_value = {own[place:].decode()}"
        end = end if statement.rstrip().endswith(";") else f"{end}; _value"
    return [f"{begin}; {code}; {end}{comment}"]


def _best(statement: str, options: dict[str, int], label: str) -> list[str]:
    tree = tree_of(statement)
    if tree is None or not tree.body:
        return []
    code, comment = _without_comment(statement, tree)
    only = tree.body[0] if len(tree.body) == 1 else None
    # The value is what takes the time. Nobody can use the name afterwards.
    is_value = isinstance(only, ast.Expr) or (
        isinstance(only, ast.Assign) and all(isinstance(each, ast.Name) for each in only.targets)
    )
    value = ast.get_source_segment(statement, only.value) if is_value else None  # type: ignore[union-attr]
    timed = f"lambda: {value}" if value else f"{code!r}, globals=globals()"
    return [f'_timer = __import__("timeit").Timer({timed}); {_print_best(options, label)}{comment}']


def _wall_of_cell(rest: str, body: list[str], label: str) -> list[str]:
    first = f"_begin = {_CLOCK}" + (f"; {rest}" if rest else "")
    return [first, *body, _print(f"wall {label}", f"{_CLOCK} - _begin")]


def _best_of_cell(rest: str, body: list[str], options: dict[str, int], label: str) -> list[str]:
    indented = [f"    {line}" if line.strip() else line for line in body]
    timer = '_timer = __import__("timeit").Timer(_timed)'
    return [*filter(None, [rest]), "def _timed():", *indented, f"{timer}; {_print_best(options, label)}"]


def _print_best(options: dict[str, int], label: str) -> str:
    """The statements that time several runs, and print the least time of one run."""
    if loops := options.get("n"):
        repeats = max(1, min(options.get("r", 3), _MOST_REPEATS))
        return _print(f"best {label}", f"min(_timer.repeat({repeats}, {loops})) / {loops}")
    least = "min([_once, *_timer.repeat(2 * (_once < 2), _loops)]) / _loops"
    return f"_loops, _once = _timer.autorange(); {_print(f'best {label}', least)}"


def _print(label: str, seconds: str) -> str:
    return f'print("{label}:", f"{{{seconds.replace(chr(34), chr(39))}:.6g}} s")'


def _without_comment(statement: str, tree: ast.Module) -> tuple[str, str]:
    """The code of a line without a semicolon at its end, and its comment with blanks before it."""
    last = tree.body[-1]
    line = statement.encode()
    end = last.end_col_offset or len(line)
    comment = line[end:].decode().strip(" \t;")
    return line[:end].decode(), f"  {comment}" if comment else ""
