"""Reads a right value that stands in words, as `I expected the identity`, `should be an empty list`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.intake.claim.claim_text import cut, output_check, sentences_in
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.claim.phrases import literal_check
from app.intake.words.vocabulary import DESIRED, FLAGS, INSTEAD, LITERAL, MODALS, RIGHT, SHOW, any_of

_OF = r"(?:an? |the )?(?:tensor|array|matrix|vector|list|series|column|image)?(?: ?full)?(?: of)?(?: all)? ?"
_ALL = r"(?:(?:all|only|just|nothing but|lauter|nur|que des|todos?|solo|tutti) )*"
# The words for values of an array of the claimed form.
_ARRAYS = {
    "identity": r"(?:an? |the |die |la |eine )?(?:identity(?: matrix)?|einheitsmatrix|matrice identité"
    r"|matriz identidad"
    r"|matriz identidade|matrice identità|единичн\w{1,3} матриц\w{1,2})|单位矩阵|单位阵|単位行列",
    "0": rf"{_OF}{_ALL}(?:zeros|zeroes|all zero|nullen|zéros|ceros)|全零|全为零|全0|零矩阵",
    "1": rf"{_OF}{_ALL}(?:ones|all one|einsen|unos)|全一|全1",
    "nan": rf"{_OF}{_ALL}nans|{_OF}all nan",
}
_ENTRIES = re.compile(
    r"\b(?:every|each|all)(?: single)? (?:entr(?:y|ies)|elements?|values?|components?|pixels?|cells?"
    r"|numbers?)"
    rf"(?: of [\w ]{{1,20}})? {any_of(MODALS)} {any_of(SHOW)} (?P<value>zero|one|nan|0|1)s?(?!\w|\.\d)",
    FLAGS,
)
_EMPTY = {
    "[]": r"(?:an? |eine |une |una |uma )?(?:empty list|leere liste|liste vide|lista vac[íi]a"
    r"|lista vazia|lista vuota)"
    r"|пустой список|空列表|空リスト",
    "{}": r"(?:an? |ein |un |uno )?(?:empty dict(?:ionary)?|leeres dict|dictionnaire vide"
    r"|diccionario vac[íi]o)|空字典",
    "()": r"(?:an? |ein |un |una )?(?:empty tuple|leeres tup[e]l|tuple vide|tupla vac[íi]a)|空元组",
    "set()": r"(?:an? |eine )?(?:empty set|leere menge)|空集合",
}
_SCALARS = {
    **{
        str(value): word
        for value, word in enumerate(
            ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
        )
    },
    "-1": r"(?:minus|negative) one",
    "inf": r"(?:positive |plus )?infinity|unendlich|infini|infinito",
    "-inf": r"(?:minus|negative) infinity",
    "nan": r"(?:a )?not[- ]a[- ]number",
}
_CUE = (
    rf"(?:{any_of(DESIRED)}(?: \w{{1,12}})?:|expect(?:s|ed|ing)?\b"
    rf"|{any_of(MODALS)}(?: (?!not\b)\w{{1,12}})? {any_of(SHOW)}\b"
    r"|(?:would|['’]d) (?:have )?(?:thought|think|assume|guess|say|want|like|want)\b|thought (?:of|that|it)"
    r"|(?:sollten?|müssten?|devraient|devrait|deberían?|deveriam?|dovrebber?o?)\b"
    rf"|{any_of(RIGHT)}(?: \w{{1,12}})? (?:is|would be|was)\b|supposed to (?:be|return|give)\b)"
)
_GAP = r"(?P<gap>[^.;:!?\n\"`]{0,60}?)"
_ENDS = (
    r"(?=\s*(?:$|[.,;:!?)]|\(|(?:here|instead|because|since|in(?:stead)?|too|back|as|and|for|like|if|or"
    r"|when|which"
    r"|is|are|comes?|sein|être|ser|matrix|on)\b|と|が|。|、))"
)
_NEGATION = re.compile(
    rf"\b(?:minus|negative|not|no|never|without|but|{any_of(INSTEAD)})\b|n['’]t\b|\d", FLAGS
)
_DENIED = re.compile(r"(?:\b(?:not|never)|n['’]t) (?:\w{1,12} )?$", FLAGS)
_ALL_WORDS = [
    *((value, pattern, True) for value, pattern in _ARRAYS.items()),
    *((value, pattern, False) for value, pattern in (*_EMPTY.items(), *_SCALARS.items())),
]
_IN_WORDS = [
    (value, re.compile(rf"{_CUE}{_GAP}(?<!\w)(?:{pattern})(?!\w){_ENDS}", FLAGS), of_array)
    for value, pattern, of_array in _ALL_WORDS
]
# `That is wrong: it is 3`, `not right, the limit is 3`.
_WRONG_IT_IS = re.compile(
    r"\b(?:wrong|incorrect|false|(?:not|n['’]t) (?:right|correct|true))\b"
    r"(?:[,;:.–—-]{1,2} (?:as [^,;:.\n]{1,60} )?|, (?:since|because|as) )"
    r"(?:it|the (?:right |correct |true |exact )?(?:limit|value|result|answer|integral|sum|solution|one"
    r"|output))"
    rf" (?:is|should be|must be|has to be|would be|equals) (?P<value>{LITERAL})(?!\s*(?:times|rows|%))",
    FLAGS,
)
# ``f(3) + 1` should be 4`.
_CODE_SHOULD_BE = re.compile(
    rf"`[^`\n]{{2,200}}[(\[+*/<>=-][^`\n]{{0,200}}` {any_of(MODALS)} {any_of(SHOW)} (?P<value>{LITERAL})",
    FLAGS,
)
_NUMBERS = re.compile(
    r"(?<![\w.])[-+]?(?:nan|inf|\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?)(?![\w.])", FLAGS
)
_OPENS = re.compile(r"\s*(?:[a-zA-Z_.]{1,20}\()?\[")
_MOST_SENTENCES = 200
_MOST_LINE = 1_000
_MOST_NUMBERS = 1_000


def worded_values(bug: Check, texts: Sequence[str]) -> list[Check]:
    """The right value that sentences name in words, for one printed value. Empty if they name several."""
    right_values: dict[tuple[str, ...], Check] = {}
    for text in texts:
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            for check in _right_in(sentence[:_MOST_LINE], bug):
                right_values[check.lines or (check.number or "",)] = check
    values = list(right_values.values())
    own = bug.lines or (bug.number or "",)
    return values if len(values) == 1 and own not in right_values else []


def _right_in(sentence: str, bug: Check) -> Iterator[Check]:
    if match := _WRONG_IT_IS.search(sentence) or _CODE_SHOULD_BE.search(sentence):
        check = literal_check(match["value"], cut(sentence), Role.EXPECTED)
        if check is not None:
            yield check
    if match := _ENTRIES.search(sentence):
        word = match["value"].lower()
        yield from _of_array({"zero": "0", "one": "1"}.get(word, word), bug, sentence)
        return
    for value, pattern, of_array in _IN_WORDS:
        match = pattern.search(sentence)
        if match is None or _NEGATION.search(match["gap"]) or _is_denied(sentence, match.start()):
            continue
        if of_array:
            yield from _of_array(value, bug, sentence)
        elif value in _EMPTY:
            yield output_check([value], role=Role.EXPECTED).model_copy(update={"text": cut(sentence)})
        elif check := literal_check(value, cut(sentence), Role.EXPECTED):
            yield check


def _is_denied(sentence: str, at: int) -> bool:
    return _DENIED.search(sentence, max(0, at - 20), at) is not None


def _of_array(value: str, bug: Check, sentence: str) -> Iterator[Check]:
    """The claimed array with each number replaced by those of the identity, or by one value."""
    text = "\n".join(bug.lines)
    shape = _shape(text) if bug.kind is CheckKind.OUTPUT else None
    if shape is None:
        return
    rows = shape[-1]
    if value == "identity":
        if len(shape) != 2 or shape[0] != shape[1]:
            return
        right = ["1" if at // rows == at % rows else "0" for at in range(shape[0] * rows)]
    else:
        right = [value] * len(_NUMBERS.findall(_inside(text)))
    numbers = iter(right)
    start, end = text.index("["), text.rindex("]")

    def next_number(match: re.Match[str]) -> str:
        number = next(numbers)
        return f"{number}." if number != "nan" and not match[0].lstrip("+-").isdigit() else number

    lines = f"{text[:start]}{_NUMBERS.sub(next_number, text[start:end])}{text[end:]}".split("\n")
    yield output_check(lines, role=Role.EXPECTED).model_copy(update={"text": cut(sentence)})


def _inside(text: str) -> str:
    return text[text.index("[") : text.rindex("]")]


def _shape(text: str) -> tuple[int, ...] | None:
    """The shape of the one printed array that a text is; None for anything else."""
    if not _OPENS.match(text) or text.count("[") != text.count("]"):
        return None
    inside = _inside(text) + "]"
    count = len(_NUMBERS.findall(inside))
    depth = len(inside) - len(inside.lstrip("["))
    rest = _NUMBERS.sub("", inside).translate(str.maketrans("", "", "[], \n\t"))
    if rest or not 0 < count <= _MOST_NUMBERS or depth not in {1, 2}:
        return None
    rows = inside.count("[") - 1 if depth == 2 else 1
    return (count,) if depth == 1 else (rows, count // rows) if count % rows == 0 else None
