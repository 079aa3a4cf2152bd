"""Assigns roles to the pieces of code in a report: script, alternative, control, or part."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import dedent

from app.intake.code.definitions_only import returns_outside_functions
from app.intake.code.names import bound_names, has_star_import, undefined_names, used_names
from app.intake.code.syntax import normalise, parses, tree_of
from app.intake.reading import ScriptRole
from app.intake.sessions.shell_names import shell_imports
from app.intake.snippets.repairs import USUAL_IMPORTS
from app.intake.snippets.rewrites import make_readable
from app.intake.snippets.transcripts import without_magics
from app.intake.words.praise import is_only_praise, is_rightly_so, says_it_fails, speaks_of_another_place

_NUMBERED = re.compile(r"[ \t]{0,12}(?:-{2,4}> ?)?(?P<number>\d{1,6})[ \t:|]")
_MOST_QUOTED = 200
_ASIDE = re.compile(r"\([^()\n]{1,200}\)")
# In `numpy raises here instead` other software is right.
_OWN_FAULT = re.compile(
    r"\b(?:but|fail\w*|wrong\w*|incorrect\w*|crash\w*|bug|broken|mine|off)\b", re.IGNORECASE
)
_ABOUT_VERSIONS = re.compile(
    r"__version__|collect_env|get_env_info|__config__|version\.cuda|cudnn\.version|get_device_name"
    r"|sys\.version|\bversion\.version|\bversion_info\b|show_versions|platform\.(?:platform|python_version)\("
)
_AGAIN = re.compile(r"\b(?:second|2nd|third|another) time\b|\b(?:again|once more|twice)\b", re.IGNORECASE)
_MOST_INTRODUCTION = 300
# Matches `Docs:`, `The example of the manual:`, `while the equivalent`, `numpy version:`.
_OTHER_SOFTWARE = re.compile(
    r"^\W*(?:(?:and|while|whereas|in|from|the|with|an?|here is|here['’]s"
    r"|this is) ){0,3}(?:(?:official )?(?:docs?|documentation|manual|tutorial"
    r"|readme)(?:['’]s)?(?: \w+){0,2}|equivalent(?: \w+){0,3}"
    r"|(?:numpy|scipy|jax|tensorflow|matlab|r"
    r"|julia)(?:['’]s)?(?: (?:equivalent|version|code|counterpart))?|reference(?: \w+)?"
    r"|(?:example|snippet|code) (?:from|in|of) (?:the )?(?:official )?(?:docs?|documentation|manual"
    r"|tutorial|readme))\W*$"
    r"|^\W*(?:(?:while|whereas|but|and|in) )?(?:numpy|scipy|pandas|jax|tensorflow|matlab|r|julia"
    r"|plain python)"
    r"(?:['’]s \w+)? (?:raises|gives|returns|prints|says|shows|does|agrees)\b(?! (?:the same|too"
    r"|also))[^.\n]{0,40}$",
    re.IGNORECASE,
)
# Matches `The fix would be:`, `or replace the body with`, `Proposed change`.
_REMEDY = re.compile(
    r"\b(?:(?:possible|proposed?|suggested|potential|my|the|a|quick|simple|one) (?:bug ?)?(?:fix|patch"
    r"|solution|change)(?:es)?\b|work-?arounds?\b"
    r"|(?:replac\w+|chang\w+|patch\w*) .{1,60}\b(?:with|to|by|like this|as follows)\W*$"
    r"|(?:fix|solv|avoid)(?:e[ds]|ed|ing)? (?:it|this) )",
    re.IGNORECASE,
)
_NO_REMEDY = re.compile(
    r"\b(?:after|since|without|before|no|doesn['’]t|does not|not|but|still|fail\w*|reproduc\w*|repro"
    r"|crash\w*|raises?|wrong\w*|trigger\w*)\b",
    re.IGNORECASE,
)
# `Terminal 1, fine:`, `1) OK`.
_CAPTION_WORKS = re.compile(
    r"[^.\n]{0,60}?(?:[,(:–—-]|\b(?:first|one|\d[).]?))\s*(?:this is |this one is |all )?"
    r"(?:fine|ok(?:ay)?|good|right|correct|works)\)?\W*",
    re.IGNORECASE,
)
# `Case 1 (ok):`, `With a list ✅`.
_ASIDE_WORKS = re.compile(
    r"\W*(?:this |it |that )?(?:is |was )?(?:ok(?:ay)?|good|fine|works?)[\s*_:]{0,6}"
    r"|[^.\n()]{1,60}\((?:this |it )?(?:is |was )?(?:all )?(?:fine|ok(?:ay)?|good|correct|works"
    r"|(?:the )?(?:expected|correct|right) (?:behaviou?r|result|output|one)"
    r"|(?:how|as) it (?:should|ought to|must|has to)(?: be)?)\)"
    r"[\s*_:]{0,6}"
    r"|[^.\n()]{1,60}\ball (?:is |goes )?(?:well|good|fine)[\s*_:]{0,6}"
    r"|[^.\n]{1,60}[✅✔✓]\ufe0f?[\s*_:]{0,6}",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?]\s+(?=[A-Z])")
_SENTENCE_END = re.compile(r"(?<=[\w)`'\"])[.!?]\s+")
_LEAST_WORDS = 4
_MOST_WORDS_OF_NOW = 12
_OF_NOW = re.compile(r"\W{0,3}(?:but|now|nowadays|today|currently|since)\b", re.IGNORECASE)
_RELEASE = re.compile(r"(?<![\w.])v?(\d{1,4}(?:\.\d{1,4}){1,2})(?![\w.]*\d)")
_QUOTED = re.compile(r"`[^`\n]*`")
_ONLY_BUT = re.compile(r"\W{0,4}(?:but|however|whereas|aber|mais|pero|ma|но|但是?)\W{0,6}", re.IGNORECASE)
_DO_NOT_RUN = re.compile(
    r"\b(?:don['’]?t|do not|never|must not|should not) (?:ever )?(?:run|execute)\b|^\W*~~.{1,60}~~\W*$",
    re.IGNORECASE,
)
_NOT_TO_RUN = re.compile(
    r"\b(?:not|isn['’]t|is no|no) (?:yet )?(?:the |a |my |an |meant as )?(?:actual |real )?"
    r"(?:repro(?!ducible (?:between|across|from|over|with)\b)\w*"
    r"|script to run)\b|\bnot (?:meant )?to be run\b"
    r"|\b(?:ignore|disregard|skip) (?:this|that|it|me|the following|what follows|please)?\W*$"
    r"|[,(;:] (?:please )?(?:ignore|disregard)\b|\bpseudo-?code\b"
    r"|\b(?:i|we)(?:['’]d| would) (?:like|love|prefer|wish|propose|imagine"
    r"|suggest) (?:\w+ ){0,4}(?:api|syntax|interface|signature|spelling|way)\b"
    r"|\b(?:proposed|desired|ideal|wished|future) (?:api|syntax|interface|signature|usage)\b",
    re.IGNORECASE,
)
_WHERE_SOURCE_IS = (
    r"(?:library|package|repo(?:sitory)?|upstream|site-packages|module|master|main branch|(?:py)?torch"
    r"|numpy|scipy|pandas|cpython|`?[\w./]+\.(?:py|cpp|h|cu)`?"
    r"|the (?:function|method|class|operator|kernel|decorator)|`[\w.]{2,60}(?:\(\))?`)"
)
_SOURCE = re.compile(
    r"\b(?:source(?: code)?|implementation|definition|relevant (?:code|lines?|part|function)"
    r"|offending (?:code|lines?)|code) (?:\w+ ){0,2}?(?:of|in|from"
    rf"|at) (?:\w+ ){{0,4}}?{_WHERE_SOURCE_IS}"
    r"|\b(?:library|upstream|torch|numpy)(?:['’]s)? (?:own )?(?:source|code|implementation)\b",
    re.IGNORECASE,
)
_OUTDATED = re.compile(
    r"\b(?:outdated|obsolete|superseded|unrelated"
    r"|(?:just |only )?for (?:context|illustration|completeness))\b",
    re.IGNORECASE,
)
_ABOUT_THE_BUG = re.compile(
    r"\b(?:my|our|reproduc\w*|repro|fail\w*|crash\w*|triggers?|runs?|running|bug|shows?|minimal"
    r"|self-contained|to test|script)\b",
    re.IGNORECASE,
)
_PREPARES = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of code and the prose before it.

    `fails_after`: a failure is reported right below. `blocks`: the number of blocks that it was joined from.
    `failing`: the statements that fail in passing. `works`: the words below say that it works.
    """

    text: str
    before: str = ""
    transcript: bool = False
    fails_after: bool = False
    blocks: int = 1
    failing: tuple[str, ...] = ()
    works: bool = False

    @property
    def source(self) -> str:
        """The code after the rewrites that let it be parsed."""
        return as_source(self.text)

    def followed_by(self, other: Code) -> Code:
        """Both pieces as one."""
        text = f"{self.text.rstrip()}\n\n{normalise(other.text)}"
        fails = self.fails_after or other.fails_after
        typed = self.transcript or other.transcript
        blocks, failing = self.blocks + other.blocks, self.failing + other.failing
        return Code(text, self.before, typed, fails_after=fails, blocks=blocks, failing=failing)


