"""Reads `This should work` above a script, where nothing else is said: the claim is that an error comes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import cut, sentences_in
from app.intake.claim.claims import ANY_ERROR, Check, CheckKind
from app.intake.words.keyed_pattern import key_set, words_of
from app.intake.words.vocabulary import FLAGS, MODALS, any_of

_MODAL = any_of(MODALS, "would have to")
_ADVERB = (
    r"(?: (?:just|simply|all|also|probably|really|actually|certainly|definitely|clearly|both|still|always|now"
    r"|of course|in theory|imo))?"
)
_TO_RUN = (
    r"(?:work|run|pass|succeed|go through|be (?:allowed|accepted|possible|valid|legal|ok|fine|supported))"
)
_TO_FAIL = (
    r"(?:raise|fail|crash|throw|error(?: out)?|break|blow up|die|cause an? (?:error|exception)|be (?:an?"
    r" error|rejected|refused))"
)
_FINE = (
    r"(?: (?:fine|ok|well|too|also|as well|here|then|again|out of the box|just fine|without(?: any| an?)?"
    r" (?:errors?|problems?|exceptions?|issues?|trouble)|an? (?:error|exception)|anything|any (?:errors?"
    r"|exceptions?)|in my opinion|i think|imo|i believe)){0,2}"
)
_BUT_NOT = (
    r"(?:[,;]? (?:but|and|yet) (?:it |that |this )?(?:does not|doesn['’]t|fails|is not|isn['’]t|will not"
    r"|won['’]t|did not|didn['’]t))?"
)
# The words that may stand for the script.
_SUBJECT = (
    r"\b(?:this|that|it|these|those|both|following|above|below|code|snippet|example|script|program|call|lines?"
    r"|statement|das|dies|folgende\w*|esto|este|esta|isto|isso|ceci|cela|ça|questo|это|этот|пример|код"
    r"|código|codice)\b|[这此该]|以下|下面|上面|この|これ|次の|`[^`\n]{1,200}`"
)
_KEYS = key_set(
    "should shouldn must mustn has have had ought need needs suppose supposes supposed meant expect expected"
)
_SHOULD_WORK = re.compile(
    rf"(?P<head>(?:[^\s.;]{{1,200}} ){{0,8}}?)(?:{_MODAL}{_ADVERB} {_TO_RUN}"
    rf"|(?:should|must)(?: not|n['’]t){_ADVERB} {_TO_FAIL}|ought not to {_TO_FAIL}"
    rf"|(?:i |we )?(?:would |['’]d )?(?:have )?expect(?:ed)?(?P<thing>(?: [^\s.;]{{1,200}}){{1,5}}) "
    rf"(?:to {_TO_RUN}|not to {_TO_FAIL}|to not {_TO_FAIL})){_FINE}{_BUT_NOT}"
    r"(?:[,:.!(–—-].{0,120})?\W{0,4}",
    FLAGS,
)
# It may be about something else than an error: a remedy, a value, a time.
_OTHER = re.compile(
    r"\b(?:work-?arounds?|fix|patch\w*|solution|faster|slow\w*|if|once|after|until|unless|when|instead"
    r"|memory|leaks?|hang\w*|freezes?|freezing)\b",
    FLAGS,
)
_SAYS_MORE = key_set(
    "wrong wrongly incorrect incorrectly different differs differ slow slower faster memory leak leaks "
    "hangs hang warning warnings deprecated deprecation prints printed returns returned gives output outputs "
    "result results value values nan inf inconsistent ignored ignores silently feature support request docs "
    "documentation plot figure rendered color performance expected instead"
)
_MOST_SENTENCES = 40
_MOST_SENTENCE = 300
# A report that says more says it in words that other rules read, or that none reads.
_MOST_TEXT = 700


def should_work(texts: Sequence[str]) -> list[Check]:
    """The check of any error. The first text is the title; empty if the texts say more than such words."""
    words = [text for text in texts if text.strip()]
    if sum(map(len, words)) > _MOST_TEXT:
        return []
    sentences = [each for text in words for each in sentences_in(text)][:_MOST_SENTENCES]
    wishes = [each for each in sentences if _is_wish(each)]
    rest = " ".join(each for each in sentences if each not in wishes)
    if not wishes or not _SAYS_MORE.isdisjoint(words_of(rest)):
        return []
    return [Check(text=cut(wishes[0]), kind=CheckKind.EXCEPTION, exception_type=ANY_ERROR, message="")]


def _is_wish(sentence: str) -> bool:
    sentence = sentence[:_MOST_SENTENCE]
    if _KEYS.isdisjoint(words_of(sentence)):
        return False
    match = _SHOULD_WORK.fullmatch(sentence)
    if match is None or _OTHER.search(sentence):
        return False
    return re.search(_SUBJECT, f"{match['head']} {match['thing'] or ''}", FLAGS) is not None
