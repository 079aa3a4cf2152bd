"""Finds the values that a text mentions, each as seen or as expected. Every pattern is linear.

The words around a value in its own clause decide, in any order: `The correct answer is 4; the program says
5`, `4 would be right, 5 comes out`, `on 2.0 it was 4, now it is 5`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from app.intake.words.vocabulary import FLAGS, INSTEAD, LITERAL, MODALS, SEE, SHOW, any_of, strip_quotes

# Counts, and bounds such as `should be below 1e-6`, are no values.
NO_COUNT = (
    r"(?!\.?\d|[%°]|-[a-z]|\s+(?:different |more |extra |wrong |empty |separate |identical |of "
    r"|such )?(?!(?:as|is|was|plus|unless|always|vs|has|does|this|sometimes|versus|perhaps|whereas"
    r"|comes|appears|gives|prints|returns|says|shows)\b)[a-z]{2,20}s\b"
    r"|\s+(?:different|more|extra|of|or|to|out|and \d|[-–] ?\d)\b)"
)
BOUND = re.compile(
    r"(?:\b(?:below|under|above|within|about|around|roughly|approximately|near|up to|at (?:most|least)"
    r"|close to|(?:less|more|smaller|larger|greater|lower|higher|fewer|better|other) than)"
    r"|[<>≤≥~±]=?)\s*[\"'`]?$",
    FLAGS,
)
# Words for inputs: a value beside them is no output.
OF_INPUTS = re.compile(
    r"\b(?:inputs?|arguments?|args?|param\w*|options?|sizes?|shapes?|dim\w*|ind(?:ex|ices)|lengths?"
    r"|seeds?|axis|rank|batch\w*|versions?|threads?|processes|gpus?|tolerances?"
    r"|(?<!['’])(?-i:[b-hj-z]))\b[^.;\n]{0,20}$",
    FLAGS,
)
_SHOULD = any_of(MODALS, "would")
_SHOW = any_of(SHOW)
_SEE = any_of(SEE)
_NOUN = r"(?:value|answer|result|output|number|one|sum|reply|outcome|behaviou?r)s?"
# Words before a value that say whether it is expected or seen. The longest alternatives come first.
_CUES = re.compile(
    rf"(?P<unexpected>\bshould(?:n['’]t| not| never) {_SHOW}\b)"
    rf"|(?P<expected>\b(?:should|must|would|could)n['’]t (?:it|this|that|the \w{{1,20}}) {_SHOW}\b"
    rf"|\b{_SHOULD} (?:\w{{1,12}} )?{_SHOW}\b"
    r"|\b(?:expect(?:s|ed|ing|ation)?|assum(?:e[ds]?|ing)|desired|wanted|want"
    r"|(?:i|we)['’]d (?:say|want|like)|hoped for)\b"
    r"|\b(?:correct|right|true|exact|real|proper|documented"
    rf"|(?:doc(?:s|umentation)?|manual) (?:promises?|says?|states?))(?: {_NOUN})?(?: (?:is|was|would be"
    rf"|being))?(?!\w)|\b{any_of(INSTEAD)}\b"
    rf"|\b(?:used to {_SHOW}|previously|formerly)\b|(?:\b(?:{_SEE}|and|but)|(?<=,)) not\b"
    rf"|\b(?:is|was|are|were|does|did)n['’]t(?: {_SHOW})?\b|\b(?:does|did) not {_SHOW}\b)"
    rf"|(?P<seen>\b(?:now|actual(?:ly)?|observed|currently|output|result|(?:it|that)['’]s|{_SEE})\b)",
    FLAGS,
)
# Words after a value that say so.
_BEHIND = re.compile(
    r"^[\s\"'`)*]{0,4}(?:,\s(?=as ))?(?:\([^()\n]{0,30}\)\s?)?"
    r"(?P<is>(?:is|was|were|are|would be|would have been"
    r"|being|as|which|that) )?(?:(?P<expected>(?:the )?(?:expected|correct|right|wanted|desired|exact"
    r"|true|documented|(?<=as )it should(?: be)?(?! not)"
    r"|(?<=would be )(?:sorted|ordered|ascending|descending|in order|fine|ok(?:ay)?|good|better|sensible"
    r"|logical|reasonable|consistent|natural|sane|stable|symmetric|exact|rounded|my guess)"
    r"|what (?:\w+ ){1,6}?(?:says?|said|promis\w+|expect\w*|wants?|gives?"
    rf"|{any_of(MODALS)} {any_of(SHOW)}))\b)"
    r"|(?P<seen>(?:the )?(?:wrong|incorrect|printed|returned|shown|seen|observed|actual\w*"
    r"|what (?:i|we) (?:get|see|got|saw|have)|what (?:i['’]m|i am|we['’]re|we are) (?:getting"
    r"|seeing)|what (?:it|the \w+) (?:prints?|returns?|gives?|says?)"
    r"|comes? out|came out|appears?|is printed|came back|comes? back|pops? (?:up|out))\b))(?!\s*[:=])",
    FLAGS,
)
_BOUNDARY = re.compile(
    r"[,;!?(){}—–\n]\s?|\.(?!\d)\s?|\b(?:but|yet|and|while|whereas|where|when|though|although|however)\b",
    FLAGS,
)
# Words for another version or time: its value is expected here, if this one shows another value.
_OTHER_TIME = re.compile(
    r"\b(?:on|in|with|under|before|until|till|up to|at) (?:\w{2,12} ){0,2}v?(?:_{2,}"
    r"|\d{1,2}\.(?:\d{1,2}|x))"
    r"|\b(?:used to|earlier|previous\w*|before|formerly"
    r"|(?:last|old|older|former) (?:\w+ )?(?:release|version|one|build))\b",
    FLAGS,
)
_PAST = re.compile(r"\b(?:was|were|gave|printed|returned|got|saw|showed|said|yielded)\b[^\n]{0,12}$", FLAGS)
_OWN = re.compile(
    r"^\W*(?:(?:on|in|with|under|using|for|at"
    r"|since) [^,;]{1,40}? (?=(?:i|we|it|this|that|the|my)\b))?(?:(?:so|then|here|still|now|today"
    r"|always|again|instead|actually|just|only|also|why|how|but|for me|on my \w+) ){0,3}(?:(?:i|we|you"
    r"|it|this|that|which|what|there|mine|the|my|our|your|each|all|both|any|actual|observed)\b"
    r"|(?:of|for|from) (?:the|my|a|an|this) [\w ]{1,30}?(?= (?:is|was|are)\b)"
    rf"|(?:output|result|value|script|code|program|snippet|bug)s?\b|{_SEE}\b|$)",
    FLAGS,
)
_OPINION = re.compile(
    r"\b(?:want\w*|expect\w*|thought|think|believ\w*|guess\w*|assum\w*|like|hop(?:e[ds]?|ing)"
    r"|promis\w*|demands?|requires?|according|claims?|docs?|documentation|manual|documented"
    r"|docstring)\b",
    FLAGS,
)
_IF = re.compile(r"\b(?:if|unless|whether)\b", FLAGS)
_OTHER_SOFTWARE = re.compile(
    r"^\W*(?:the )?(?:docs?|documentation|manual|docstring|spec\w*|paper|numpy|scipy|matlab|octave|r"
    r"|julia|pandas|sklearn|jax|tensorflow|tf|excel|wolfram\w*|mathematica|everyone else|others?"
    r"|everybody else|all others?|python|c|c\+\+|java)\b",
    FLAGS,
)
_NO_VALUE = re.compile(
    r"(?:\b(?:(?<!instead )of|after|for|(?<!up )with|seed|size|dim|axis|shape|step|line|python|torch"
    r"|numpy|version|index|item|issue|section|about|n|k)[ =:#]{1,2}|[#$%]|--?[\w-]{1,60}[ =])$",
    FLAGS,
)
_ON_VERSION = re.compile(r"\b(?:on|in|under|since|until) (?:\w{2,12} )?v?$", FLAGS)
_LIKE_VERSION = re.compile(r"\d{1,2}\.\d{1,2}(?:\.\d{1,2})?$")
# `The docs say "should be called after every batch"`.
_QUOTED_RULE = re.compile(r"(?:should|must|shall|can(?:not)?|may|will|has to|needs? to) \w", re.IGNORECASE)
_OPERATOR = re.compile(r"[-+*/%<>=!&|^~@.,:;]{1,4}")
_NO_COUNT = re.compile(NO_COUNT, FLAGS)
# Two values beside each other: `5 != 4`, and a value with nothing but `should be 4` after it.
_BESIDE = re.compile(
    r"^[\s`\"']{0,3}(?:!=|≠|<>|=/=)[\s`\"']{0,3}$"
    r"|^[\"'`]?\s?(?:[,;:.(–—-]{1,3}\s?(?:(?:but|and|it|that|which|this) ){0,2}"
    rf"|\b(?:but|which|it) (?:it )?)(?:{_SHOULD} (?:be|have been)|(?:i |we )?expected)\b[^\n]{{0,12}}$",
    FLAGS,
)
_IN_A_LIST = re.compile(r"\d, ?$")
_AGAINST = re.compile(
    rf"\b{any_of(INSTEAD)}\b[^\d\n]{{0,20}}$"
    r"|(?P<not>(?:,|\band|\bbut) not )(?:the )?[\"'`]?$",
    FLAGS,
)
_MODAL = re.compile(rf"\b{_SHOULD} (?:\w{{1,12}} )?{_SHOW}[^\n]{{0,12}}$", FLAGS)
_LITERAL = re.compile(LITERAL, FLAGS)
_MOST = 24
_MOST_BEHIND = 80
# The most characters between a word and its value, and between a value's last word and the next value.
_NEAR = 40
_NEXT = 15


@dataclass(frozen=True, slots=True)
class Mention:
    """A value in a text. `expected`: True, False if it is seen, None if the words don't tell."""

    value: str
    expected: bool | None
    start: int
    end: int


