"""Reads the seen and the expected value of a sentence. Every pattern is linear."""

from __future__ import annotations

import re

from app.intake.claim.value_mentions import BOUND, NO_COUNT, OF_INPUTS, lone_expected_value
from app.intake.words.vocabulary import (
    FLAGS,
    GOES_ON,
    INSTEAD,
    LITERAL,
    MODALS,
    NUMBER,
    RIGHT,
    SHOW,
    WHOLE_NUMBER,
    any_of,
    is_number,
    is_printed_line,
    strip_quotes,
)

# The gap between a word and its value holds nothing that could be another value.
_TO = r"[^\"'`\d\n+\-\[(]{0,30}?"
_SHOULD = any_of(MODALS, "would have to")
_SHOW = any_of(SHOW)
# Verbs with which others state another value: `numpy says 1.5`, `the documentation promises 3`.
_SAYS_TOO = (
    r"(?:says?|gives?|returns?|prints?|has|shows?|promises?|computes?|reports?|gets?|answers?|writes?"
    r"|yields?|claims?|states?)"
)

# Words before a verb that describe the expectation, or somebody else's statement: `it should print`, `the
# docs say it returns`.
_NOT_SEEN = re.compile(
    rf"\b(?:(?:{_SHOULD}|would|could|can|may|might|shall|to|expect(?:s|ed)?|want(?:s|ed)?|like|assum\w+"
    r"|thought|think|guess\w*|believ\w+|if|unless|whether|doc(?:s|umentation)?|documented|docstring"
    r"|manual|promis\w+|claims?|claimed|correct(?:ly)?|right|true|exact|real|n['’]t|not|never"
    r"|no longer|used|previously|formerly|earlier|before|old(?:er)?)\b"
    # `In Fortran I get 3`.
    r"|(?:in|with|using) (?:r|matlab|octave|julia|mathematica|maple|excel|fortran|c|java|javascript|rust|perl"
    r"|ruby|haskell|php)\b(?! order| contig|[-^+#]),?)[^.;:,\n]{0,30}$",
    FLAGS,
)
_MOST_BEFORE = 60
# `2.5 -2.5` and `2.5 and -2.5`, but no count, as in `3 and 4 rows`.
_FURTHER_NUMBERS = re.compile(
    rf"(?:(?:,? and |, ?|[ \t]+|; ?)(?<![\w.+-]){NUMBER}(?![%°\w])){{1,40}}"
    rf"(?=\s*(?:$|[.,;:)!?](?!\d)|\b{GOES_ON}))",
    FLAGS,
)
_NO_COUNTS = rf"(?:{NO_COUNT}|(?={_FURTHER_NUMBERS.pattern}))"
_VALUE = rf"(?P<value>(?!{NUMBER}){LITERAL}|{WHOLE_NUMBER}{_NO_COUNTS})"
_PRINTS = re.compile(
    r"\b(?:prints?|printed|outputs?|gives?|gave|returns?|returned|yields?|shows?|obtains|evaluates to"
    r"|comes? (?:out|back) (?:as|to be)|there (?:stands?|stood)|(?:screen|terminal|console) (?:stands?|stood)"
    r"|(?:what|all that|all i get|the only thing that) (?:comes out|(?:i|we) (?:get|see|obtain|receive)"
    r"|is (?:printed|returned|shown)) (?:is|was|are)"
    rf"|all (?:i|we) (?:get|see) is)\s*+:?\s*+(?:(?:me|us|out|always|just|only|back) ){{0,2}}{_VALUE}",
    FLAGS,
)
# In `I get 3 here` the clause ends or goes on; in `I get 3 rows` the number is a count.
_GETS = re.compile(
    r"\b(?:(?:i|we) (?:still |always |just |only )?(?:get|got|see|saw|obtain(?:ed)?|receive[d]?"
    r"|am (?:still |always )?(?:getting|seeing))"
    r"|(?:i['’]m|we['’]re|we are) (?:still |always )?(?:getting|seeing)"
    r"|(?:it|this|that|which|script|code|snippet|one-liner|line|^) ?(?:says?"
    rf"|said))\s*+:?\s*+(?:(?!{NUMBER})(?P<quoted>{LITERAL})"
    rf"|(?P<value>{WHOLE_NUMBER})(?=\.?$|[.,;:)!?](?!\d)"
    r"|\s+(?:here|every|each|on|with|but|where|when|instead|for|and|while|always|in|from|at|which|as"
    rf"|rather|after|again)\b|{_FURTHER_NUMBERS.pattern}))",
    FLAGS,
)
_ORDER = re.compile(r"(?:print|give|return|show|get)\b", FLAGS)
_BEGINNING = re.compile(r"(?:^|[.!?:] |\n|\b(?:please|just|now|then|and|or|bug|you|to) )[^\w]*$", FLAGS)
_VALUE_IS = re.compile(
    rf"\b(?:value|result|output|answer|loss|error|sum|it)\s+(?:is|was"
    rf"|=)\s*(?:(?:always|still|just|only|now) )?(?![\"'`“]){_VALUE}",
    FLAGS,
)
# `4 is returned, although there are three`.
_IS_PRINTED = re.compile(
    rf"(?:^|(?<=[.,;:(] )|(?<=\b(?:and|but) ))(?P<value>{WHOLE_NUMBER}|`[^`\n]{{1,200}}`"
    r"|(?:True|False|None)\b) (?:is|was|gets) (?:always |still |just |only )?(?:returned|printed|shown"
    r"|displayed|reported|computed)\b",
    FLAGS,
)
_EXPECTED_ALONE = re.compile(
    rf"\b(?:expected|(?:i|we)(?: would|['’]d)?(?: have)? (?:expect(?:ed)?|assumed?)|{_SHOULD} {_SHOW}"
    rf"|{any_of(RIGHT)}(?: (?:value|answer|result|output)s?)?(?= (?:is|was|would be|are)\b"
    r"|\s*[:=])|(?:correct|right) (?:value|answer|result"
    rf"|output)s?)\b{_TO}(?P<expected>(?!{NUMBER}){LITERAL}"
    rf"|{WHOLE_NUMBER}{_NO_COUNTS})",
    FLAGS,
)
# Words for parts of the script, its runs and its places.
_NOT_OF_THIS = (
    r"(?!(?:\w{1,20} ){0,2}?(?:calls?|runs?|times?|attempts?|tr(?:y|ies)|iterations?|threads?|process(?:es)?"
    r"|versions?|releases?|builds?|elements?|rows?|columns?|values?|ones?|lines?|prints?|inputs?|nodes?|workers?"
    r"|seeds?|devices?|gpus?|cards?|platforms?|machines?|laptops?|computers?|dtypes?|precisions?|backends?"
    r"|modes?|methods?|functions?|mal|fois|vez|volta)\b)"
)
# `every shop on earth says 2.68`: all others agree. But `every other run says 2.68` is about this script.
_EVERYONE = (
    r"(?:(?:every|each|any|all|most|no|jede[rs]?|alle|chaque|tou(?:te|t)s?|cada|tod[oa]s?|ogni|tutt[ei])"
    rf" {_NOT_OF_THIS}\w{{2,30}}(?: \w{{1,20}}){{0,3}}"
    r"|every(?:one|body)(?: else)?|any(?:one|body)(?: else)?|(?:other |most )?people"
    r"|the (?:whole|rest of the) (?:world|internet)"
    r"|(?:my|our) (?:teacher|boss|colleagues?|textbook|calculator|customers?))"
)
_SAYS_LIKEWISE = (
    rf"(?:{_SAYS_TOO}|say|give|print|have|agree on|sagt|sagen|rechnet|rechnen|dit|disent|dice|dicen|dicono"
    r"|diz)"
)
_INSTEAD_BEHIND = re.compile(
    rf"^{_TO}(?:\b{any_of(INSTEAD, 'and not', 'but not')}"
    rf"|[,(;] ?not)\b{_TO}(?P<expected>{LITERAL})"
    r"|^[\s,;(]{0,3}(?:where(?:as)?|while|but|although|though) "
    r"(?!the (?:next|second|following|last|other) (?:line|call|run|time|print|value|row|column)\b)(?:the "
    rf"|my )?[\w.]{{1,30}}(?: \w{{1,20}})? {_SAYS_TOO} (?P<other>{LITERAL})"
    r"|^[\s,;:(–—-]{0,4}(?:(?:where(?:as)?|while|but|although|though|and|yet|aber|mais|pero|ma|mas) )?"
    rf"{_EVERYONE} (?:{_SAYS_LIKEWISE} )?(?P<everyone>{LITERAL})"
    rf"|^[\s,;(]{{0,3}}(?:where(?:as)?|while|but|and) (?P<right>{LITERAL})(?: is| was"
    r"| would be)? (?:expected|correct|right)\b",
    FLAGS,
)
_NUMBER = re.compile(rf"(?<![\w.+-]){NUMBER}", FLAGS)
_EXPECTS_NOT = re.compile(r"\b(?:not|never)\b|n['’]t\b", FLAGS)
# In ``gives `-0.0`, as it should, but not on Windows`` the value is the right one.
_AS_IT_SHOULD = re.compile(
    r"[\"'`)]{0,3},? (?:(?:just |exactly )?as (?:it should(?: be)?(?! not)|expected)"
    r"|which is (?:correct|right|fine))\b",
    re.IGNORECASE,
)


