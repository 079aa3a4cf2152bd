"""What a script's own comments claim: after `# Claim:`, and beside the calls that print."""

from __future__ import annotations

import ast
import io
import re
import tokenize

from app.intake.syntax import nodes_of, normalised, tree_of

_CLAIM = re.compile(r"#+\s*claim\s*:\s*(.*)", re.IGNORECASE)
_VALUE = re.compile(
    r"(?:(?:prints?|outputs?|returns?|gives?|output|result|got|=+>|-+>|>>>?)\s*:?\s*)?"
    r"(?P<value>(?:tensor|array|torch\.Size)\(.*\)|[\[({].*[\])}]|[-+]?(?:\d[\d_.]*(?:e[-+]?\d+)?|nan|inf)j?|True|False|None"
    r"|[A-Z]\w*(?:Error|Exception)(?::.*)?)",
    re.IGNORECASE,
)
_JUDGED_WRONG = re.compile(r"\b(?:wrong|incorrect|bad|bug|unexpected|should(?:n't| not| be)|error here)\b|[!✗❌]{1,3}\s*$", re.IGNORECASE)
_JUDGED_RIGHT = re.compile(r"\b(?:right|correct|ok|okay|good|expected|fine|as it should)\b|[✓✔✅]", re.IGNORECASE)
_MOST_COMMENT = 500


def comment_claim(script: str) -> str | None:
    """The claim in the leading comments of a script: after `# Claim:`, and the comment lines that follow it."""
    said: list[str] = []
    inside = False
    for line in script.splitlines():
        stripped = line.strip()
        if not stripped.startswith("#"):
            if stripped:
                break
            inside = False
            continue
        found = _CLAIM.match(stripped)
        if found:
            said.append(found[1])
            inside = True
        elif inside:
            said.append(stripped.lstrip("#").strip())
    return "\n".join(said).strip() or None


def commented_outputs(script: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What comments beside top-level calls say is printed: (said to be wrong or unjudged, said to be right)."""
    text = normalised(script)
    tree = tree_of(text)
    if tree is None:
        return (), ()
    comments = _trailing_comments(text)
    printed = {node.value for node in nodes_of(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    wrong: list[str] = []
    right: list[str] = []
    for statement in tree.body:
        comment = comments.get(statement.end_lineno or 0)
        if comment is None or not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            continue
        value, judgement = _value_of(comment, printed)
        if value is None:
            continue
        is_right = _JUDGED_RIGHT.search(judgement) is not None and _JUDGED_WRONG.search(judgement) is None
        (right if is_right else wrong).append(value)
    return tuple(wrong), tuple(right)


def _trailing_comments(text: str) -> dict[int, str]:
    """The comment on each line that has one beside code."""
    found: dict[int, str] = {}
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and lines[token.start[0] - 1][: token.start[1]].strip():
                found[token.start[0]] = token.string.lstrip("# ").strip()[:_MOST_COMMENT]
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return found
    return found


def _value_of(comment: str, printed: set[str]) -> tuple[str | None, str]:
    """The value at the start of a comment, and the words after it. Prose has none."""
    first, dot, rest = comment.partition(". ")
    if first.rstrip(".!") in printed:
        return first.rstrip(".!"), rest
    if re.match(r"[A-Z]\w*(?:Error|Exception)\b", comment):
        return (first if dot else comment), rest
    found = _VALUE.match(comment)
    if found is None:
        return None, ""
    value, after = found["value"], comment[found.end() :].strip()
    if value[-1] not in ")]}" and after and not (_JUDGED_WRONG.search(after) or _JUDGED_RIGHT.search(after)):
        # `3 is what numpy gives` and the like are prose.
        return None, ""
    return value, after
