"""Splits a block of a report into code, output and shell commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from app.intake.code.names import bound_names
from app.intake.code.syntax import error_line, nodes_of, parses, tree_of
from app.intake.reading import Repair
from app.intake.sessions.joined_lines import is_joined_program, program_and_output
from app.intake.sessions.prompts import (
    IPYTHON_OUT,
    PROMPT,
    ipython_session,
    is_ipython_session,
    is_literal,
    is_prompt,
    is_python_session,
    python_session,
    with_whole_prompts,
)
from app.intake.sessions.shell_sessions import (
    SHELL,
    Piece,
    answers_of_repeated_command,
    answers_of_variants,
    inline_code,
    shell_session,
    without_status,
)
from app.intake.sessions.timings import with_timings
from app.intake.snippets.output_marks import commented_output, split_marked_lines, traceback_start
from app.intake.snippets.rewrites import JOINED, make_readable, with_all_rewrites
from app.intake.words.vocabulary import EXCEPTION_LINE, SCALAR

_MAGIC = re.compile(r"[ \t]*(?:%{1,2}[a-z]\w*(?:[ \t]|$)|![\w./~-])")
_LIKE_CODE = re.compile(
    r"\s*(?:import |from \w[\w.]* import |def |class |@\w|for .+:|while .+:|(?:el)?if .+:|with .+:"
    r"|else:|try:|except\b.*:|finally:|print[( \"']"
    r"|(?:return|raise|assert|del|exec|yield|await|global|lambda) |[A-Za-z_][\w.]*(?:\[.{0,80}\])? = "
    r"|(?!torch\.(?:Size|device|return_types))[a-z_]\w*(?:\.[A-Za-z_]\w*)+\()"
)
_CAPTION = re.compile(
    r"\s*+(?:outputs?|results?|prints|stdout|actual|ausgabe|sortie|salida)\s*+:?\s*+", re.IGNORECASE
)
# Between code and its traceback: a blank line, a ruler, and the command that ran it.
_BETWEEN = re.compile(
    r"\s*|[ \t]*(?:-{3,80}|={3,80}|~{3,80}|\*{3,80}|_{3,80}|#{3,80})[ \t]*"
    r"|[ \t]*[$>%] ?python[\d.]{0,5} [\w./~-]{1,120}[ \t]*"
)
_OUTPUT_SIGN = re.compile(r"\d|[\[\](){}:=]|\b(?:True|False|None|nan|inf)\b|^Traceback")
_WARNING = re.compile(r"\.py:\d{1,6}: \w{0,60}Warning: ")
# The parser is tried on shorter and shorter beginnings, this often.
_MOST_CUTS = 12
_MOST_LINES = 20_000
_EFFECTS = (
    ast.Import,
    ast.ImportFrom,
    ast.Call,
    ast.Assign,
    ast.AugAssign,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.For,
    ast.With,
    ast.While,
    ast.Try,
    ast.Delete,
    ast.Assert,
    ast.Raise,
)
_REPRESENTATIONS = frozenset(
    ("tensor", "array", "Parameter", "Size", "OrderedDict", "defaultdict", "device", "Linear", "Sequential")
)


def take_apart(text: str) -> Piece:
    """The code, output and shell commands of a block. In doubt, a line is output."""
    lines = text.split("\n")
    if piece := _session_with_prompts(text, lines):
        return piece
    if piece := _program(text, lines):
        return piece
    python, magics = without_magics(text)
    if magics and does_something(python):
        return Piece(code=text)
    if piece := _with_output_inside(lines):
        return piece
    are_commands = [SHELL.match(line) is not None for line in lines]
    return _session(lines, are_commands) if any(are_commands) else _cut(with_all_rewrites(text), lines)


def _program(text: str, lines: list[str]) -> Piece | None:
    """A program with the output that stands below it; None if the text is no Python with an effect."""
    if "\n" not in text.strip() and is_joined_program(text):
        program, output = program_and_output(text)
        return Piece(code=program, output=output)
    plain, repairs = make_readable(text)
    if not does_something(plain):
        return None
    # Lines of split statements have other numbers than those of the report.
    is_split = any(repair.code == JOINED for repair in repairs)
    whole = Piece(code=text) if is_split else _without_tail(plain, lines)
    return replace(whole, output="\n".join(filter(None, [whole.output, commented_output(lines)])))


def _session_with_prompts(text: str, lines: list[str]) -> Piece | None:
    """A session of Python or IPython; None for anything else, as for code with prompts in a docstring."""
    lines = with_whole_prompts(lines[:_MOST_LINES]) + lines[_MOST_LINES:] if "> " in text else lines
    if is_python_session(lines[:_MOST_LINES]) and not does_something(text):
        return _with_prompt_as_mark(lines) or _below_head(lines, python_session)
    if is_ipython_session(lines):
        return _below_head(lines, ipython_session)
    return _outputs_only(lines) if any(map(IPYTHON_OUT.match, lines)) else None


def _with_prompt_as_mark(lines: list[str]) -> Piece | None:
    """Code above lines such as `>>> A b`, which are no Python, or `>>> [1]`: `>>>` marks the output.

    Lines `>>> [1]` that stand alone are output, too.
    """
    first = next((line for line in lines if line.strip()), "")
    marked = [line[3:].strip() for line in lines if line.startswith(">>>")]
    are_values = bool(marked) and all(map(is_literal, marked))
    if are_values and len(marked) == sum(bool(line.strip()) for line in lines):
        return Piece(output="\n".join(marked))
    if not marked or PROMPT.match(first) or (all(map(parses, marked)) and not are_values):
        return None
    code = "\n".join("" if line.startswith(">>>") else line for line in lines)
    return Piece(code=code.strip("\n"), output="\n".join(marked)) if does_something(code) else None


def _below_head(lines: list[str], session: Callable[[list[str]], Piece]) -> Piece:
    """A session, with the code without prompts above it that belongs to it, and the output of that code."""
    first = next(at for at, line in enumerate(lines) if is_prompt(line))
    head = take_apart("\n".join(lines[:first]))
    if not head.code or head.session:
        return session(lines)
    piece = session(lines[first:])
    code, output = f"{head.code.rstrip()}\n{piece.code}", "\n".join(filter(None, [head.output, piece.output]))
    return replace(piece, code=code, output=output)


def _with_output_inside(lines: list[str]) -> Piece | None:
    """Code above a traceback, or code with marked lines of output; None for anything else."""
    start = traceback_start(lines)
    if start:
        end = start
        while end and _BETWEEN.fullmatch(lines[end - 1]):
            end -= 1
        head = take_apart("\n".join(lines[:end]))
        if head.code and not head.session:
            return replace(head, output="\n".join([*filter(None, [head.output]), *lines[start:]]))
    if start == 0 and (piece := _below_traceback(lines)):
        return piece
    rest, values = split_marked_lines(lines)
    code = "\n".join(rest)
    if values and does_something(make_readable(code)[0]):
        return Piece(code=code.strip("\n"), output="\n".join(values))
    return None


def _below_traceback(lines: list[str]) -> Piece | None:
    """Code below a traceback; None for anything else."""
    last = next((at for at, line in enumerate(lines) if EXCEPTION_LINE.fullmatch(line)), len(lines))
    code = "\n".join(lines[last + 1 :]).strip("\n")
    return Piece(code=code, output="\n".join(lines[: last + 1])) if does_something(code) else None


def _session(lines: list[str], are_commands: list[bool]) -> Piece:
    """A shell session: commands, their output, and the script that one of them shows."""
    status, lines, are_commands = without_status(lines, are_commands)
    piece = shell_session(lines, are_commands)
    if piece is not None and does_something(make_readable(piece.code)[0]):
        return replace(piece, status=status, answers=answers_of_variants(lines, are_commands))
    commands = [line for line, is_command in zip(lines, are_commands, strict=True) if is_command]
    rest = [line for line, is_command in zip(lines, are_commands, strict=True) if not is_command]
    answers = answers_of_repeated_command(lines, are_commands) or answers_of_variants(lines, are_commands)
    return Piece(output="\n".join(rest), commands="\n".join(commands), status=status, answers=answers)


def does_something(text: str) -> bool:
    """True if the text is Python with an effect: it imports, calls, assigns or defines."""
    tree = tree_of(text)
    if tree is None:
        return False
    return any(isinstance(node, _EFFECTS) for node in nodes_of(tree)) and not _all_printed(tree)


def is_whole_program(text: str) -> bool:
    """Whether a block, whatever its tag, is a program: it begins with an import, and goes on."""
    first = text.lstrip().partition("\n")[0]
    return first.startswith(("import ", "from ")) and does_something(make_readable(text)[0])


def _all_printed(tree: ast.Module) -> bool:
    bound = bound_names(tree)
    printed = [_is_printed(statement, bound) for statement in tree.body]
    return all(printed) or (
        # `a = 5` above `equal: False` is printed too.
        any(printed) and all(one or _names_value(each) for one, each in zip(printed, tree.body, strict=True))
    )


def _is_printed(statement: ast.stmt, bound: AbstractSet[str]) -> bool:
    """True for text that can be parsed, but is output: `tensor(1.)`, `[1, 2]`, `loss: 0.5`."""
    if isinstance(statement, ast.AnnAssign):
        kind = statement.annotation
        return statement.value is None and not (isinstance(kind, ast.Name) and kind.id not in {"nan", "inf"})
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Call):
        # `tensor([1.]) [1.]` are two values that were printed.
        value = value.value
    if isinstance(value, ast.Call):
        of_its_own = (
            isinstance(value.func, ast.Name)
            and value.func.id in _REPRESENTATIONS
            and value.func.id not in bound
        )
        # `(20, 10) (20,)` are two tuples that were printed. No tuple can be called.
        are_literals = isinstance(value.func, ast.Tuple | ast.List | ast.Constant | ast.Dict | ast.Set)
        return of_its_own or are_literals or _is_of_library(value.func, bound) or _is_record(value, bound)
    if isinstance(value, ast.UnaryOp | ast.BinOp):
        return all(
            isinstance(part, ast.Constant | ast.UnaryOp | ast.BinOp | ast.operator | ast.unaryop)
            for part in ast.walk(value)
        )
    if isinstance(value, ast.Constant):
        return not isinstance(value.value, str)
    return isinstance(value, ast.List | ast.Tuple | ast.Dict | ast.Set) or _is_name(value, bound)


def _is_record(call: ast.Call, bound: AbstractSet[str]) -> bool:
    """True for `ModeResult(mode=2, count=1)`, if the script has no such name."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    is_named = bool(call.keywords) and not call.args and all(keyword.arg for keyword in call.keywords)
    return is_named and name[:1].isupper() and name not in bound


