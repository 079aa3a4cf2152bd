"""Bounds that a report sets for a value: `should be between 0 and 1`, `returns a negative variance`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.intake.claim.claims import MOST_RIGHT_BOUNDS, Bounds, Check, CheckKind
from app.intake.words.vocabulary import EXPECT, FLAGS, MODALS, any_of

_MOST_SENTENCES = 200
_MOST_LINE = 1_000
_MOST_TEXT = 400
# A finite number. Bounds are sent as JSON, and 0x10, 3j, nan and inf set none.
_N = r"`?(?P<{name}>[-+]?\d{{1,9}}(?:\.\d{{1,15}})?(?:e[-+]?\d{{1,2}})?)(?![\w.]\w|\w)`?"
_HAS_TO = rf"(?:{any_of(MODALS)}|{EXPECT}|(?:is|are) (?:always|by definition|guaranteed to be))"
# A bound of a time, a size, a version or a sum is about another number than those that are printed.
_ABOUT_OTHERS = re.compile(
    r"\b(?:sums?|total|cumulative|add(?:s|ed)? up|seconds?|minutes?|hours?|ms|times?|faster|slower|memory"
    r"|[kmg]i?b|bytes?|versions?|python|cuda|gpus?|cpus?|threads?|workers?|epochs?|steps?|iterations?"
    r"|percent|digits?|length|shape|size|dim\w*|ndim|inputs?|arguments?|parameters?|indices|index|axis|if|when|for|with|passing|passed|given)\b|%",
    FLAGS,
)
_MORE = r"(?:>|greater than|larger than|bigger than|more than|above|over|higher than|exceeding)"
_LESS = r"(?:<|less than|smaller than|lower than|below|under)"
_BETWEEN = re.compile(
    rf"\b(?:{_HAS_TO}|within|range)\b[^.;\n]{{0,40}}?"
    rf"(?:between {_N.format(name='a')} and {_N.format(name='b')}"
    rf"|(?:in|within|inside)(?: the)?(?: (?:range|interval))?(?: of| from)? ?[\[(] ?{_N.format(name='c')}, ?"
    rf"{_N.format(name='d')} ?[\])])",
    FLAGS,
)
_COMPARED = re.compile(
    rf"\b{_HAS_TO} (?:always |be |lie |stay |remain |have been |only |strictly |to be )*"
    rf"(?P<not>not (?:be |exceed )?|never (?:be |exceed )?)?"
    rf"(?:(?P<at_least>>=|≥|at least|no less than|no smaller than)|(?P<at_most><=|≤|at most|no more than"
    rf"|no larger than|no greater than)|(?P<more>{_MORE})|(?P<less>{_LESS}))? ?{_N.format(name='n')}"
    r"(?![\w.,]\w)",
    FLAGS,
)
_SIGN = (
    r"(?P<nonnegative>non-?negative|not negative)|(?P<nonzero>non-?zero)|(?P<positive>(?:strictly )?positive)"
    r"|(?P<negative>(?:strictly )?negative)"
)
_SIGNED = re.compile(
    rf"\b(?:{_HAS_TO}|can(?P<can>not|['’]t| never| not)|may (?P<may>not|never))(?:n['’]t)? "
    rf"(?P<not>not |never )?(?:always |ever |possibly )?(?:be |become |go |get |have been |lie )?"
    rf"(?:{_SIGN})\b",
    FLAGS,
)
_NEGATED_MODAL = re.compile(r"n['’]t\b|\bcannot\b|\bcan not\b|\bnever\b|\bnot\b", FLAGS)
_ABSURD = re.compile(
    r"\b(?:impossible|absurd|nonsense|nonsensical|no sense|not possible|wrong\w*|incorrect\w*|invalid|bug"
    r"|should|must|cannot|can['’]t|never|mathematically|by definition|theoretically)\b",
    FLAGS,
)
_SHOWS = (
    r"(?:returns?|returned|gives?|gave|outputs?|prints?|yields?|produces?|gets?|got|is|are|becomes?|reports?)"
)
# `returns a negative variance`, `p-values > 1`, `a probability greater than 1`.
_NEGATIVE = re.compile(rf"\b{_SHOWS}(?: (?:an?|the|me|some))? negative\b(?! (?:infinity|zero|inf))", FLAGS)
_TOO_LARGE = re.compile(
    rf"\b(?:{_SHOWS}|values?|probability|probabilities|p-?values?|scores?|distances?|similarity|similarities"
    r"|correlations?|coefficients?|accuracy|variance) ?(?:an? |the )?"
    r"(?:values? |probability |probabilities |number |result )?"
    rf"(?:that (?:is|are) )?(?:(?P<at_least>>=)|(?P<more>{_MORE})|(?P<less>{_LESS})) ?{_N.format(name='n')}"
    r"(?![\w.,]\w)",
    FLAGS,
)


def right_bounds(title: str, sentences: Sequence[str]) -> tuple[Bounds, ...]:
    """The bounds between which a report says that its value has to lie; empty if it sets none."""
    return tuple(dict.fromkeys(bounds for _, bounds in _sentences_with_bounds(title, sentences)))[
        :MOST_RIGHT_BOUNDS
    ]


def out_of_bounds(title: str, sentences: Sequence[str]) -> list[Check]:
    """The check that a printed value breaks a bound, where the report sets one bound."""
    pairs = list(_sentences_with_bounds(title, sentences))
    if len({bounds for _, bounds in pairs}) != 1:
        return []
    sentence, bounds = pairs[0]
    return [Check(text=sentence[:_MOST_TEXT], kind=CheckKind.OUT_OF_BOUNDS, bounds=bounds)]


def _sentences_with_bounds(title: str, sentences: Sequence[str]) -> Iterator[tuple[str, Bounds]]:
    title = title[:_MOST_LINE]
    for sentence in [title, *(each[:_MOST_LINE] for each in sentences[:_MOST_SENTENCES])]:
        for bounds in _bounds_in(sentence, is_title=sentence == title):
            if not _ABOUT_OTHERS.search(sentence):
                yield sentence, bounds


def _bounds_in(sentence: str, *, is_title: bool) -> Iterator[Bounds]:
    if match := _BETWEEN.search(sentence):
        low, high = sorted(float(match[a] or match[b]) for a, b in (("a", "c"), ("b", "d")))
        yield Bounds(least=low, most=high)
        return
    if match := _SIGNED.search(sentence):
        yield _of_sign(match)
        return
    if (match := _COMPARED.search(sentence)) and (bounds := _of_comparison(match)) is not None:
        yield bounds
        return
    if not is_title and not _ABSURD.search(sentence):
        return
    if _NEGATIVE.search(sentence):
        yield Bounds(least=0.0)
    elif match := _TOO_LARGE.search(sentence):
        limit = float(match["n"])
        if match["at_least"]:
            yield Bounds(below=limit)
        else:
            yield Bounds(most=limit) if match["more"] else Bounds(least=limit)


def _of_sign(match: re.Match[str]) -> Bounds:
    denied = bool(match["not"] or match["can"] or match["may"]) or "n't" in match[0].replace("’", "'")
    if match["nonnegative"]:
        return Bounds(least=0.0)
    if match["nonzero"]:
        return Bounds(unequal=0.0)
    if match["positive"]:
        return Bounds(most=0.0) if denied else Bounds(above=0.0)
    return Bounds(least=0.0) if denied else Bounds(below=0.0)


def _of_comparison(match: re.Match[str]) -> Bounds | None:
    """The bounds of `should be > 1` and `must not be 0`. `should be 3` sets none: it names the value."""
    limit = float(match["n"])
    before = match[0][: match.start("n") - match.start()]
    denied = _NEGATED_MODAL.search(before) is not None
    exceeds = "exceed" in before.lower()
    if match["at_least"]:
        return Bounds(least=limit)
    if match["at_most"] or (denied and (exceeds or match["more"])):
        return Bounds(most=limit)
    if match["more"]:
        return Bounds(above=limit)
    if match["less"]:
        return Bounds(least=limit) if denied else Bounds(below=limit)
    return Bounds(unequal=limit) if denied else None