def seen_value(sentence: str) -> str | None:
    """The value that a sentence says is printed."""
    for rule in (_PRINTS, _GETS, _VALUE_IS, _IS_PRINTED):
        values: dict[str, None] = {}
        for match in rule.finditer(sentence):
            quoted_text = match.groupdict().get("quoted")
            before = sentence[max(0, match.start() - _MOST_BEFORE) : match.start()]
            if (
                _NOT_SEEN.search(before)
                or _AS_IT_SHOULD.match(sentence, match.end())
                or is_order(sentence, match.start())
                or (quoted_text and not is_printed_line(strip_quotes(quoted_text)))
            ):
                continue
            value = match["value"] or quoted_text or ""
            values[_with_further_numbers(value, sentence, match.end())] = None
        if values:
            # In `numpy returns 4 and torch returns 3` the wrong value would be a guess.
            return next(iter(values)) if len(values) == 1 else None
    return None


def is_order(text: str, start: int) -> bool:
    """Whether the verb at this place is an order to the reader, as in `Give `f` a list`."""
    before = max(0, start - _MOST_BEFORE)
    return _ORDER.match(text, start) is not None and _BEGINNING.search(text[before:start]) is not None


def _with_further_numbers(value: str, sentence: str, end: int) -> str:
    """The value with the numbers that follow it, as one printed line: `prints 2.5 -2.5`."""
    more = _FURTHER_NUMBERS.match(sentence, end) if is_number(value) else None
    return f"`{value} {' '.join(_NUMBER.findall(more[0]))}`" if more else value


def expected_value(sentence: str) -> str | None:
    """The value that a sentence alone says is expected, such as `It should print 13`."""
    if _EXPECTS_NOT.search(sentence):
        return lone_expected_value(sentence)
    match = _EXPECTED_ALONE.search(sentence)
    if (
        match is None
        or BOUND.search(sentence[: match.start("expected")][-_MOST_BEFORE:])
        or OF_INPUTS.search(sentence[max(0, match.start() - _MOST_BEFORE) : match.start()])
    ):
        return lone_expected_value(sentence)
    return _with_further_numbers(match["expected"], sentence, match.end("expected"))


def expected_value_after(text: str) -> str | None:
    """The expected value in the words after a seen one: ` rather than 4`, `, where I'd expect 4`."""
    return opposed_value(text) or expected_value(text)


def opposed_value(text: str) -> str | None:
    """The right value with which a text begins: `rather than 4`, `where 0 would be correct`."""
    match = _INSTEAD_BEHIND.search(text)
    if match is None:
        return None
    return match["expected"] or match["other"] or match["everyone"] or match["right"]