def as_source(code: str) -> str:
    """Code of a report after the rewrites that let it be parsed."""
    return make_readable(without_magics(normalise(code))[0])[0]


def about_versions_only(code: str) -> bool:
    """True if the code only prints versions."""
    code = as_source(code)
    tree = tree_of(code)
    if tree is None or not tree.body:
        return False
    doing = [statement for statement in tree.body if not isinstance(statement, ast.Import | ast.ImportFrom)]
    return bool(doing) and all(
        isinstance(statement, ast.Expr)
        and _ABOUT_VERSIONS.search(ast.get_source_segment(normalise(code), statement) or "")
        # A comparison of versions does more than print them.
        and not any(isinstance(node, ast.Compare) for node in ast.walk(statement))
        for statement in doing
    )


def only_computes(text: str) -> bool:
    """True if the text is nothing but a formula of numbers: `14*0.02+2`. `1+2j` is a value."""
    tree = tree_of(text)
    if tree is None or not tree.body:
        return False
    return all(
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.BinOp)
        and all(
            not isinstance(node, ast.Constant) or isinstance(node.value, int | float)
            for node in ast.walk(statement.value)
        )
        and not any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(statement.value))
        for statement in tree.body
    )


def missing_names(code: str) -> tuple[str, ...]:
    """The undefined names of the code, without the usual imports."""
    tree = tree_of(as_source(code))
    if tree is None or shell_imports(code, tree) is not None:
        return ()
    return tuple(name for name in undefined_names(tree) if name not in USUAL_IMPORTS)