def _is_name(value: ast.expr, bound: AbstractSet[str]) -> bool:
    return (isinstance(value, ast.Name) and value.id not in bound) or _is_of_library(value, bound)


def _is_of_library(value: ast.expr, bound: AbstractSet[str]) -> bool:
    """True for types and constants in output: `np.float64(0.5)`, `np.True_`, `torch.float32`."""
    if (
        not isinstance(value, ast.Attribute)
        or not isinstance(value.value, ast.Name)
        or value.value.id in bound
    ):
        return False
    return re.fullmatch(SCALAR, f"{value.value.id}.{value.attr}") is not None


def _without_tail(text: str, original_lines: list[str]) -> Piece:
    """The code, without output below it that can be parsed. `original_lines`: as in the report."""
    tree = tree_of(text)
    body = tree.body if tree else []
    bound: AbstractSet[str] = bound_names(tree) if tree else set()
    count = len(body)
    while count and _is_printed(body[count - 1], bound):
        count -= 1
    end = body[count - 1].end_lineno if count else 0
    if count == len(body) or not end:
        return Piece(code="\n".join(original_lines))
    below = original_lines[end:]
    first = next((at for at, line in enumerate(below) if line.strip()), 0)
    if _CAPTION.fullmatch(below[first]):
        below = below[first + 1 :]
    return Piece(code="\n".join(original_lines[:end]), output="\n".join(below))


