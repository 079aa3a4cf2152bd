"""Reads sentences that give a value for a version or a time each, whichever stands first.

`gives `3`.` below the code that is run with 2.9, and then `Using 2.12, it gives `4`.` The value of the newer
version is the bug, unless words call it right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.intake.claim.claim_text import cut, sentences_in
from app.intake.claim.claims import Check, Role
from app.intake.claim.phrases import literal_check
from app.intake.remarks.called_right import is_of_other_tool
from app.intake.remarks.values_of_versions import as_meant, is_mended, releases_of_change
from app.intake.words.keyed_pattern import key_set, words_of
from app.intake.words.praise import praises_another_place, tells_the_past
from app.intake.words.vocabulary import FLAGS, LITERAL, strip_quotes

_NUMBER = r"v?(?P<release>\d{1,4}\.\d{1,3}(?:\.\d{1,4})?)(?![.\w]*\d)"
_RELEASE = re.compile(
    r"(?:\b(?:with|on|in|under|using|by|from|since|as of|until|before|after|versions?|release|avec|mit|con"
    rf"|com|em|en|sous|unter|в|на|под)|[在从])[ ]{{1,2}}"
    rf"(?:(?:the |la |le |der |[^\W\d_][\w-]{{1,20}} ){{0,3}}){_NUMBER}",
    FLAGS,
)
# `the result is 3`, but not `out is uint32`.
_OF_RESULT = "".join(
    f"(?<={word} )|" for word in ("it", "this", "that", "which", "result", "output", "value")
)[:-1]
_VERB = (
    r"\b(?:(?P<past>(?:used to (?:give|print|return|show|be|yield)|gave|said|printed|returned|resulted in"
    rf"|yielded|(?:{_OF_RESULT})was|showed|produced|got|answered|told|had been|(?<=\bI )had|(?<=\bwe )had"
    r"|(?<=\bit )had))|(?:gives?|prints?|returns?|results? in|yields?|shows?"
    rf"|produces?|outputs?|(?:{_OF_RESULT})is|gets?|has|sees?|answers?|tells?|da|donne))"
)
_SAYS = re.compile(
    rf"{_VERB}(?: (?:me|us|back|now|always|only|still|wrongly|correctly))?:?[ ]{{1,3}}"
    rf"(?P<value>`[^`\n]{{1,200}}`|{LITERAL})",
    FLAGS,
)
# A clause ends at `and`, a comma, or the end of its sentence.
_CLAUSE = re.compile(r";|,(?= )|[.!](?= |$)|\b(?:and|but|while|whereas|however|yet)\b", FLAGS)
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|\[[^\[\]\n]*\]")
_NOW = re.compile(r"\b(?:now|nowadays|currently|today|since)\b", FLAGS)
_PAST = re.compile(r"\b(?:previously|formerly|earlier|before|used to|in the past|old(?:er)?)\b", FLAGS)
_WRONG = re.compile(r"\b(?:wrong\w*|incorrect\w*|bug|bad|broken|nonsense)\b", FLAGS)
_FINE = re.compile(r"\b(?:right|correct\w*|as (?:it should|expected)|fine|good|fixed|ok|expected)\b", FLAGS)
_SHOULD = re.compile(r"\b(?:should|must|would|expect\w*|ought|if|when|want)\b|n['’]t\b|\bnot\b", FLAGS)
_OF_INPUTS = re.compile(r"\b(?:inputs?|arguments?|parameters?|settings?|options?|columns?|set)\b", FLAGS)
_CALL = re.compile(r"`[^`\n(]{0,80}?(?P<name>\w{1,40})\([^`\n]{0,200}`[^`]{0,30}$")
_ANY_RELEASE = re.compile(r"(?<![\w.])v?(\d{1,4}(?:\.\d{1,4}){1,2})(?![\w.]*\d)")
_KEYS = key_set(
    "gives give prints print returns return results resulted yields yield shows show outputs output is was "
    "gave printed returned yielded showed used got get produces produced had has see sees answered answers "
    "told tell tells said da donne"
)
_MOST_TEXT = 8_000
_MOST_SENTENCES = 60
_MOST_SENTENCE = 600
_MOST_WORDS = 14


@dataclass(frozen=True, slots=True)
class _Mention:
    """A value, with the version that it is of, and whether it was so, or is so now; None if nothing tells."""

    value: str
    release: tuple[int, ...] | None
    is_past: bool | None
    is_right: bool | None
    sentence: str


def values_of_releases(texts: Sequence[str], main: str) -> list[Check]:
    """The value of today as the bug, and that of before as right; empty if the texts name no pair of them."""
    if not main or sum(map(len, texts)) > _MOST_TEXT:
        return []
    mentions = list(_mentions("\n".join(texts), main))
    values = {mention.value for mention in mentions}
    if len(values) != 2 or not any(mention.release or mention.is_past for mention in mentions):
        return []
    bug = _bug_of(mentions, mended=is_mended(sentences_in("\n".join(texts))[:_MOST_SENTENCES]))
    if bug is None:
        return []
    right = next(mention for mention in mentions if mention.value != bug.value)
    checks = (
        literal_check(bug.value, cut(bug.sentence), Role.BUG),
        literal_check(right.value, cut(right.sentence), Role.EXPECTED),
    )
    return [check for check in checks if check is not None] if all(checks) else []


def value_of_good_release(texts: Sequence[str], main: str) -> str:
    """The one value of which the texts say that an older version gives it, or one that they praise.

    Empty where they name values of several versions, or say that a newer version mends it.
    """
    if not main or sum(map(len, texts)) > _MOST_TEXT:
        return ""
    joined = "\n".join(texts)
    if _KEYS.isdisjoint(words_of(joined)):
        return ""
    mentions = list(_mentions(joined, main))
    newest = max(_releases_in(joined), default=())
    if len({mention.value for mention in mentions}) != 1 or _is_mended_in(joined, newest):
        return ""
    return mentions[0].value if any(_is_good(mention, newest) for mention in mentions) else ""


def _releases_in(text: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, each.split("."))) for each in _ANY_RELEASE.findall(_QUOTED.sub(" ", text))]


def _is_mended_in(text: str, newest: tuple[int, ...]) -> bool:
    """Whether a clause says that it is mended, and names no older version than the newest one."""
    clauses = [
        clause
        for sentence in sentences_in(text)[:_MOST_SENTENCES]
        for clause in _clauses(sentence[:_MOST_SENTENCE])
    ]
    return any(is_mended([each]) and max(_releases_in(each), default=newest) >= newest for each in clauses)


def _is_good(mention: _Mention, newest: tuple[int, ...]) -> bool:
    """Whether it is the value of an older version than the newest one, or of a place that is praised."""
    if mention.is_right is False or any(each.search(mention.sentence) for each in (_WRONG, _OF_INPUTS)):
        return False
    if mention.release is not None and mention.release < newest:
        return True
    # `scikit-learn 1.2 said 1.0 here`, beside words about 1.3.
    older = _releases_in(mention.sentence) if mention.is_past and mention.release is None else []
    if older and max(older) < newest and not _SHOULD.search(mention.sentence):
        return True
    return praises_another_place(mention.sentence) or tells_the_past(mention.sentence)


def _bug_of(mentions: Sequence[_Mention], *, mended: bool) -> _Mention | None:
    """The mention of the value that is wrong; None if nothing tells which one it is.

    `mended`: the report says that the newer version is right.
    """
    wrong = [mention for mention in mentions if mention.is_right is False]
    right = {mention.value for mention in mentions if mention.is_right}
    if wrong or right:
        wrong = wrong or [mention for mention in mentions if mention.value not in right]
        is_clear = len({mention.value for mention in wrong}) == 1 and wrong[0].value not in right
        return wrong[0] if is_clear else None
    if mended:
        return None
    with_release = [mention for mention in mentions if mention.release]
    now = [mention for mention in mentions if not mention.is_past and not mention.release]
    if len({mention.value for mention in with_release}) == 2:
        newest = max(with_release, key=lambda mention: mention.release or ())
        older = [mention for mention in with_release if mention.value != newest.value]
        is_newer = all((mention.release or ()) < (newest.release or ()) for mention in older)
        return newest if is_newer else None
    past = {mention.value for mention in mentions if mention.is_past}
    is_clear = len({mention.value for mention in now}) == 1 and now[0].value not in past
    return now[0] if past and is_clear else None


def _mentions(text: str, main: str) -> Iterator[_Mention]:
    carried: tuple[int, ...] | None = None
    sentences = sentences_in(text)[:_MOST_SENTENCES]
    since = min(releases_of_change(sentences), default=())
    for sentence in sentences:
        if _KEYS.isdisjoint(words_of(sentence)):
            release = _RELEASE.search(sentence[:_MOST_SENTENCE])
            is_short = len(sentence.split()) <= _MOST_WORDS
            carried = _release_of(release) if release and is_short else None
            continue
        for clause in _clauses(sentence[:_MOST_SENTENCE]):
            release, says = _RELEASE.search(clause), _SAYS.search(clause)
            named = _release_of(release) if release else carried
            if says is None:
                carried = named
                continue
            carried = None
            if _is_no_value(clause, says, main):
                continue
            yield _Mention(
                value=strip_quotes(strip_quotes(says["value"])),
                release=named and as_meant(named, since),
                is_past=True if says["past"] or _PAST.search(clause) else None,
                is_right=_is_right(clause[says.end() :], sentence),
                sentence=sentence,
            )


def _is_no_value(clause: str, says: re.Match[str], main: str) -> bool:
    """Whether the words before a value are a wish, or name another tool or a call of other code."""
    before = clause[: says.start()]
    call = _CALL.search(before)
    name = call["name"] if call else ""
    if _SHOULD.search(before) or (name and f"{name}(" not in main):
        return True
    return is_of_other_tool(clause, main)


def _is_right(behind: str, sentence: str) -> bool | None:
    """Whether the words behind a value call it right or wrong."""
    words = behind or sentence[sentence.rfind(behind) :]
    is_wrong, is_fine = _WRONG.search(words), _FINE.search(words)
    return None if bool(is_wrong) == bool(is_fine) else bool(is_fine)


def _clauses(sentence: str) -> list[str]:
    """The clauses of a sentence. Words behind a value that judge it stay with it."""
    quoted = [match.span() for match in _QUOTED.finditer(sentence)]
    cuts = [
        match.start()
        for match in _CLAUSE.finditer(sentence)
        if not any(start <= match.start() < end for start, end in quoted)
    ]
    pieces = [sentence[start:end] for start, end in zip([0, *cuts], [*cuts, len(sentence)], strict=True)]
    clauses: list[str] = []
    for piece in pieces:
        is_remark = clauses and not _SAYS.search(piece) and not _RELEASE.search(piece)
        if is_remark and _SAYS.search(clauses[-1]):
            clauses[-1] += piece
        else:
            clauses.append(piece)
    return clauses


def _release_of(match: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(part) for part in match["release"].split("."))