def says_it_works(before: str) -> bool:
    """True if the prose right before a block introduces code that works.

    Such code is a comparison with other software, or a remedy.
    """
    last = before.strip().splitlines()[-1][-_MOST_INTRODUCTION:] if before.strip() else ""
    if _ASIDE_WORKS.fullmatch(last) or is_rightly_so(last):
        return True
    # In `It prints (`0` is right):` the words in brackets are about a value.
    last = _ASIDE.sub(" ", last)
    if speaks_of_another_place(last) or says_it_fails(last):
        return False
    if _REMEDY.search(last) and not _NO_REMEDY.search(last):
        return True
    if _OTHER_SOFTWARE.search(last):
        return _OWN_FAULT.search(last) is None
    if _CAPTION_WORKS.fullmatch(last):
        return True
    return is_only_praise(words_about(last))


def words_about(above: str) -> str:
    """The words of the line above a block that are about the block.

    In `Release 1 is fine. Release 2 returns garbage:` these are the last sentence, unless it is as short as
    `Output:`. `However:`, `Now:`, and `with 1.5:` behind words about 1.2, are about the block, however short.
    """
    last = above.rpartition("\n")[2]
    sentence = _SENTENCE_END.split(last)[-1]
    clause = sentence.rpartition("; ")[2]
    if _is_about_newer(clause, last.removesuffix(clause)):
        return clause
    is_about_block = len(sentence.split()) >= _LEAST_WORDS or _ONLY_BUT.match(sentence) is not None
    return sentence if is_about_block else last


def _is_about_newer(words: str, before: str) -> bool:
    """True if words are about today, or name a newer version than the words before them do."""
    own, others = (_RELEASE.findall(_QUOTED.sub(" ", text)) for text in (words, before))
    if not before.strip() or len(words.split()) > _MOST_WORDS_OF_NOW:
        return False
    if not own:
        return _OF_NOW.match(words) is not None
    return bool(others) and min(map(_as_numbers, own)) > max(map(_as_numbers, others))


def _as_numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def is_not_to_be_run(before: str) -> bool:
    """True if the words right before a block forbid to run it, or are struck through."""
    return _DO_NOT_RUN.search(_last_sentence(before)) is not None


def is_numbered_source(text: str) -> bool:
    """True if the lines have the numbers of a larger file, as `851 indices = …`, so they are quoted."""
    matches = [_NUMBERED.match(line) for line in text.split("\n")[:_MOST_QUOTED] if line.strip()]
    numbers = [int(match["number"]) for match in matches if match]
    ascending = all(one < other for one, other in pairwise(numbers))
    return 2 <= len(numbers) == len(matches) and numbers[0] > 1 and ascending


