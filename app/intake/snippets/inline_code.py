"""Finds a script whose statements each stand between backticks, on a line or a list item of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.code.syntax import parses, tree_of
from app.intake.sessions.shell_sessions import inline_code
from app.intake.text.forms.prose_calls import call_of_words, statements_of_ticks
from app.intake.words.languages import in_english
from app.intake.words.vocabulary import EXCEPTION_LINE

_STATEMENT = re.compile(
    r"[ \t>]*+(?:(?:\d{1,3}[.)]|[-*+])[ \t]*+)?(?P<ticks>`{1,2})(?P<code>[^`\n]{2,1000})(?P=ticks)"
    r"[.,;:]?[ \t]*$"
)
_LEAST = 2
_SNIPPET = re.compile(r"(?<!`)`([^`\n]{2,400})`(?!`)")
_IMPORT = re.compile(r"(?:import|from) \w")
EXCEPTION_BELOW = re.compile(
    r"^[ \t]*(?:[\w.]{1,80}\.)?[A-Z]\w{1,60}(?:Error|Exception): |^Traceback", re.MULTILINE
)
_FAILURE = (
    r"(?:crash\w*|fails?|failing|raises?|throws?|errors?|exception|segfaults?|hangs?|breaks?"
    r"|does(?:n['’]t| not) work)\b"
)
_FAILS = re.compile(rf"\b{_FAILURE}", re.IGNORECASE)
# `f(1)` returns 2, `f(1)` raises a ValueError.
_DOES = re.compile(
    r"[ \t]*(?:(?:→|⟶|[-=]{1,2}>)(?=[ \t`])"
    r"|(?:now |still |wrongly |currently |just |simply |always |which |it )?"
    rf"(?:returns?|gives?|yields?|prints?|outputs?|evaluates? to|results? in|leads? to|は|{_FAILURE}))",
    re.IGNORECASE,
)
# Calling `f(1)` ends in an error.
_RUN = re.compile(
    r"\b(?:call(?:ing|s)?|run|running|execut(?:e|ing)|evaluat(?:e|ing)|doing|typ(?:e|ing)|line|statement"
    r"|when (?:i|we|you|one) \w{2,10})\b[^.\n]{0,30}$",
    re.IGNORECASE,
)
# Expected `f(1)` to be 2, but it is 3.
_EXPECTED = re.compile(r"\bexpect(?:ed|s)?(?: that)? $", re.IGNORECASE)
_TO_BE = re.compile(r" (?:to|would|should|must) (?:be|return|give|equal|print|yield)\b", re.IGNORECASE)
# The words that say that a value is right, or that another program computes it.
_IS_FINE = re.compile(
    r"[^.;\n]{0,80}?(?:\b(?:which|that|this) (?:is|looks) (?:right|correct|fine|ok|expected|good)\b"
    r"|\bcorrectly\b"
    r"|\bas (?:it should|expected)\b)",
    re.IGNORECASE,
)
_OF_OTHER_TOOL = re.compile(
    r"\b(?:[Ii]n|[Ww]ith|[Uu]sing|[Bb]y) (?:R|MATLAB|Matlab|Octave|Julia|Mathematica|Maple|Excel"
    r"|JavaScript|Wolfram\w*|Sage)\b"
    r"[^.;\n`]{0,30}$"
)
# `**f(1)** gives 2`: bold type in place of backticks.
_BOLD_CALL = re.compile(
    r"(?<![\w*`])(?P<mark>\*\*|__)(?P<code>[^\s*_`(][^*`\n(]{0,80}\([^*`\n]{1,200}\))(?P=mark)(?![\w*])"
)
# The code of `python -c "import x; print(x.f())"`, which does more than print a version.
_IS_SCRIPT = re.compile(r"(?!.{0,400}(?:__version__|sys\.version))(?:import |from \w|print\()")
_MOST_STATEMENTS = 30
_MOST_AROUND = 200


def statements_in_sentence(texts: Sequence[str]) -> tuple[int, list[str]] | None:
    """(text, statements) of the first sentence such as `Run `import math`, then `math.sqrt(-1)``.

    The first statement imports something. Snippets that are no Python end the run.
    """
    for at, text in enumerate(texts):
        snippets = [match[1].strip() for match in _SNIPPET.finditer(text)]
        start = next((place for place, snippet in enumerate(snippets) if _IMPORT.match(snippet)), None)
        if start is None:
            continue
        statements: list[str] = []
        for snippet in snippets[start:]:
            if not parses(snippet) or EXCEPTION_LINE.fullmatch(snippet):
                break
            statements.append(snippet)
        if len(statements) >= _LEAST and not all(map(_IMPORT.match, statements)):
            return at, statements
    return None


def only_statement(texts: Sequence[str], *, fails: bool) -> tuple[int, str] | None:
    """(text, statement) of the first statement in a sentence that says what it does; None without one.

    It computes something of values, as no mere name of a function does. `fails`: the report shows an error,
    so that a statement on a line of its own is the one that raises it.
    """
    texts = [_BOLD_CALL.sub(r"`\g<code>`", text) if "(" in text else text for text in texts]
    if (session := statements_of_ticks(texts)) is not None:
        return session
    tries = 0
    above = ""
    for at, text in enumerate(map(in_english, texts)):
        for match in _SNIPPET.finditer(text):
            if tries == _MOST_STATEMENTS:
                return None
            tries += 1
            code = inline_code(match[1])
            if code != match[1] and _IS_SCRIPT.match(code) and parses(code):
                return at, code
            if _is_to_run(text, match, above, fails=fails) and _computes(match[1].strip()):
                return at, match[1].strip()
        above = text
    return call_of_words(texts)


def _is_to_run(text: str, match: re.Match[str], above: str, *, fails: bool) -> bool:
    """Whether the words around a statement say what it does."""
    before, behind = text[: match.start()][-_MOST_AROUND:], text[match.end() :][:_MOST_AROUND]
    of_line = f"{before.rpartition(chr(10))[2]}{behind.partition(chr(10))[0]}"
    if not of_line.strip(" \t.,:;"):
        return fails or _FAILS.search(f"{above[-_MOST_AROUND:]} {before} {behind}") is not None
    if _IS_FINE.match(behind) or _OF_OTHER_TOOL.search(before):
        return False
    if _DOES.match(behind) or (_EXPECTED.search(before) and _TO_BE.match(behind)):
        return True
    return _RUN.search(before) is not None and _FAILS.search(f"{before} {behind}") is not None


def _computes(statement: str) -> bool:
    """Whether it is one statement that calls something with a value that stands in it."""
    tree = tree_of(statement)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr | ast.Assign):
        return False
    if EXCEPTION_LINE.fullmatch(statement):
        return False
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.Constant) and node.value is Ellipsis for node in nodes):
        return False
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    value = tree.body[0].value
    if not calls:
        # `7 // -2` is an operation on values, and nothing else.
        has_name = any(isinstance(node, ast.Name) for node in nodes)
        return isinstance(value, ast.BinOp | ast.Compare | ast.UnaryOp) and not has_name
    return any(
        isinstance(node, ast.Constant)
        for call in calls
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]
        for node in ast.walk(argument)
    )


def inline_statements(texts: Sequence[str]) -> tuple[int, int, list[str]] | None:
    """(first text, text after the last, statements) of the first run of such lines; None without any.

    `texts` are paragraphs that follow each other. Only whole paragraphs count, so that prose keeps its place.
    """
    start: int | None = None
    statements: list[str] = []
    for at, text in enumerate([*texts, ""]):
        lines = [line for line in text.split("\n") if line.strip()]
        matches = [_STATEMENT.match(line) for line in lines]
        if lines and all(matches):
            start = at if start is None else start
            statements += [match["code"] for match in matches if match]
        elif start is not None:
            if len(statements) >= _LEAST:
                return start, at, statements
            start, statements = None, []
    return None
