"""Reads comments of a script that say which error a statement raises: `# it raises ValueError: bad`."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.claim.named_errors import own_message
from app.intake.code.syntax import nodes_of, normalise, tree_of
from app.intake.words.languages import in_english
from app.intake.words.praise import WORKS
from app.intake.words.vocabulary import FLAGS, MODALS, TYPE, any_of

_ERROR = re.compile(rf"(?<![\w.])(?P<type>{TYPE})(?!\w)(?P<message>[:：][ \t]*\S.*|[.!]?$)")
_WITH_MESSAGE = re.compile(rf"{TYPE}:[ \t]*\S.{{7,}}")
_BESIDE = re.compile(r"\S[^#\n]{0,400}[ \t]#+[ \t]{0,4}(?P<text>[^#\n]{3,200})$")
_MARKS_FAILURE = re.compile(
    r"\b(?:raises|throws|fails|crashes|breaks|errors|dies|segfaults|blows up|goes wrong)\b"
    r"|\b(?:error|exception|crash|failure|segfault|traceback) (?:here|comes|occurs|happens|appears)\b"
    r"|\b(?:here|now)\b[^.;]{0,20}\b(?:the|an?|my) (?:error|exception|crash|failure|segfault)\b",
    FLAGS,
)
# The only words that may stand before the name. With others, the comment could be about anything.
_RAISES = frozenset(
    (
        *(
            "but",
            "this",
            "that",
            "it",
            "here",
            "which",
            "now",
            "line",
            "call",
            "next",
            "with",
            "a",
            "an",
            "the",
        ),
        *(
            "fails",
            "fail",
            "failed",
            "crashes",
            "crash",
            "actual",
            "actually",
            "currently",
            "still",
            "always",
        ),
        *("get", "got", "gives", "give", "gave", "raises", "raise", "raised", "throws", "throw", "prints"),
        *(
            "error",
            "message",
            "output",
            "result",
            "is",
            "i",
            "we",
            "wrong",
            "bug",
            "not",
            "ok",
            "boom",
            "oops",
        ),
        *("=", "=>", "==>", "-", "->", "-->", "→", "✗", "❌"),
        *(
            "es",
            "kommt",
            "wirft",
            "gibt",
            "hier",
            "fehler",
            "da",
            "das",
            "dies",
            "ergibt",
            "lève",
            "lance",
            "ici",
        ),
        *("erreur", "lanza", "falla", "un", "aquí", "solleva", "вызывает", "报错", "抛出", "这里", "出错"),
    )
)
# `# The message reads "expected a list"`, without the type of the error.
_MESSAGE = re.compile(
    r"(?:but )?(?:the |this |its )?(?:error )?message (?:reads|says|states|is):? {0,2}[`\"']{1,3}"
    r"(?P<message>[^`\"'\n]{12,300})[`\"']",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s:：,!.]+")
_MOST_WORDS = 8
_SHOULD_RAISE = re.compile(
    rf"\b(?:{any_of(MODALS)}|expect\w*|want\w*|sollte?|müsste|erwartet\w*|devrait|attendu|debería|esperad[oa]"
    r"|должн\w+|ought)\b|应该|期望|预期|期待",
    FLAGS,
)
_ELSEWHERE = re.compile(
    r"\b(?:used to|previously|formerly|before|earlier|früher|vorher|avant|antes|until|if|when|wenn"
    r"|unless|no longer|never|catches|caught|in Ordnung|stimmt|richtig)\b|\d\.\d",
    FLAGS,
)
_CLOSING = {"`": "`", '"': '"', "'": "'", "“": "”"}
_MOST_COMMENTS = 400
_MOST_COMMENT = 500


def _may_be_inside(tree: ast.Module) -> bool:
    """Whether all of the script's blocks run as they stand: none of them catches or chooses."""
    return not any(isinstance(node, ast.Try | ast.If | ast.Match) for node in nodes_of(tree))


def commented_errors(script: str) -> list[Check]:
    """The error that comments say is raised, and the one that should be. Empty for several raised ones."""
    text = normalise(script)
    tree = tree_of(text)
    if tree is None or any(isinstance(node, ast.Try) for node in tree.body):
        return []
    bugs: dict[tuple[str, str], Check] = {}
    expected: dict[tuple[str, str], Check] = {}
    for comment in _comments(text, inside=_may_be_inside(tree)):
        match = _ERROR.search(comment)
        if match is None:
            bugs |= _message_only(comment)
            continue
        before, message = _outside_quotes(
            comment[: match.start()].strip(), match["message"].lstrip(":：").strip()
        )
        role = _role_of(before)
        if role is None:
            continue
        name = match["type"].rsplit(".", 1)[-1]
        check = Check(
            text=comment[:300], kind=CheckKind.EXCEPTION, role=role, exception_type=name, message=message
        )
        (bugs if role is Role.BUG else expected)[name, message] = check
    if len(bugs) != 1:
        return []
    others = [check for key, check in expected.items() if key not in bugs]
    return [*bugs.values(), *(others if len(others) == 1 else [])]


def are_raised(lines: Sequence[str], script: str) -> bool:
    """Whether commented lines are errors with their messages, and no script that catches one prints them."""
    return "except" not in script and all(map(_WITH_MESSAGE.fullmatch, lines))


def _outside_quotes(before: str, message: str) -> tuple[str, str]:
    """The words before an error, and its message. A quote that opens before the error ends the message."""
    closing = _CLOSING.get(before[-1:])
    if closing and closing in message:
        return before[:-1].rstrip(), message.rpartition(closing)[0].strip()
    return before, own_message(message.strip(" \t.!"))


def _message_only(comment: str) -> dict[tuple[str, str], Check]:
    """The error whose message a comment quotes without its type."""
    match = _MESSAGE.match(comment)
    if match is None:
        return {}
    message = match["message"].strip(" .!")
    return {("", message): Check(text=comment[:300], kind=CheckKind.EXCEPTION, message=message)}


def _role_of(before: str) -> Role | None:
    """BUG for an error that is raised, EXPECTED for one that should be, None where the words don't tell."""
    english = in_english(before)
    if _SHOULD_RAISE.search(before) or _SHOULD_RAISE.search(english):
        return None if _ELSEWHERE.search(before) else Role.EXPECTED
    if _ELSEWHERE.search(before) or WORKS.search(english):
        return None
    return Role.BUG if _only_says_so(before) or _only_says_so(english) else None


def _only_says_so(words: str) -> bool:
    each = [word.casefold() for word in _WORD.findall(words)]
    return len(each) <= _MOST_WORDS and _RAISES.issuperset(each)


def _comments(text: str, *, inside: bool) -> Iterator[str]:
    """The comments outside of functions and classes, each without its signs.

    `inside`: also those inside that are nothing but an error and its message.
    """
    count = 0
    if "#" not in text:
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if count >= _MOST_COMMENTS:
                return
            if token.type == tokenize.COMMENT:
                count += 1
                # An indented comment belongs to a block that may not run.
                comment = token.string.lstrip("#! ").strip()[:_MOST_COMMENT]
                is_outside = token.start[1] == 0 or bool(token.line[: token.start[1]].strip())
                if is_outside or (inside and _WITH_MESSAGE.fullmatch(comment)):
                    yield comment
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return


def marked_lines(script: str) -> list[int]:
    """The lines beside which a comment says that this one fails: `# here comes the exception`."""
    return [
        number
        for number, line in enumerate(script.split("\n"), 1)
        for match in [_BESIDE.search(line)]
        if match and _MARKS_FAILURE.search(match["text"]) and not WORKS.search(match["text"])
    ]