def is_aside(before: str, heading: str = "") -> bool:
    """True if the words right before a block introduce code that is only to be read.

    Examples are quoted source, outdated code, a proposal, and a sketch.
    """
    sentence = _last_sentence(before.strip() or heading)
    if _NOT_TO_RUN.search(sentence):
        return True
    return (_SOURCE.search(sentence) or _OUTDATED.search(sentence)) is not None and _ABOUT_THE_BUG.search(
        sentence
    ) is None


def _last_sentence(text: str) -> str:
    last = text.strip().splitlines()[-1:] or [""]
    return _SENTENCE.split(last[0][-_MOST_INTRODUCTION:].strip())[-1]


def roles_of(codes: Sequence[Code]) -> list[ScriptRole]:
    """A role for each piece.

    The main one is the first that defines all its names and does not show working code.
    """
    alone = [not missing_names(code.text) and not _is_fragment(code.text) for code in codes]
    works = [
        (code.works or says_it_works(code.before) or _is_contrasted(codes, at)) and not _is_step(codes, at)
        for at, code in enumerate(codes)
    ]
    order = sorted(range(len(codes)), key=lambda at: (works[at], not alone[at], at))
    roles = [ScriptRole.ALTERNATIVE] * len(codes)
    for at in range(len(codes)):
        if works[at]:
            roles[at] = ScriptRole.CONTROL
        elif not alone[at]:
            roles[at] = ScriptRole.PART
    if order:
        roles[order[0]] = ScriptRole.MAIN
    return roles


def _is_fragment(text: str) -> bool:
    """Whether code is the inside of a function: it returns something, and no function is around it."""
    tree = tree_of(dedent(text))
    return tree is not None and returns_outside_functions(tree)


def _is_step(codes: Sequence[Code], at: int) -> bool:
    """True if a call at a prompt needs what a piece above defines: it is one step of the same session."""
    missing = set(missing_names(codes[at].text)) if codes[at].transcript else set()
    trees = (tree_of(code.source) for code in codes[:at]) if missing else ()
    return any(tree is not None and missing & bound_names(tree) for tree in trees)


def _is_contrasted(codes: Sequence[Code], at: int) -> bool:
    """True if the first piece is only there as the good side: nothing but `but` leads to the next one."""
    if at != 0 or len(codes) < 2 or codes[0].fails_after:
        return False
    if _OWN_FAULT.search(codes[0].before[-_MOST_QUOTED:]):
        return False
    return _ONLY_BUT.fullmatch(codes[1].before.strip()) is not None


def continues(main: Code, part: Code) -> bool:
    """True if a later piece continues the main one.

    It lacks only names that the main one defines, and the main one is not said to fail. A piece that
    repeats lines of the main one only quotes them, unless a session is said to call it again.
    """
    tree = tree_of(main.source)
    missing = set(missing_names(part.text))
    is_again = part.transcript and _AGAIN.search(part.before[-_MOST_INTRODUCTION:])
    repeats = not is_again and _code_lines(part.source) <= _code_lines(main.source)
    if "__future__" in part.text or repeats:
        return False
    return (
        tree is not None
        and parses(main.followed_by(part).source)
        and bool(missing & bound_names(tree))
        and (missing <= bound_names(tree) or has_star_import(tree))
        and not main.fails_after
        # A session beside a script that prints may show another way, unless nothing calls the script.
        and not (
            part.transcript
            and not main.transcript
            and "print(" in main.text
            and not all(isinstance(each, _PREPARES) for each in tree.body)
        )
    )


def _code_lines(code: str) -> set[str]:
    """The statements of simple code, as they are written, without comments and indents."""
    tree = tree_of(code)
    lines = code.split("\n") if tree is None else ast.unparse(tree).split("\n")
    return {line.strip() for line in lines if line.strip()}


def only_imports(code: Code) -> bool:
    """True if a block has imports and nothing else, as the first of several."""
    tree = tree_of(code.source)
    return tree is not None and all(isinstance(each, ast.Import | ast.ImportFrom) for each in tree.body)


def is_next_cell(code: Code, following: Code) -> bool:
    """True if a block continues the one above, like cells of a notebook.

    The upper one only prepares names that the lower one uses.
    """
    tree, after = tree_of(code.source), tree_of(following.source)
    if tree is None or after is None or code.transcript or following.transcript or code.fails_after:
        return False
    return all(isinstance(statement, _PREPARES) for statement in tree.body) and bool(
        used_names(after) & bound_names(tree)
    )