def find_mentions(text: str) -> list[Mention]:
    """The values of a text, in order."""
    hits = list(islice((hit for hit in _LITERAL.finditer(text) if not _is_no_value(text, hit)), _MOST))
    mentions: list[Mention] = []
    for at, hit in enumerate(hits):
        since = hits[at - 1].end() if at else 0
        until = hits[at + 1].start() if at + 1 < len(hits) else len(text)
        expected = _is_expected(text, hit.start(), hit.end(), since=since, until=until)
        link = _AGAINST.search(text, since, hit.start())
        if link and link["not"] and (not at or link.start() - since > _NEXT):
            # `I expect the edge with 100 to win, not the 110 one`: what is expected was not understood.
            expected = None
        elif link and at and link.start() - since <= _NEXT:
            # In `should be 4 rather than 3` and `prints 3, not 4`, each value is the opposite of the other.
            before = mentions[-1]
            if before.expected is None and not link["not"]:
                mentions[-1] = replace(before, expected=False)
            expected = (
                None
                if before.expected and link["not"] and not _MODAL.search(text[: before.start])
                else not mentions[-1].expected
            )
        mentions.append(Mention(hit[0], expected, hit.start(), hit.end()))
    return list(_resolve_opposites(text, mentions))


def seen_and_expected(text: str) -> tuple[str, str] | None:
    """(seen value, expected value), if the text names one expected value and a seen one near it."""
    mentions = find_mentions(text)
    expected = [each for each in mentions if each.expected]
    if len({strip_quotes(each.value) for each in expected}) != 1:
        return None
    seen = [
        each
        for each in mentions
        if each.expected is False and strip_quotes(each.value) != strip_quotes(expected[0].value)
    ]
    if not seen:
        return None
    before = [each for each in seen if each.start < expected[0].start]
    one = before[-1] if before else seen[0]
    first, last = sorted((one.start, expected[0].start))
    between = [each for each in mentions if first < each.start < last and each.expected is None]
    several = {strip_quotes(each.value) for each in (seen if not before else [])}
    return None if between or len(several) > 1 else (one.value, expected[0].value)


