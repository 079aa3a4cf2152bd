"""Two printed values that should agree, and printed values that should differ from each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from app.intake.claim.claims import Check, CheckKind, Trait
from app.intake.code.syntax import tree_of
from app.intake.words.keyed_pattern import keyed_pattern

_MOST_SENTENCES = 200
_MOST_SENTENCE = 600
_MOST_TEXT = 300
_MOST_PRINTS = 40
_PRINT = "print"
_LOOPS = (ast.For, ast.While)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMMENT = re.compile(r"#[#\s]{0,4}(?P<text>[^#\n]{2,60})$")
_CALLED_WRONG = re.compile(
    r"\s*(?:(?:this|that|it)(?: is|['’]s) |is )?(?:not (?:correct|right|ok)|incorrect|wrong|bad"
    r"|broken|bug(?:gy)?"
    r"|fails?|falsch|faux|incorrecto)\b",
    re.IGNORECASE,
)
_CALLED_RIGHT = re.compile(
    r"\s*(?:(?:this|that|it)(?: is|['’]s) |is )?(?:correct|right|ok(?:ay)?|good|fine|works"
    r"|as expected|richtig|juste"
    r"|correcto)\b",
    re.IGNORECASE,
)
_RESULTS = (
    r"(?:results?|values?|outputs?|predictions?|numbers?|samples?|answers?|lines?|order|shapes?"
    r"|dtypes?|types?"
    r"|behaviou?rs?|returns?|ergebnisse?|werte?|résultats?|resultados?|risultati)"
)
_DIFFER = keyed_pattern(
    "different differently differs differ inconsistent inconsistency inconsistencies inconsistently"
    " consistent"
    " change changes mismatch match agree disagree disagrees same depend depends verschiedene"
    " unterschiedliche else other another deviate otro equal identical deviates anders andere otra autre"
    " inkonsistent différent différents incohérent diferente diferentes inconsistente diversi differenti",
    rf"\b(?:different(?:ly)?(?: \w{{1,15}}){{0,2}}? {_RESULTS}|differently"
    rf"|{_RESULTS}(?: \w{{1,15}}){{0,3}}? differs?"
    r"|inconsistent|inconsistently|inconsistency|inconsistencies|not consistent"
    r"|(?:doesn['’]t|does not|do not|don['’]t) (?:match|agree)"
    rf"|changes? the (?:\w{{1,12}} )?{_RESULTS}|disagrees?|mismatch"
    r"|(?:(?:is|are|was|were) not|(?:is|are|was|were)n['’]t) (?:the )?(?:same|equal|identical)"
    r"(?! as expected)"
    r"|(?:gives?|returns?|prints?|yields?|computes?|gets?)"
    rf" (?:something else|(?:another|other) {_RESULTS}) than"
    r"|deviates? from|(?:etwas )?anders als|(?:otra cosa que|otro resultado que|autre chose que)"
    rf"|{_RESULTS} depends? on|(?:verschiedene|unterschiedliche) {_RESULTS}|inkonsistent"
    rf"|{_RESULTS} différents?|incohérent|{_RESULTS} diferentes?|inconsistente"
    rf"|{_RESULTS} (?:diversi|differenti))\b",
)
# Repeats, machines and versions are compared by other checks.
_ELSEWHERE = re.compile(
    r"\b(?:runs?|each time|every time|times|versions?|releases?|platforms?|machines?|devices?"
    r"|gpus?|cpus?|cuda"
    r"|windows|linux|mac\w*|os|threads?|process\w*|seeds?|random\w*|docs?|documentation|documented|expected"
    r"|läufe?|versionen|lauf)\b|\d\.\d",
    re.IGNORECASE,
)
_SAME = keyed_pattern(
    "same identical unchanged constant effect ignored difference change affect influence wirkung einfluss"
    " effekt ignoriert dieselbe denselben dasselbe selbe selben gleiche gleichen effet ignoré même efecto"
    " mismo misma effetto stesso stessa",
    rf"\b(?:{_RESULTS}(?: [^\s.,;:()]{{1,15}}){{0,3}}? (?:are|is|stays?|remains?"
    rf"|comes? out) (?:always |all )?"
    r"(?:exactly )?(?:the same|identical|unchanged|constant) (?:for|regardless|no matter|whatever"
    r"|although|even"
    r"|despite|with|in|on|every|each|all|independent)"
    rf"|{_RESULTS}(?: [^\s.,;:()]{{1,15}}){{0,3}}? (?:stays?|remains?) the same"
    r"|(?:has|have|had) (?:absolutely )?no effect|without (?:any )?effect"
    r"|(?:is|are|gets?) (?:silently |simply |just )?ignored|makes? no difference"
    r"|(?:doesn['’]t|does not|do not|don['’]t) (?:change|affect|influence|have any effect on) "
    rf"(?:the |any )?(?:anything|{_RESULTS})"
    rf"|the same {_RESULTS} (?:each|every|all the) (?:time|iteration|call|seed|step)"
    r"|kein(?:e|en)? (?:Wirkung|Einfluss|Effekt)|wird ignoriert"
    r"|immer (?:dieselbe|denselben|dasselbe|(?:das|den|die) (?:selbe|selben|gleiche|gleichen))"
    r"|(?:sans|aucun) effet|est ignoré|toujours (?:le|la) même"
    r"|siempre el mismo|siempre la misma|no tiene (?:ningún )?efecto|nessun effetto"
    r"|sempre lo stesso|sempre la stessa)\b",
)
# Somebody says that it is right so, or speaks of what is no value.
_AS_IT_SHOULD = re.compile(
    r"\b(?:as (?:documented|expected|intended|designed)|by design|on purpose|of course|intended"
    r"|intentional(?:ly)?|not a bug|makes sense)\b",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(r"warn|\b(?:errors?|exceptions?|messages?|logs?|logging)\b", re.IGNORECASE)
_WISH = re.compile(
    r"\b(?:should|must|has to|have to|supposed|ought|expect\w*|want\w*|if|when|unless|soll\w*"
    r"|muss|differ\w*)\b",
    re.IGNORECASE,
)


def wants_agreement(title: str, sentences: Sequence[str]) -> bool:
    """Whether a report complains that two results differ, in one place and one run."""
    return _first_with_difference(title, sentences) is not None


def lacks_agreement(main: str, title: str, sentences: Sequence[str]) -> list[Check]:
    """The check that two printed values differ: by comments of the script, or the only two of a complaint."""
    prints = _straight_prints(main)
    if len(prints) < 2:
        return []
    marks = [_mark_of(main, each) for each in prints]
    if sorted(mark for mark in marks if mark is not None) == [False, True]:
        among = (marks.index(False) + 1, marks.index(True) + 1)
        text = main.split("\n")[prints[among[0] - 1].lineno - 1].strip()
    else:
        text, among = _first_with_difference(title, sentences) or "", (1, 2)
        if not text or len(prints) != 2 or any(mark is not None for mark in marks):
            return []
    one, other = (prints[at - 1] for at in among)
    if not _are_alike(one, other):
        return []
    check = Check(text=text[:_MOST_TEXT], kind=CheckKind.LACKS, trait=Trait.AGREE)
    return [check.model_copy(update={"among": among, "prints": len(prints)})]


def lacks_change(main: str, title: str, sentences: Sequence[str]) -> list[Check]:
    """The check that all printed values are equal, where a report complains of it."""
    text = next(filter(_complains_of_sameness, _texts(title, sentences)), None)
    if text is None:
        return []
    check = Check(text=text[:_MOST_TEXT], kind=CheckKind.LACKS, trait=Trait.DISTINCT)
    prints = _straight_prints(main)
    if len(prints) > 1 and all(_are_alike(prints[0], each) for each in prints[1:]):
        return [check.model_copy(update={"prints": len(prints)})]
    return [check] if _prints_in_one_loop(main) else []


def _texts(title: str, sentences: Sequence[str]) -> list[str]:
    return [text[:_MOST_SENTENCE] for text in (title, *sentences[:_MOST_SENTENCES])]


def _first_with_difference(title: str, sentences: Sequence[str]) -> str | None:
    texts = _texts(title, sentences)
    if any(map(_AS_IT_SHOULD.search, texts)):
        return None
    return next(
        (text for text in texts if _DIFFER.search(text) is not None and _ELSEWHERE.search(text) is None),
        None,
    )


def _complains_of_sameness(text: str) -> bool:
    match = _SAME.search(text)
    return match is not None and _WISH.search(text[: match.end()]) is None and _NO_VALUE.search(text) is None


def _straight_prints(main: str) -> list[ast.Expr]:
    """The calls of print, if each is a statement that is executed once; else none."""
    tree = tree_of(main)
    if tree is None:
        return []
    prints = [node for node in tree.body if isinstance(node, ast.Expr) and _is_print(node.value)]
    every = sum(_is_print(node) for node in ast.walk(tree))
    return prints if len(prints) == every <= _MOST_PRINTS else []


def _prints_in_one_loop(main: str) -> bool:
    """Whether the only call of print is in a loop of the script itself."""
    tree = tree_of(main)
    if tree is None or sum(_is_print(node) for node in ast.walk(tree)) != 1:
        return False
    return any(
        _is_print(node)
        for loop in tree.body
        if isinstance(loop, _LOOPS)
        for node in _nodes_outside_definitions(loop)
    )


def _nodes_outside_definitions(root: ast.AST) -> Iterator[ast.AST]:
    rest: list[ast.AST] = [root]
    while rest:
        node = rest.pop()
        yield node
        rest += [each for each in ast.iter_child_nodes(node) if not isinstance(each, _DEFINITIONS)]


def _is_print(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _PRINT


def _mark_of(main: str, node: ast.Expr) -> bool | None:
    """Whether the comment behind a statement calls it right; None if there is none, or it says neither."""
    line = main.split("\n")[(node.end_lineno or node.lineno) - 1]
    comment = _COMMENT.search(line[-_MOST_TEXT:])
    if comment is None or _CALLED_WRONG.match(comment["text"]):
        return None if comment is None else False
    return True if _CALLED_RIGHT.match(comment["text"]) else None


def _are_alike(one: ast.Expr, other: ast.Expr) -> bool:
    """Whether both print a result of a function of one name, or a name each."""
    first, second = _calls_in(one), _calls_in(other)
    return bool(first & second) or not (first or second)


def _calls_in(node: ast.Expr) -> set[str]:
    calls = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    names = [
        func.attr if isinstance(func, ast.Attribute) else func.id
        for func in calls
        if isinstance(func, ast.Attribute | ast.Name)
    ]
    return set(names) - {_PRINT, "format", "repr", "str", "list"}