def _cut(text: str, original_lines: list[str]) -> Piece:
    """Code and its output below, in one block.

    The block is cut where the parser gives up, unless code follows there.
    """
    lines = text.split("\n")
    end = len(lines)
    for _ in range(_MOST_CUTS):
        at = error_line("\n".join(lines[:end]))
        if at is None or at <= 1:
            break
        end = min(at - 1, end - 1)
        head = "\n".join(lines[:end])
        if _only_names_values(head):
            # `a = 5` above lines that are no code is printed.
            break
        if parses(head):
            tail = _without_quoted_code([line for line in lines[end:] if line.strip()])
            if (
                does_something(head)
                and not any(_LIKE_CODE.match(line) for line in tail)
                and _looks_printed(tail)
            ):
                piece = _without_tail(head, original_lines[:end])
                return Piece(
                    code=piece.code, output="\n".join([piece.output, *original_lines[end:]]).strip("\n")
                )
            break
    return Piece(output="\n".join(original_lines))


def _without_quoted_code(lines: list[str]) -> list[str]:
    """The lines, without those of a package that a warning above them quotes."""
    return [
        line
        for above, line in zip(["", *lines], lines, strict=False)
        if not (line.startswith("  ") and _WARNING.search(above))
    ]


def _only_names_values(text: str) -> bool:
    tree = tree_of(text)
    return tree is not None and bool(tree.body) and all(map(_names_value, tree.body))


