"""Reads claims in a script's own comments: after `# Claim:`, and beside calls that print."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from itertools import islice
from typing import TypeGuard

from app.intake.code.syntax import dotted_name, nodes_of, normalise, tree_of
from app.intake.memory import remembers
from app.intake.words.comment_forms import in_one_form, is_of_version, is_row_of_values, tells_of_before
from app.intake.words.values_by_version import values_by_version
from app.intake.words.vocabulary import DTYPE, INSTEAD, MODALS, SHOW, any_of, is_printed_line

_CLAIM = re.compile(r"#+\s*claim\s*:\s*(.*)", re.IGNORECASE)
_VALUE = re.compile(
    r"(?:(?P<told>prints?|outputs?|returns?|gives?|evaluates? to|yields?|shows?|displays?|is|output|result"
    r"|got|=+>|-+>|>>>?|→)\s*+:?\s*+)?(?P<value>(?P<open>(?:tensor|array|torch\.Size"
    r"|(?-i:(?:[a-z]\w{0,30}\.){0,3}(?!\w{0,60}(?:Error|Exception)\b)[A-Z]\w{1,60}))\(|[\[({])"
    r"|[-+]?(?:\d[\d_.]*(?:e[-+]?\d+)?|nan|inf)j?|True|False|None|[A-Z]\w*(?:Error|Exception)(?::.*)?"
    rf"|{DTYPE})",
    re.IGNORECASE,
)
_JUDGED_WRONG = re.compile(
    r"\b(?:wrong|incorrect|bad|bug|unexpected|should(?:n't| not| be| have been)|must(?:n't| not)? be"
    r"|(?:has|ought) to be|error here|instead of|rather than|(?:not|never) (?:as )?expected)\b"
    r"|\bexpected:? +(?=[\[({\d+-]|tensor\(|array\(|(?:True|False|None|nan|inf)\b)|[!✗❌]{1,3}\s*$",
    re.IGNORECASE,
)
_JUDGED_RIGHT = re.compile(
    r"\b(?:right|correct|ok|okay|good|expected|fine|as it should)\b|[✓✔✅]",
    re.IGNORECASE,
)
_PRINT_CALL = re.compile(r"(?:print|pprint|display) ?\(.*\)\W*$")
# In `False, there are duplicates` and `False with numpy 1.17`, words only explain the value.
_CONSTANT_FIRST = re.compile(
    r"(?P<value>True|False|None)(?:[,;(–—]| --?| (?:with|in|on|under|since|from|for|here) )\s*(?P<rest>.*)$"
)
_JUDGED = re.compile(rf"{_JUDGED_WRONG.pattern}|{_JUDGED_RIGHT.pattern}", re.IGNORECASE)
_AN_ERROR = re.compile(r"[A-Z]\w{0,100}(?:Error|Exception)\b")
_MOST_COMMENT = 500
_OPERATIONS = (ast.Compare, ast.Attribute, ast.Subscript, ast.BinOp)
_MOST_WORDS = 3
# The line `# but should be 3` below a comment with a value.
_WISH = re.compile(
    rf"#+ ?(?:but |and )?(?:it |this )?(?:{any_of(MODALS)} {any_of(SHOW)}|expect(?:ed|ing)?:?"
    rf"|correct(?: is|:)"
    r"|(?:i|we)(?:['’]d| would)? (?:have )?expect(?:ed)?:?) (?P<value>\S.{0,120})",
    re.IGNORECASE,
)
# Matches the words in `WRONG, must be tensor(3)`.
_EXPECTED = re.compile(
    rf"\b(?:{any_of(MODALS)} {any_of(SHOW)}|expected|{any_of(INSTEAD)}|not|but|correct is)\b:?\s*",
    re.IGNORECASE,
)
# `# ... u2 [1. nan]` below a print, and `# Bad, a nan` below that.
_MARKED_OUTPUT = re.compile(r"#+ ?(?:\.\.\.|…|>>>?|[-=]+>|→) ?(?P<output>\S.{0,400})")
_MARKED_WRONG = re.compile(
    r"#+ ?(?:bad|wrong|incorrect|not (?:ok|right|good|correct)|bug|fail(?:s|ed|ure)?)\b", re.IGNORECASE
)
_LABEL = re.compile(r"print\(\s{0,4}(?P<quote>[\"'])(?P<label>[^\"'\\\n]{1,60})(?P=quote)\s{0,4},")
# `1,000,000.001 which is wrong`.
_GROUPED = re.compile(r"(?P<value>-?\d{1,4}(?:,\d{3,4})+(?:\.\d{1,20})?)(?![\d,])\s*(?P<rest>.{0,200})")
_OUTPUT_BELOW = re.compile(
    r"#+\s*(?:the |my |actual |real )?(?:outputs?|prints?|results?|stdout|printed|i get|we get|gives?"
    r"|shows?)\s*+:?\s*$",
    re.IGNORECASE,
)
_EXPECTED_BELOW = re.compile(
    r"#+\s*(?:expected|should (?:be|print|give)|correct)\b(?: outputs?| results?)?\s*+:?\s*$", re.IGNORECASE
)


def comment_claim(script: str) -> str | None:
    """The claim in the leading comments: the text after `# Claim:` and the comment lines that follow."""
    claim_lines: list[str] = []
    inside = False
    for line in script.splitlines():
        text = line.strip()
        if not text.startswith("#"):
            if text:
                break
            inside = False
            continue
        match = _CLAIM.match(text)
        if match:
            claim_lines.append(match[1])
            inside = True
        elif inside:
            claim_lines.append(text.lstrip("#").strip())
    return "\n".join(claim_lines).strip() or None


def commented_outputs(script: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The outputs in comments beside top-level calls: (wrong or without a judgement, right)."""
    text = normalise(script)
    tree = tree_of(text)
    if tree is None:
        return (), ()
    comments = _trailing_comments(text)
    literals = _texts_in(tree)
    wrong: list[str] = []
    right: list[str] = []
    shown_right: list[str] = []
    # All values in order, each wrong one replaced.
    mended: list[str] = []
    lines = text.split("\n")
    # A script that prints nothing shows its bare comparisons, as at a prompt.
    shows_value = (ast.Call,) if "print(" in text else (ast.Call, *_OPERATIONS)
    for at, statement in enumerate(tree.body):
        is_shown = isinstance(statement, ast.Expr) and isinstance(statement.value, shows_value)
        if not is_shown and not ("print(" not in text and assigns_result(statement)):
            continue
        if pasted_lines := _string_below(tree.body[at + 1 : at + 2]):
            wrong += pasted_lines
            continue
        comment = comments.get(statement.end_lineno or 0) or _comment_below(
            lines, statement, prints="print(" in text
        )
        if comment and (wish := _wish_below(lines, statement)):
            comment = f"{comment} should be {wish}"
        if comment and (placed := values_by_version(comment)):
            wrong.append(placed[0])
            right.append(placed[1])
            mended.append(placed[1])
            continue
        value, judgement = _value_of(comment, literals) if comment else (None, "")
        if value is None or _is_no_claim(lines, statement, value, prints="print(" in text):
            continue
        is_right = _JUDGED_RIGHT.search(judgement) is not None and _JUDGED_WRONG.search(judgement) is None
        (shown_right if is_right else wrong).append(value)
        expected_value = value if is_right else _expected_value(judgement)
        right += [expected_value] if expected_value else []
        mended.append(expected_value or value)
    if not wrong and not right:
        return _values_below(text, tree)
    # A value that is right in one place and wrong in another belongs to both.
    values = (*wrong, *(value for value in shown_right if value in wrong))
    is_replaced = len(right) > len(shown_right) and set(right) <= set(values)
    return values, tuple(mended if is_replaced else right)


