"""Traits that a report wants a value to have: `zeros are what I expected`, `it should be sorted`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.intake.claim.claims import Check, Role, Trait
from app.intake.words.keyed_pattern import key_set, keyed_pattern, words_of

_MOST_SENTENCES = 200
_MOST_SENTENCE = 600
_WISH_WORDS = key_set(
    "should must ought needs need supposed has have expect expected expecting expects would want wanted"
    " anticipate anticipated can cannot sollte sollten muss müssen müsste müssten soll sollen dürfen darf"
    " erwartet erwarte devrait doit devraient doivent attendais debería deberían debe deben esperaba dovrebbe"
    " dovrebbero deve deveria deveriam"
)
_WISH = (
    r"(?:should(?:n['’]t| not)?|must(?:n['’]t| not)?|ought(?: not)? to|needs? to|supposed to|ha(?:s|ve) to"
    r"|can['’]t|cannot|can not|expect(?:s|ed|ing)?|anticipated?|want(?:ed)?|soll(?:te|ten|en)?"
    r"|m(?:uss|üssen|üsste|üssten)|d(?:arf|ürfen)|erwarte[t]?|devraient|devrait|doivent|doit|attendais"
    r"|deber[ií]an?|deben?|esperaba|dovrebbero|dovrebbe|deveriam|deveria|deve)"
)
# Between the wish and the trait nothing else is spoken of.
_GAP = r":?(?P<gap>(?: [^\s.,;()]{1,20}){0,6}?)"
_DENIES = re.compile(r"n['’]t\b|\b(?:not|never|no|nicht|kein\w*|pas|no|non)\b|\bcan(?:not)?\b", re.IGNORECASE)
_OTHER_PLACE = re.compile(
    r"\b(?:if|when|unless|with|for|of|input\w*|argument\w*|parameter\w*|padd\w+|fill\w*|starting|initial\w*"
    r"|time\w*|count\w*|number of|sum|gradient of|than|instead|wenn|falls|bei|mit|si|pour|avec|con)\b",
    re.IGNORECASE,
)
_ZEROS = r"(?:zeros|zeroes|all zero|identically zero|nullen|überall null|zéros|ceros|zeri)"
_ONES = r"(?:all (?:be )?ones?|ones everywhere|(?:lauter |nur )?einsen|des uns|todos unos)"
_SORTED = (
    r"(?:sorted|(?:in )?ascending(?: order)?|in increasing order|aufsteigend|sortiert|triée?s?"
    r"|monotonic(?:ally)? (?:increasing|non-?decreasing)|ordenad[oa]s?|ordinat[oaie])"
)
_EQUAL = (
    r"all (?:(?:the )?(?:elements|values|entries|numbers|components|rows) )?(?:to )?(?:be )?"
    r"(?:equal|identical|the same)"
)
_SUMS_TO_ONE = r"(?:(?:sum|add)(?: up)? to (?:1(?:\.0+)?|one)|zu 1 (?:summieren|addieren)|suma[rn]? 1)"
_REAL = r"(?:(?:purely |all )?real(?:[- ]valued)?(?! time| world| data)|reell\w*|réel(?:le)?s?|reales?)"
_NOT_A_NUMBER = r"(?:nans?|inf|infs|infinity|infinities|infinite|unendlich\w*)"
# Each trait with words for it, and whether these are denied: `should not be empty`.
_NAMES: tuple[tuple[Trait, str, bool], ...] = (
    (Trait.ZEROS, _ZEROS, False),
    (Trait.ONES, _ONES, False),
    (Trait.FINITE, r"(?:finite|endlich\w*|finie?s?|finit[oa]s?)", False),
    (Trait.FINITE, _NOT_A_NUMBER, True),
    (Trait.SUMS_TO_ONE, _SUMS_TO_ONE, False),
    (Trait.SORTED, _SORTED, False),
    (Trait.EQUAL, _EQUAL, False),
    (Trait.REAL, _REAL, False),
    (Trait.REAL, r"(?:complex|komplex\w*|complexes?|imaginary)", True),
    (Trait.NOT_EMPTY, r"(?:non-?empty)", False),
    (Trait.NOT_EMPTY, r"(?:empty|leer|vide|vac[ií][oa]|vuoto)", True),
)
# Most wishes have none of these words, which one look tells.
_ANY_NAME = re.compile(rf"\b(?:{'|'.join(words for _, words, _ in _NAMES)})\b", re.IGNORECASE)
_BE = r"(?:be |sein |être |ser )?"
_WISHES: tuple[tuple[Trait, bool, re.Pattern[str]], ...] = tuple(
    (trait, denied, re.compile(rf"\b(?P<wish>{_WISH}){_GAP} {_BE}{words}\b", re.IGNORECASE))
    for trait, words, denied in _NAMES
)
# `zeros are what I'd have expected`, `all ones would be right`.
_TOLD_AFTER = tuple(
    (
        trait,
        re.compile(
            rf"\b{words}(?: [^\s.,;:()]{{1,15}}){{0,4}}? (?:expect(?:ed)?|erwartet|correct|right|richtig)\b",
            re.IGNORECASE,
        ),
    )
    for trait, words in ((Trait.ZEROS, _ZEROS), (Trait.ONES, _ONES))
)
_NOT_NUMBERS = r"[`'\"“]?\b(?:nans?|infs?|infinity|infinities|infinite)(?:['’]s)?\b[`'\"”]?"
_NAN = re.compile(r"\b(?:nan|inf)\b", re.IGNORECASE)
# `I expected an error instead of nan`.
_RATHER_THAN_NAN = re.compile(
    r"\b(?:expect\w{0,3}|should|must|would|erwart\w{1,3}|hätte)\b[^.\n]{0,60}?"
    r"\b(?:instead of|rather than|statt|anstatt) `?(?:nan|inf)\b",
    re.IGNORECASE,
)
_OF_NAN = "nan nans inf infs infinity infinities infinite"
# `I get nan`, `liefert inf`, `the result is full of NaNs`.
_GETS_NAN = keyed_pattern(
    _OF_NAN,
    r"\b(?:gets?|got|gives?|gave|returns?|returned|returning|prints?|printed|yields?|produces?|produced|is|are|was"
    r"|becomes?|became|goes to|turns? (?:in)?to|contains?|full of|results? in|leads? to|outputs?|computes?"
    r"|evaluates? to|shows?|has|have|liefert|gibt|ergibt|wird|ist|enthält|retourne|renvoie|donne|affiche"
    r"|devuelve|da|es|restituisce|dà|retorna)"
    rf"(?: [^\s.,;:()]{{1,15}}){{0,3}}? {_NOT_NUMBERS}",
)
# `nan in the tail`, `nan is returned`, `the nan makes no sense`, `Das inf ist wrong`.
_WRONG_NAN = keyed_pattern(
    _OF_NAN,
    rf"(?:{_NOT_NUMBERS} (?:is|are|gets|get|wird|werden) (?:returned|printed|produced|given|shown)\b"
    rf"|^[#\s]{{0,4}}{_NOT_NUMBERS} (?:from|in|at|for|when|with|returned|incorrectly|instead|bei|aus|dans"
    rf"|en)\b|{_NOT_NUMBERS}(?: [^\s.,;:()]{{1,15}}){{0,6}}? (?:wrong\w*|incorrect\w*|bug|unexpected\w*"
    r"|no sense|bad|weird|strange|surprising|falsch|faux|incorrect[oa]?)\b"
    r"|\b(?:wrong\w*|incorrect\w*|unexpected\w*|spurious|no reason|why|weird|strange|bogus)"
    rf"(?: [^\s.,;:()]{{1,15}}){{0,5}}? {_NOT_NUMBERS})",
)
# The input has it, or it is what the report wants.
_RIGHT_NAN = keyed_pattern(
    _OF_NAN,
    r"\b(?:ignor\w+|skip\w*|drop\w*|mask\w*|fill\w*|handl\w+|treat\w*|propagat\w+|allow\w*|input\w*|missing"
    r"|should(?: be| return| give| have been)?|must be|expected|correctly|rightly|correct|if|when|whenever"
    r"|instead of(?: returning)?|rather than)"
    rf"(?: [^\s.,;:()]{{1,15}}){{0,3}}? {_NOT_NUMBERS}",
)


def right_traits(title: str, sentences: Sequence[str]) -> tuple[Trait, ...]:
    """The traits that the value has to have by the words of a report, in the order of their names."""
    traits = set(_wishes_in(sentences))
    texts = [text[:_MOST_SENTENCE] for text in (title, *sentences[:_MOST_SENTENCES])]
    if any(map(_complains_of_nan, texts)) and not any(map(_wants_nan, texts)):
        traits.add(Trait.NO_NAN)
    return tuple(trait for trait in Trait if trait in traits)


def is_refused(check: Check, traits: Sequence[Trait]) -> bool:
    """Whether nan is read as expected, where the report says that there should be none."""
    values = [number for text in (*check.lines, check.number or "") for number in _NAN.findall(text)]
    is_denied = Trait.FINITE in traits or _RATHER_THAN_NAN.search(check.text[:_MOST_SENTENCE]) is not None
    return check.role is Role.EXPECTED and bool(values) and is_denied


def _wishes_in(sentences: Sequence[str]) -> Iterator[Trait]:
    for sentence in sentences[:_MOST_SENTENCES]:
        if _WISH_WORDS.isdisjoint(words_of(sentence)):
            continue
        text = sentence[:_MOST_SENTENCE]
        if _ANY_NAME.search(text) is None:
            continue
        for trait, denied, pattern in _WISHES:
            match = pattern.search(text)
            if match is not None and _is_plain(match, denied=denied):
                yield trait
        for trait, pattern in _TOLD_AFTER:
            match = pattern.search(text)
            if match is not None and not (_DENIES.search(match[0]) or _OTHER_PLACE.search(match[0])):
                yield trait


def _is_plain(match: re.Match[str], *, denied: bool) -> bool:
    """Whether the wish is about the value itself, and is denied where the trait needs it."""
    before = match["wish"] + match["gap"]
    return (_DENIES.search(before) is not None) is denied and not _OTHER_PLACE.search(match["gap"])


def _complains_of_nan(text: str) -> bool:
    return any(pattern.search(text) is not None for pattern in (_GETS_NAN, _WRONG_NAN))


def _wants_nan(text: str) -> bool:
    match = _RIGHT_NAN.search(text)
    return match is not None and _DENIES.search(match[0]) is None