def lone_expected_value(text: str) -> str | None:
    """The one value that a text calls expected, if it names no other value."""
    mentions = find_mentions(text)
    expected = {strip_quotes(each.value): each.value for each in mentions}
    return (
        next(iter(expected.values()))
        if len(expected) == 1
        and any(each.expected for each in mentions)
        and all(each.expected is not False for each in mentions)
        else None
    )


def _is_no_value(text: str, hit: re.Match[str]) -> bool:
    """True if it is a count, a parameter, a version, an operator or a quoted rule."""
    if _OPERATOR.fullmatch(strip_quotes(hit[0])) or _QUOTED_RULE.match(strip_quotes(hit[0])):
        return True
    if not hit[0].lstrip("+-")[:1].isdigit():
        return False
    version = _LIKE_VERSION.fullmatch(hit[0]) and _ON_VERSION.search(
        text, max(0, hit.start() - _NEAR), hit.start()
    )
    return (
        bool(version)
        or _NO_VALUE.search(text, max(0, hit.start() - _NEAR), hit.start()) is not None
        or not _NO_COUNT.match(text, hit.end())
    )


def _is_expected(text: str, start: int, end: int, *, since: int, until: int) -> bool | None:
    behind = _BEHIND.match(text[end : min(until, end + _MOST_BEHIND)])
    last = until == len(text)
    if behind and (
        last
        or behind["is"]
        or until - end - behind.end() > _NEXT
        or _BOUNDARY.search(text, end + behind.end(), until)
    ):
        return behind["expected"] is not None
    if BOUND.search(text, max(0, start - _NEAR), start):
        return None
    starts = [match.end() for match in _BOUNDARY.finditer(text, since, start)]
    # In `4 expected, but 5` the clause has no words of its own. In `prints, as always, 5` they stand before
    # the comma.
    own = starts[-1] if starts else since
    for clause_start in (own, since) if text[since:own].rstrip().endswith(",") else (own,):
        clause = text[clause_start:start]
        cue = None
        for match in _CUES.finditer(clause):
            cue = match
        if cue is None or len(clause) - cue.end() > _NEAR:
            continue
        if cue["expected"] or cue["unexpected"]:
            return None if OF_INPUTS.search(clause, 0, cue.start()) else cue["expected"] is not None
        return _by_subject(clause)
    return None