def _texts_in(tree: ast.Module) -> set[str]:
    """The texts of a script but those that `print` puts before a value, as in `print("compiled", x)`."""
    nodes = nodes_of(tree)
    labels = {
        argument
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
        and len(node.args) > 1
        for argument in node.args
    }
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in labels
    }


def _values_below(text: str, tree: ast.Module) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(wrong, right) values in comments below the last statement."""
    lines = text.split("\n")
    last = max((statement.end_lineno or 0 for statement in tree.body), default=0)
    if any(line.startswith("#") and _OUTPUT_BELOW.match(line) for line in lines[:last]):
        # Each statement has its own output, which the layout reads.
        return (), ()
    printed_lines, expected_lines = _below(text, last)
    printed_lines = printed_lines or _one_for_each_print(lines[last:], tree)
    return tuple(printed_lines or _marked_wrong(lines)), tuple(expected_lines)


def _is_no_claim(lines: Sequence[str], statement: ast.stmt, value: str, *, prints: bool) -> bool:
    """Whether a value beside a statement is a version, one of before, or an error in place of a value."""
    line = lines[(statement.end_lineno or 1) - 1].partition("#")[0][-_MOST_COMMENT:]
    above = lines[statement.lineno - 2] if statement.lineno > 1 else ""
    # A script that prints nothing raises the error. It does not show it.
    is_error = _AN_ERROR.match(value) is not None and not prints
    return is_error or is_of_version(line, value) or tells_of_before(above[:_MOST_COMMENT])


def assigns_result(statement: ast.stmt) -> TypeGuard[ast.Assign]:
    """Whether a statement gives one name the result of a call or an operation, which a comment may show."""
    return (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Call | ast.BinOp | ast.Compare | ast.Subscript | ast.Attribute)
    )


def _one_for_each_print(below: Sequence[str], tree: ast.Module) -> list[str]:
    """Comments below the last statement, if each looks printed, and there is one for each call of `print`."""
    prints = sum(
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and dotted_name(statement.value.func) == ("print",)
        and bool(statement.value.args)
        for statement in tree.body
    )
    comments = [line.strip().lstrip("#").strip() for line in below if line.strip().startswith("#")]
    comments = [comment[:_MOST_COMMENT] for comment in comments if comment]
    is_output = 1 < len(comments) == prints and all(map(is_printed_line, comments))
    return comments if is_output else []


def _marked_wrong(lines: Sequence[str]) -> list[str]:
    """The outputs in comments below prints whose next comment calls them wrong."""
    return [
        _with_label(call, match["output"].strip())
        for call, comment, mark in zip(lines, lines[1:], lines[2:], strict=False)
        if call.startswith("print(")
        and (match := _MARKED_OUTPUT.fullmatch(comment.strip()))
        and _MARKED_WRONG.match(mark)
        and is_printed_line(match["output"])
    ]


def _with_label(call: str, output: str) -> str:
    """The output with the text that the call prints before its values, if the comment leaves it out."""
    label = _LABEL.match(call)
    if label is None or label["label"].strip() in output:
        return output
    return f"{label['label'].rstrip()} {output}"


def _string_below(following: Sequence[ast.stmt]) -> list[str]:
    """The printed lines in a bare string below a call: somebody pasted the output there."""
    value = following[0].value if following and isinstance(following[0], ast.Expr) else None
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
        return []
    lines = [line.strip() for line in value.value.splitlines() if line.strip()]
    if any(_EXPECTED_BELOW.match(f"# {line}") for line in lines):
        # Both sides are read by the layout.
        return []
    if len(lines) > 1 and _OUTPUT_BELOW.fullmatch(f"# {lines[0]}"):
        return lines[1:]
    return lines if all(map(is_printed_line, lines)) else []


def _comment_below(lines: Sequence[str], statement: ast.stmt, *, prints: bool) -> str | None:
    """The comment on the line below a call that prints, if it is nothing but a value.

    Unless the script `prints`, every call shows its value.
    """
    value = statement.value if isinstance(statement, ast.Expr) else None
    path = dotted_name(value.func) if isinstance(value, ast.Call) else ()
    at = statement.end_lineno or 0
    line = lines[at].strip() if at < len(lines) else ""
    shows_value = isinstance(value, (ast.Call, *_OPERATIONS))
    is_shown = path[-1:] == ("print",) or (shows_value and not prints)
    # Errors in comments are read by another rule.
    is_error = re.search(r"\b[A-Z]\w{0,100}(?:Error|Exception)\b", line) is not None and path[-1:] != (
        "print",
    )
    if not is_shown or is_error or not line.startswith("#") or lines[at][:1].isspace():
        return None
    comment = line.lstrip("#").strip()[:_MOST_COMMENT]
    seen, rest = _value_of(comment, set())
    following = lines[at + 1].strip() if at + 1 < len(lines) else ""
    goes_on = following.startswith("#") and not _WISH.match(following)
    return comment if seen is not None and not goes_on and (not rest or _JUDGED.search(rest)) else None


def _wish_below(lines: Sequence[str], statement: ast.stmt) -> str | None:
    """The right value that the comment below the one with a printed value names: `# but should be 3`."""
    at = statement.end_lineno or 0
    own = "#" in lines[at - 1]
    below = lines[at if own else at + 1 : at + 3]
    wish = _WISH.match(below[0].strip()) if below else None
    goes_on = len(below) > 1 and below[1].strip().startswith("#")
    return wish["value"] if wish and (not goes_on or own) else None


def lines_with_values(script: str) -> set[int]:
    """The lines of the script with a comment beside the code that shows a value."""
    comments = _trailing_comments(script)
    tree = tree_of(script) if "print(" not in script else None
    lines = script.split("\n")
    below = {
        statement.end_lineno or 0
        for statement in (tree.body if tree is not None else ())
        if isinstance(statement, ast.Expr) and _comment_below(lines, statement, prints=False)
    }
    return below | {
        line
        for line, comment in comments.items()
        if values_by_version(comment) or _value_of(comment, set())[0] is not None
    }


def statements_with_values(script: str) -> list[tuple[int, str]]:
    """The line and the value of each statement of the script with a comment beside it that shows a value."""
    comments = _trailing_comments(script)
    values = ((line, _value_of(comment, set())[0]) for line, comment in comments.items())
    return [(line, value) for line, value in values if value is not None]


@remembers()
def _trailing_comments(text: str) -> dict[int, str]:
    """The comments that stand beside code, by line number."""
    comments: dict[int, str] = {}
    if "#" not in text:
        return comments
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and lines[token.start[0] - 1][: token.start[1]].strip():
                comments[token.start[0]] = token.string.lstrip("# ").strip()[:_MOST_COMMENT]
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return comments
    return comments


def _value_of(comment: str, literals: set[str]) -> tuple[str | None, str]:
    """The value at the start of a comment, and the words after it. (None, "") for prose."""
    row = is_row_of_values(comment)
    comment = comment if row else in_one_form(comment)
    if row or _PRINT_CALL.match(comment):
        # A call that prints is a line of code that somebody commented out.
        return (comment if row else None), ""
    if constant := _CONSTANT_FIRST.match(comment) or _GROUPED.match(comment):
        return constant["value"], constant["rest"]
    first, dot, rest = comment.partition(". ")
    if first.rstrip(".!") in literals or _AN_ERROR.match(comment):
        text = first.rstrip(".!")
        return (text if text in literals else first if dot else comment), rest
    return _value_first(comment)


def _value_first(comment: str) -> tuple[str | None, str]:
    match = _VALUE.match(comment)
    end = None if match is None else _closing_place(comment, match.end()) if match["open"] else match.end()
    if match is None or end is None:
        return None, ""
    value, after = comment[match.start("value") : end], comment[end:].strip()
    if value[-1] not in ")]}" and after and not (_JUDGED_WRONG.search(after) or _JUDGED_RIGHT.search(after)):
        # A sentence such as `3 is what numpy gives` is prose.
        return None, ""
    return value, after


def _closing_place(text: str, at: int) -> int | None:
    """The position after the bracket that closes the one opened before; None if it stays open."""
    depth = 1
    for place in range(at, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place + 1
    return None


def _expected_value(judgement: str) -> str | None:
    """The expected value that is named beside a printed value."""
    words = judgement.rstrip(" ).!?") if judgement.startswith("(") else judgement
    values = (
        _value_of(words[match.end() :], set())[0] for match in islice(_EXPECTED.finditer(words), _MOST_WORDS)
    )
    return next((value for value in values if value is not None), None)


def _below(text: str, last: int) -> tuple[list[str], list[str]]:
    """Comments below the last statement that show output: (printed lines, expected lines)."""
    printed_lines: list[str] = []
    expected_lines: list[str] = []
    into: list[str] | None = None
    for line in text.split("\n")[last:]:
        comment = line.strip()
        if not comment.startswith("#"):
            into = None if comment else into
        elif _OUTPUT_BELOW.match(comment):
            into = printed_lines
        elif _EXPECTED_BELOW.match(comment):
            into = expected_lines
        elif into is not None and comment.strip("# "):
            into.append(comment.lstrip("#").strip()[:_MOST_COMMENT])
    return (
        ([], [])
        if not all(map(is_printed_line, (*printed_lines, *expected_lines)))
        else (printed_lines, expected_lines)
    )
