"""Finds the anchor of a check: the line of the script, as it is run, that prints or raises it.

A failure without an anchor may have nothing to do with the script at all. That is noted too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.errors import InputError
from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.claim.comments import statements_with_values
from app.intake.claim.endings import ending_of
from app.intake.code.definitions_only import leaves_calls_to_decorators
from app.intake.code.names import mentioned_names
from app.intake.code.points import calls_by_name, points_on
from app.intake.code.syntax import dotted_name, nodes_of, parse
from app.intake.exhibits.commented_errors import marked_lines
from app.intake.snippets.output_marks import without_signs_of_tracebacks
from app.intake.words.vocabulary import strip_quotes

_HEAD = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s*File "(?P<file>[^"\n]{1,400})", line \d{1,9}(?:, in (?P<name>\S{1,200}))?')
# The headings of frames in IPython.
_HEADS_OF_CELLS = ("<ipython-input", "Cell In", "Input In", "File ", "/", "~/")
_NAME = re.compile(r"(?:^| )in (?P<name>\w{1,100})\(")
_ARROW = re.compile(r"^-{2,6}> ?\d{1,6} (?P<code>\S.*)$")
_LIBRARY = re.compile(
    r"site-packages|dist-packages|[/\\]lib[/\\]python|[/\\]Lib[/\\]|<frozen |<__array_function__"
)
_MARKS = re.compile(r"^[\s~^]+$")
_FAILURE = re.compile(r"^(?:[A-Za-z_]\w*\.)*(?P<type>[A-Za-z_]\w*)(?::|$)")
# Code that a compiler replaces can't be observed inside: there it is the line of the call that counts.
_COMPILES = re.compile(r"\bcompile\b|\bjit\b|\bexport\b|\bmake_fx\b|\bsymbolic_trace\b")
_MOST_LINES = 20_000
_MOST_OUTER = 6
_LEAST_WORDS = 4
_PRINTED = {CheckKind.OUTPUT, CheckKind.VALUE}
# Failures that show nothing of the script. A "no" to one of them needs that the script is about it.
_FAILURES = {
    CheckKind.EXCEPTION,
    CheckKind.CRASH,
    CheckKind.EXIT_STATUS,
    CheckKind.HANG,
    CheckKind.OUT_OF_MEMORY,
    CheckKind.NO_ERROR,
}
# Names of two letters count, too, unless they are words or the usual names of modules.
_WORD = re.compile(
    r"[A-Za-z_]\w{2,}"
    r"|(?<!\w)(?!(?i:a[mnst]|b[ey]|do|go|he|i[fnst]|m[ey]|no|n[px]|o[fhknrs]|pd|re|so|sp|tf|to|u[ps]|we|xr)\b)[a-z]\w(?!\w)"
)
# The names of most scripts, and words that are names in some.
_COMMON_TEXT = """
all and args case code data dict error example float for from import input int kwargs len list main
name not numpy one out output print range result self set str test the torch type value values with
"""
_COMMON = frozenset(_COMMON_TEXT.split())
# The words for what a script does without a name. Messages have types between quotes: `'dict' and 'dict'`.
_OF_SYNTAX: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Slice: ("slice", "slices", "sliced", "slicing"),
    ast.For: ("loop", "loops"),
    ast.While: ("loop", "loops"),
    ast.Lambda: ("lambda", "lambdas"),
    ast.ListComp: ("comprehension",),
    ast.DictComp: ("comprehension",),
    ast.Await: ("await", "awaited", "awaiting"),
    ast.Dict: ("'dict'",),
    ast.List: ("'list'",),
    ast.Set: ("'set'",),
    ast.Tuple: ("'tuple'",),
    ast.MatMult: ("matmul",),
    ast.Div: ("divide", "division", "divided"),
    ast.FloorDiv: ("floordiv", "division"),
    ast.Mult: ("multiply", "multiplied"),
    ast.Pow: ("power",),
    ast.Mod: ("remainder", "modulo"),
    ast.Sub: ("subtract",),
}
_WORD_OF_SYNTAX = re.compile(r"'(?:dict|list|set|tuple)'|[a-z]{4,13}")
# `It gets killed` is about the script of the report.
_OF_THE_PROCESS = {CheckKind.CRASH, CheckKind.HANG, CheckKind.OUT_OF_MEMORY}
_BLANK = re.compile(r"\n[ \t]*\n")
_MOST_PARAGRAPH = 5_000
_OF_FAILURES = re.compile(
    r"error|exception|rais|throw|fail|crash|fault|hang|memory|exit|abort|kill|break|broken|refuse|reject"
    r"|(?:divides?|divided|division) by zero|n(?:o|['’])t (?:work|run|supported|implemented|allowed)"
    r"|unsupported",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
# The kernel's log names the process: `python[4711]: segfault at 0`.
_THE_SCRIPT = re.compile(
    r"\b(?:it|this|(?:the|my) (?:script|code|program|snippet|example)|interpreter)\b"
    r"|\bpython[\d.]{0,6}\[\d{1,9}\]",
    re.IGNORECASE,
)
# `SomeError: message` at the second step.
_AT_STATEMENT = re.compile(
    r"\b(?:at|on|in|by|with|from) (?:the |its )?(?:first|second|third|fourth|fifth|last|\d(?:st|nd|rd|th))"
    r"(?: and last)? (?:step|statement|line|call|command|instruction|one|print)\b",
    re.IGNORECASE,
)
_LONG_NAME = 6
# `I run this and get "tuple index out of range"`.
_RUN_AND_GET = re.compile(
    r"\b(?:run(?:ning)?|ran|execut(?:e|ed|ing)|tr(?:y|ied|ying)) (?:it|this|that"
    r"|(?:this|the)(?: \w{1,12}){0,2} (?:code|script|snippet|example|above|program|cell|line))\b[^.;\n]{0,60}"
    r"\b(?:gets?|got|gives?|gave|raises?|raised|throws?|threw|fails?|failed|results? in|leads? to)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Frame:
    """One frame of a traceback. `code` is the line that it quotes, `is_plain` False for one of IPython."""

    in_library: bool
    name: str = ""
    is_plain: bool = True
    code: str = ""


@dataclass(slots=True)
class _Traceback:
    """The frames of a traceback, the outermost first, and the last name of the type of its failure."""

    frames: list[_Frame] = field(default_factory=list)
    failure: str = ""


def with_anchors(claim: Claim, script: str, texts: Sequence[str]) -> Claim:
    """The claim with the anchors of its bugs in the script as run, those of its further readings too.

    `texts` are the texts that may show tracebacks.
    """
    try:
        tree = parse(script)
    except InputError:
        return claim
    places = _Places(script, tree, [each for text in texts for each in _tracebacks(text)])
    return _anchor(claim, places)


def with_ties(claim: Claim, script: str, texts: Sequence[str]) -> Claim:
    """The claim, in which failures that nothing ties to the script as run are marked as loose.

    A failure is tied by its anchor, and by a name of the script or a word for its syntax in its paragraph or
    in the title. The end of the process is tied by `it`, too. `texts` hold the paragraphs.
    """
    try:
        tree = parse(script)
    except InputError:
        return claim
    # `rich.errors.MarkupError` is an error of the package from which the script imports.
    roots = {
        (node.module or "").partition(".")[0] for node in nodes_of(tree) if isinstance(node, ast.ImportFrom)
    }
    names = (mentioned_names(tree) | roots - {""}) - _COMMON
    names.update(word for node in nodes_of(tree) for word in _OF_SYNTAX.get(type(node), ()))
    paragraphs = [each[:_MOST_PARAGRAPH] for text in texts for each in _BLANK.split(text)]
    return _mark_loose(claim, None if leaves_calls_to_decorators(tree) else names, paragraphs)


def _mark_loose(claim: Claim, names: set[str] | None, paragraphs: Sequence[str]) -> Claim:
    """`names` are those of the script; None if it may call nothing at all."""
    checks = tuple(
        check.model_copy(update={"loose": _is_loose(check, claim.text, names, paragraphs)})
        for check in claim.checks
    )
    further = tuple(_mark_loose(other, names, paragraphs) for other in claim.further)
    return claim.model_copy(update={"checks": checks, "further": further})


def speaks_of_failure(title: str) -> bool:
    """Whether a title is about an error or the end of the process, and not about a value."""
    return _OF_FAILURES.search(title) is not None


def _is_loose(check: Check, title: str, names: set[str] | None, paragraphs: Sequence[str]) -> bool:
    if check.role is not Role.BUG or check.kind not in _FAILURES or check.at is not None:
        return False
    if names is None:
        return True
    if check.kind in _OF_THE_PROCESS and any(
        _THE_SCRIPT.search(each) for each in (check.text, *_paragraphs_of(check.kind, paragraphs))
    ):
        return False
    if (
        check.kind is CheckKind.EXCEPTION
        and check.message
        and (_RUN_AND_GET.search(check.text) or _AT_STATEMENT.search(check.text))
    ):
        return False
    asserts = check.exception_type == AssertionError.__name__ and bool(check.message)
    if asserts and any("assert" in name.lower() for name in names):
        # The message is that of a function of the script: `assert_close`.
        return False
    own = next((each for each in paragraphs if check.text and check.text in each), "")
    # A title that speaks of no failure may be about something else than the one that the report shows.
    about = title if check.kind is CheckKind.NO_ERROR or speaks_of_failure(title) else ""
    text = f"{check.text} {check.message or ''} {about} {own}"
    words = {*_WORD.findall(text), *_WORD_OF_SYNTAX.findall(text.lower())}
    # In a title, `onehotencoder` is `OneHotEncoder`.
    lower = {name.lower() for name in names if len(name) >= _LONG_NAME}
    return not (names & words or lower & {word.lower() for word in words})


def _paragraphs_of(kind: CheckKind, paragraphs: Sequence[str]) -> Iterator[str]:
    """The sentences of the paragraphs that say that the process ends so."""
    for paragraph in paragraphs:
        for sentence in _SENTENCE.split(paragraph):
            ending = ending_of(sentence)
            if ending is not None and ending.kind is kind:
                yield sentence


def _anchor(claim: Claim, places: _Places) -> Claim:
    checks = tuple(places.anchor(check) if check.role is Role.BUG else check for check in claim.checks)
    further = tuple(_anchor(other, places) for other in claim.further)
    return claim.model_copy(update={"checks": checks, "further": further})


class _Places:
    """The lines of a script, and the tracebacks of its report."""

    def __init__(self, script: str, tree: ast.Module, tracebacks: Sequence[_Traceback]) -> None:
        self._lines = [line.strip() for line in script.split("\n")]
        for each in tree.body:
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                # A string that stands alone may hold the traceback, which quotes the code.
                self._lines[each.lineno - 1 : each.end_lineno] = [""] * (
                    (each.end_lineno or 0) - each.lineno + 1
                )
        self._tree = tree
        self._tracebacks = tracebacks
        self._compiles = _COMPILES.search(script) is not None
        self._values = statements_with_values(script)
        self._marked = marked_lines(script)

    def anchor(self, check: Check) -> Check:
        """The check with its anchor, if there is one. One that was given stays."""
        if check.at is not None or (check.script is not None and check.script.number != 1):
            return check
        lines = (
            self._of_failure(check)
            or self._of_own_message(check)
            or self._of_assertion(check)
            or self._of_comment(check)
            or self._of_mark(check)
            or self._of_print(check)
        )
        if not lines or not all(points_on(self._tree, line) for line in lines):
            return check
        return check.model_copy(update={"at": lines[-1], "through": tuple(lines[:-1])})

    def _of_failure(self, check: Check) -> list[int]:
        """The lines of the frames of the traceback that shows the failure, the outermost first."""
        tracebacks = [each for each in self._tracebacks if check.exception_type == each.failure]
        if check.exception_type is None or not tracebacks:
            return []
        lines: list[int] = []
        for frame in tracebacks[-1].frames:
            line = self._of_name(frame.name) if frame.in_library else self._of_code(frame.code)
            if frame.in_library:
                # The first function of a library names the call of the script.
                return lines or ([line] if line else [])
            if line is not None and line not in lines:
                lines.append(line)
            if lines and self._compiles:
                return lines
        return lines[-_MOST_OUTER:]

    def _of_code(self, code: str) -> int | None:
        """The only line with this code."""
        lines = [number for number, line in enumerate(self._lines, 1) if line == code] if code else []
        return lines[0] if len(lines) == 1 else None

    def _of_name(self, name: str) -> int | None:
        """The only call of a function with this name."""
        lines = calls_by_name(self._tree, name) if name.isidentifier() else []
        return lines[0] if len(lines) == 1 else None

    def _of_own_message(self, check: Check) -> list[int]:
        """The only statement of the script that makes this message: `assert …, f"{a} is not {b}"`."""
        if not check.message:
            return []
        lines = [
            node.lineno
            for node in nodes_of(self._tree)
            if isinstance(node, ast.Assert | ast.Raise)
            and _makes(node.msg if isinstance(node, ast.Assert) else node.exc, check)
        ]
        return lines if len(lines) == 1 else []

    def _of_assertion(self, check: Check) -> list[int]:
        """The only assertion of the script, for a report that says no more than that it fails."""
        if check.exception_type != AssertionError.__name__ or check.message:
            return []
        lines = [node.lineno for node in nodes_of(self._tree) if isinstance(node, ast.Assert)]
        return lines if len(lines) == 1 else []

    def _of_comment(self, check: Check) -> list[int]:
        """The only statement beside which a comment shows the value or the failure."""
        names = {strip_quotes(line) for line in (*check.lines, check.number or "") if line}
        if check.exception_type:
            names.add(check.exception_type)
        lines = [
            line
            for line, value in self._values
            if strip_quotes(value) in names or value.partition(":")[0] in names
        ]
        return lines if len(lines) == 1 else []

    def _of_mark(self, check: Check) -> list[int]:
        """The only line of which a comment says that it fails, for a failure."""
        return self._marked if check.kind in _FAILURES and len(self._marked) == 1 else []

    def _of_print(self, check: Check) -> list[int]:
        """The only call that prints, for a claim about output."""
        if check.kind not in _PRINTED:
            return []
        prints = [
            node.lineno
            for node in nodes_of(self._tree)
            if isinstance(node, ast.Call) and dotted_name(node.func) in {("print",), ("pprint",)}
        ]
        return prints if len(prints) == 1 else []


def _makes(text: ast.expr | None, check: Check) -> bool:
    """Whether the fixed words of an expression stand in a message, in order; some of them are needed."""
    if text is None or (
        isinstance(text, ast.Call) and dotted_name(text.func)[-1:] != (check.exception_type,)
    ):
        return False
    words = [
        node.value.strip()
        for node in ast.walk(text)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip()
    ]
    at, message = 0, check.message or ""
    for each in words:
        at = message.find(each, at)
        if at < 0:
            return False
        at += len(each)
    return sum(map(len, words)) >= _LEAST_WORDS


def _tracebacks(text: str) -> Iterator[_Traceback]:
    """The tracebacks of Python and of IPython in a text."""
    current: _Traceback | None = None
    for raw in without_signs_of_tracebacks(text).split("\n")[:_MOST_LINES]:
        line = raw.lstrip().removeprefix(">").removeprefix(" ") if raw.lstrip().startswith(">") else raw
        if _HEAD in line:
            if current is not None and current.failure:
                yield current
            current = _Traceback()
        elif current is not None and not current.failure:
            _take(current, line.rstrip())
    if current is not None and current.failure:
        yield current


def _take(traceback: _Traceback, line: str) -> None:
    """Take the next line of a traceback."""
    last = traceback.frames[-1] if traceback.frames else None
    if frame := _FRAME.match(line):
        traceback.frames.append(_Frame(_LIBRARY.search(frame["file"]) is not None, frame["name"] or ""))
    elif arrow := _ARROW.match(line):
        if last is not None and not last.code:
            last.code = arrow["code"].strip()
    elif line.startswith(_HEADS_OF_CELLS):
        name = _NAME.search(line)
        traceback.frames.append(_Frame(_is_library(line), name["name"] if name else "", is_plain=False))
    elif line.startswith("  "):
        if last is not None and last.is_plain and not last.code and not _MARKS.match(line):
            last.code = line.strip()
    elif failure := _FAILURE.match(line):
        traceback.failure = failure["type"]


def _is_library(line: str) -> bool:
    """Whether the heading of a frame in IPython names a file, and no cell."""
    return _LIBRARY.search(line) is not None or line.startswith(("/", "~/", "File ~", "File /"))