def _by_subject(clause: str) -> bool | None:
    """Whether a value is expected, by the subject of its verb.

    The script's own value is seen. The value of other software, of a person, or of another time is expected.
    """
    if _IF.search(clause):
        return None
    if (
        _OTHER_SOFTWARE.search(clause)
        or _OPINION.search(clause)
        or (_OTHER_TIME.search(clause) and _PAST.search(clause))
    ):
        return True
    return False if _OWN.search(clause) else None


def _resolve_opposites(text: str, mentions: list[Mention]) -> Iterator[Mention]:
    """Resolve `5 != 4 (4 is correct)`: a value beside an expected one is seen."""
    expected = {strip_quotes(each.value) for each in mentions if each.expected}
    for at, each in enumerate(mentions):
        pair = [
            other
            for other in mentions[max(0, at - 1) : at + 2]
            if other is not each and _beside(text, each, other)
        ]
        if each.expected is None and pair and strip_quotes(each.value) in expected:
            yield Mention(each.value, True, each.start, each.end)
        elif each.expected is None and any(strip_quotes(other.value) in expected for other in pair):
            yield Mention(each.value, False, each.start, each.end)
        else:
            yield each


def _beside(text: str, one: Mention, other: Mention) -> bool:
    first, second = sorted((one, other), key=lambda each: each.start)
    between = text[first.end : second.start]
    return _BESIDE.match(between) is not None and not _IN_A_LIST.search(text, 0, first.start)
