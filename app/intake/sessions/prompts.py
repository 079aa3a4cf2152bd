"""Sessions of Python and IPython: the code behind their prompts, and the output below it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.code.syntax import parses
from app.intake.sessions.joined_lines import session_lines
from app.intake.sessions.shell_sessions import SHELL, Piece
from app.intake.sessions.timings import CELL_END, times_a_cell

# Some people leave out the blank behind `>>>`. A word behind `...` may be prose.
PROMPT = re.compile(r"(?:>>>|\.\.\.)(?:[ \t]|$)|>>>(?=[\w('\"\[{@#-])")
IPYTHON_OUT = re.compile(r"(?:Out ?\[\d{1,6}\]:|[Oo]ut ?>) ?")
_IPYTHON_IN = re.compile(r"(?:In ?\[[\d *]{1,6}\]:|[Ii]n ?>) ?")
# `>>> # expected`: what is typed below it is what the author wants to see.
_CAPTION_AT_PROMPT = re.compile(
    r">>> ?#+ ?(?P<words>(?:expected|desired|correct|should be|wanted)(?: \w{1,12}){0,2})[\s:.]{0,3}",
    re.IGNORECASE,
)
_MOST_LITERAL = 2_000
_LEAST_PROMPTS = 2
_NAMED = re.compile(r"(?!(?:[Ii]n|[Oo]ut)>)[A-Za-z]{2,12}> ")
_IMPORT = re.compile(r"(?:import \w|from [\w.]{1,80} import )")
_NAMES_IN_VALUES = {
    "array",
    "Array",
    "DeviceArray",
    "tensor",
    "Tensor",
    "nan",
    "inf",
    "float32",
    "float64",
} | {*("int64", "int32", "np", "numpy", "torch", "object", "bool", "Counter", "OrderedDict", "dtype")}
_LITERAL_NODES = (
    *(ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.USub, ast.UAdd, ast.Load),
)
_IPYTHON_MORE = re.compile(r"[ \t]*\.{3,}: ?")


# `array([1., 2.])`, `DeviceArray([…])`, `tensor(3)`: a call that is how a value is printed.
_REPRESENTATION = re.compile(
    r"(?:(?:Device)?[Aa]rray|tensor|Tensor|(?:np|numpy)\.(?:float|u?int|bool|complex|str_|array)\w{0,6}|Counter|OrderedDict)\("
)


def is_literal(text: str) -> bool:
    """Whether a line is a value as Python prints it, and neither a name nor an operation."""
    try:
        tree = ast.parse(text.strip()[:_MOST_LITERAL], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if isinstance(tree, ast.Call):
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        return _REPRESENTATION.match(text.strip()) is not None and names <= _NAMES_IN_VALUES
    return all(isinstance(node, _LITERAL_NODES) for node in ast.walk(tree))


def is_prompt(line: str) -> bool:
    """Whether a line begins with a prompt of Python or IPython."""
    return _is_first(line) or _IPYTHON_IN.match(line.lstrip()) is not None


def is_python_session(lines: Sequence[str]) -> bool:
    """Whether a line begins with `>>>`. `...` alone may stand for lines that were left out."""
    return any(map(_is_first, lines))


def with_whole_prompts(lines: Sequence[str]) -> list[str]:
    """The lines, in which `>> x = 1` is `>>> x = 1`, if several are so and all of them are Python.

    So are `> x = 1` and `python> x = 1`, if one of them imports something: other languages have such prompts.
    """
    named = next((match[0] for line in lines if "> " in line and (match := _NAMED.match(line))), ">> ")
    for sign in (">> ", "> ", named):
        short = [line.removeprefix(sign) for line in lines if line.startswith(sign)]
        is_python = sign == ">> " or any(map(_IMPORT.match, short))
        if len(short) >= _LEAST_PROMPTS and is_python and not any(map(_is_first, lines)):
            return (
                [f">>> {line.removeprefix(sign)}" if line.startswith(sign) else line for line in lines]
                if (parses("\n".join(short)))
                else list(lines)
            )
    return list(lines)


def is_ipython_session(lines: Sequence[str]) -> bool:
    """Whether a line begins with `In [1]:`."""
    return any(_IPYTHON_IN.match(line.lstrip()) for line in lines)


def _is_first(line: str) -> bool:
    line = line.lstrip()
    return line.startswith(">>>") and PROMPT.match(line) is not None


def python_session(lines: Sequence[str]) -> Piece:
    """A session with `>>>` prompts. A line with `...` is code only right below other code.

    A comment in between is no output: somebody wrote it into the session later.
    """
    cells: list[list[str]] = []
    output: list[str] = []
    answers: list[tuple[str, list[str]]] = []
    typing = False
    for given in session_lines(lines):
        line = given.lstrip() if PROMPT.match(given.lstrip()) else given
        typing = PROMPT.match(line) is not None and (line.startswith(">>>") or typing)
        caption = _CAPTION_AT_PROMPT.fullmatch(line)
        if typing and caption and output:
            cells.append([line[3:].strip()])
            answers += [] if answers else [("", output[:])]
            answers.append((f"{caption['words']}:", []))
        elif typing:
            is_first = line.startswith(">>>")
            cells += [[]] if is_first else []
            cells[-1].append(line[3:].removeprefix(" "))
        elif line.startswith("#"):
            cells.append([line])
            # The output above the first comment has no caption.
            answers += [("", output[:])] if output and not answers else []
            answers.append((line.strip("# "), []))
        elif line.strip() != "..." and cells and not SHELL.match(line):
            output.append(line)
            if answers and line.strip():
                answers[-1][1].append(line)
    texts = [(comment, "\n".join(answer)) for comment, answer in answers if answer]
    return Piece(
        code=_code_of(cells),
        output="\n".join(output).strip("\n"),
        transcript=True,
        answers=tuple(texts) if len(texts) > 1 else (),
    )


def ipython_session(lines: Sequence[str]) -> Piece:
    """A session of IPython: `In [1]:`, its continuation lines, `Out[1]:` and output."""
    lines = session_lines(_from_margin(lines))
    cells: list[list[str]] = []
    output: list[str] = []
    at = 0
    while at < len(lines):
        if match := _IPYTHON_IN.match(lines[at]):
            cell, at = _cell_from(lines, at, match.end())
            cells.append(cell)
            cells += [[CELL_END]] if times_a_cell(cell[0].strip()) else []
            continue
        out = IPYTHON_OUT.match(lines[at])
        if out or cells:
            # Above the first prompt stands what IPython says of itself.
            output.append(lines[at][out.end() :] if out else lines[at])
        at += 1
    return Piece(code=_code_of(cells, are_whole=True), output="\n".join(output).strip("\n"), transcript=True)


def _from_margin(lines: Sequence[str]) -> Sequence[str]:
    """The lines without the blanks that stand before the first prompt."""
    first = next((line for line in lines if _IPYTHON_IN.match(line.lstrip())), "")
    margin = first[: len(first) - len(first.lstrip())]
    return [line.removeprefix(margin) for line in lines]


def _cell_from(lines: Sequence[str], at: int, end: int) -> tuple[list[str], int]:
    """The code of a cell, and the line behind it. It may stand below its prompt."""
    cell, at = [lines[at][end:]], at + 1
    while at < len(lines) and not _IPYTHON_IN.match(lines[at]) and (more := _IPYTHON_MORE.match(lines[at])):
        cell.append(lines[at][more.end() :])
        at += 1
    below = at
    while below < len(lines) and lines[below].strip() and not _is_mark(lines[below]):
        below += 1
    if not any(map(str.strip, cell)) and below > at and parses("\n".join(lines[at:below])):
        return list(lines[at:below]), below
    return cell, at


def _is_mark(line: str) -> bool:
    return _IPYTHON_IN.match(line) is not None or IPYTHON_OUT.match(line) is not None


def _code_of(cells: Sequence[list[str]], *, are_whole: bool = False) -> str:
    """The code of all cells. If it is no Python, blanks go that a cell has too many behind its prompt.

    `are_whole`: no cell goes on in the next one. `>>>` may stand before each line of a block.
    """
    code = "\n".join(line for cell in cells for line in cell)
    if parses(code):
        return code
    lines: list[str] = []
    for cell in cells:
        above = next((line for line in reversed(lines) if line.strip()), "")
        is_inside = not are_whole and (above[:1].isspace() or above.rstrip().endswith(":"))
        lines += cell if is_inside and cell[0][:1].isspace() else _without_indent(cell)
    return "\n".join(lines)


def _without_indent(cell: list[str]) -> list[str]:
    """The lines of a cell without the blanks that its first line has too many."""
    first = next((line for line in cell if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    if not indent:
        return cell
    return [line[len(indent) :] if line.startswith(indent) else line.lstrip() for line in cell]