def _names_value(statement: ast.stmt) -> bool:
    """True for a line such as `a = 5`."""
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)


def _looks_printed(lines: list[str]) -> bool:
    return bool(lines) and _OUTPUT_SIGN.search(lines[0]) is not None


def _outputs_only(lines: list[str]) -> Piece | None:
    """A session that shows `Out[2]:`, but not `In [2]:`. A blank line ends an output."""
    code: list[str] = []
    output: list[str] = []
    is_shown = is_version = False
    for line in lines:
        out = IPYTHON_OUT.match(line)
        if out:
            is_version = bool(code) and code[-1].rstrip().endswith("__version__")
        is_shown = bool(out) or (is_shown and bool(line.strip()))
        if not is_shown:
            code.append(line)
        elif not is_version:
            output.append(line[out.end() :] if out else line)
    text = "\n".join(code).strip("\n")
    is_code = does_something(make_readable(text)[0])
    return Piece(code=text, output="\n".join(output).strip("\n"), transcript=True) if is_code else None


def without_magics(code: str) -> tuple[str, tuple[Repair, ...]]:
    """The code with `%time f(x)` timed, and with lines such as `!pip install` and `%magic` as comments.

    Code that can be parsed has none: there, such a line stands in a string.
    """
    code, repairs = with_timings(code)
    given = code.split("\n")
    lines = [inline_code(line) if line.lstrip().startswith("!") else line for line in given]
    if lines != given and parses("\n".join(lines)):
        detail = "Took the code out of a line that starts Python for it."
        return "\n".join(lines), (*repairs, Repair(code="shell_line", detail=detail))
    lines = given
    result = [f"# {line}" if _MAGIC.match(line) else line for line in lines]
    count = sum(one != other for one, other in zip(lines, result, strict=True))
    if not count or parses(code):
        return code, repairs
    detail = f"Made {count} lines for a shell or a notebook comments."
    return "\n".join(result), (*repairs, Repair(code="shell_line", detail=detail))
