"""Reads `X with version A and Y from version B on`, where the report says which of both is right."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import cut, sentences_in
from app.intake.claim.claims import Check, Role
from app.intake.claim.phrases import literal_check
from app.intake.memory import remembers
from app.intake.words.keyed_pattern import key_set, words_of
from app.intake.words.vocabulary import FLAGS, LITERAL, MODALS, NUMBER, SHOW, any_of, strip_quotes

_VALUE = rf"(?:`[^`\n]{{1,80}}`|(?<![\w.`])(?:True|False|None|{NUMBER})(?![.\w]*\d))"
_VERSION = (
    r"(?:with|on|in|under|using|by|from|since|as of|until|till|up to|before|after"
    r"|starting (?:with|from|at)"
    r"|avec|sous|depuis|à partir de|jusqu['’]à|mit|unter|ab|bis|seit|con|desde|hasta|a partir de|até|da"
    r"|fino a)"
    r" (?:(?:the|la|le|der|dem|die) )?(?:[^\W\d_][\w-]{1,20} )?"
    r"v?\d{1,4}\.\d{1,3}(?:\.\w{1,8}){0,2}(?![.\w]*\d)"
    r"(?: on(?:wards?)?)?"
)
_AND = r"(?:and|but|while|whereas|et|mais|und|aber|y|e|pero|mas|ma)"
_VERB = r"(?: [^\W\d_'’]{1,12}){0,3}"
# `515 with version 1.16 and 514 from version 1.17 on`.
_VALUE_FIRST = re.compile(
    rf"(?P<one>{_VALUE}) {_VERSION},?(?: {_AND})?{_VERB} (?P<other>{_VALUE}) {_VERSION}", FLAGS
)
# `With 1.16 it prints 515, with 1.17 it prints 514`.
_VERSION_FIRST = re.compile(
    rf"\b{_VERSION}[,:]?{_VERB} (?P<one>{_VALUE})[,;]?(?: {_AND})?"
    rf" {_VERSION}[,:]?{_VERB} (?P<other>{_VALUE})",
    FLAGS,
)
_RIGHT = re.compile(
    rf"\b(?:expect(?:s|ed|ing)?|{any_of(MODALS)}(?: (?:always|still|also))? {any_of(SHOW)}"
    rf"|correct(?: value| result)? is|right(?: value| result)? is)\b"
    rf"(?P<between>[^`.;\n\d]{{0,30}})(?P<value>{_VALUE})",
    FLAGS,
)
_EACH_RELEASE = re.compile(r"(?<![\w.`'])v?(?P<release>\d{1,4}\.\d{1,3}(?:\.\d{1,4})?)(?![.\w]*\d)")
_RELEASE = r"v?(?P<release>\d{1,4}\.\d{1,3}(?:\.\d{1,4})?)(?![.\w]*\d)"
# `Since version 2.15.0, the comma disappears`.
_NAMED = rf"(?:the )?(?:version |release |[a-z][\w-]{{1,20}} ){{0,2}}{_RELEASE}"
_SINCE = re.compile(rf"\b(?:since|as of|starting (?:with|from|at|in)) {_NAMED}", FLAGS)
_CHANGED = re.compile(
    r"\b(?:chang(?:e[sd]?|ing)|disappear\w*|missing|lost|loses|drop(?:s|ped)|broken?|breaks|wrong\w*|incorrect\w*"
    r"|fail(?:s|ed|ing)?|regress\w*|bugs?|no longer|stopped|instead|differ\w*|different)\b|n['’]t\b",
    FLAGS,
)
_IN_VERSION = re.compile(rf"\b(?:on|in|with|under|using) {_NAMED}", FLAGS)
_GIVES = re.compile(
    rf"\b(?:gives?|gave|prints?|printed|returns?|returned|yields?|shows?|outputs?|was|is)\b"
    rf"[^`.;\n\d]{{0,20}}(?P<value>{_VALUE})",
    FLAGS,
)
# `Before 2.0 this printed `3`, now it prints `4``, `Old version: 3. New version: 4`.
_SAID = rf"(?P<NAME>`[^`\n]{{1,80}}`|{LITERAL})"
_THEN = (
    rf"(?:before(?: (?:that|(?:the )?(?:update|upgrade)"
    rf"|(?:version )?{_RELEASE.replace('?P<release>', '?:')}))?"
    r"|previously|formerly|earlier|in the past|used to|older versions?|(?:the )?old version)"
)
_NOW = (
    r"(?:now(?:adays)?|currently|newer versions?|(?:the )?new version|after(?:wards"
    r"| (?:the )?(?:update|upgrade)))"
)
_THEN_FIRST = re.compile(
    rf"\b{_THEN}\b[^`\n\d\[(]{{0,40}}?{_SAID.replace('NAME', 'one')}[^`\n\d\[(]{{0,40}}?\b{_NOW}\b"
    rf"[^`\n\d\[(]{{0,30}}?{_SAID.replace('NAME', 'other')}",
    FLAGS,
)
_NOW_FIRST = re.compile(
    rf"{_SAID.replace('NAME', 'other')} now\b[^`\n\d\[(]{{0,40}}?\b{_THEN}\b"
    rf"[^`\n\d\[(]{{0,30}}?{_SAID.replace('NAME', 'one')}"
    rf"|\bnow\b[^`\n\d\[(]{{0,30}}?{_SAID.replace('NAME', 'other2')}[^`\n\d\[(]{{0,40}}?\b{_THEN}\b"
    rf"[^`\n\d\[(]{{0,30}}?{_SAID.replace('NAME', 'one2')}",
    FLAGS,
)
_WORDS_OF_THEN = key_set("before previously formerly earlier past used older old")
_WORDS_OF_NOW = key_set("now nowadays currently newer new after afterwards")
_MENDED = re.compile(
    r"\b(?:fixed|solved|resolved|mended|corrected|(?:is|works|gives|prints|returns) (?:right"
    r"|correct\w*|fine|ok)"
    r"|no longer)\b",
    FLAGS,
)
_ASKS_WHICH = re.compile(
    r"\b(?:which|who)\b[^?\n]{0,80}\b(?:right|correct|wrong)\b|\bor\b[^?\n]{1,80}\?", FLAGS
)
_NEGATION = re.compile(r"\b(?:not|no|never|instead|than)\b|n['’]t\b", FLAGS)
_MOST_SENTENCES = 300
_PARTS = "\x00"
_MOST_TOGETHER = 200_000
_MOST_LINE = 400


def values_before_change(texts: Sequence[str]) -> frozenset[str]:
    """The values of versions before the one since which something is wrong: these are right."""
    before, _ = _around_change(_sentences(texts))
    return frozenset(before)


def _around_change(sentences: Sequence[str]) -> tuple[list[str], list[str]]:
    """The values of versions before the one since which something is wrong, and those since then.

    A value may stand in the sentence after the one that names its version.
    """
    since = releases_of_change(sentences)
    before: list[str] = []
    after: list[str] = []
    version: tuple[int, ...] | None = None
    for each in sentences if len(since) == 1 else ():
        named, value = _IN_VERSION.search(each), _GIVES.search(each)
        version = as_meant(_release_of(named), min(since)) if named else version
        if value is None:
            continue
        if version is not None:
            (before if version < min(since) else after).append(strip_quotes(value["value"]))
        version = None
    return before, after


def releases_of_change(sentences: Sequence[str]) -> set[tuple[int, ...]]:
    """The versions since which something is wrong."""
    return {
        _release_of(match)
        for each in sentences
        for match in _SINCE.finditer(each)
        if _CHANGED.search(each, match.end())
    }


def is_mended(sentences: Sequence[str]) -> bool:
    """Whether sentences say that a newer version mends it."""
    return any(_MENDED.search(each) and not each.endswith("?") for each in sentences)


def as_meant(release: tuple[int, ...], since: tuple[int, ...]) -> tuple[int, ...]:
    """The release; the one since which something changed where only the first digit is another: a slip."""
    return since if len(release) > 2 and release[1:] == since[1:] else release


def _sentences(texts: Sequence[str]) -> list[str]:
    return [each[:_MOST_LINE] for text in texts for each in sentences_in(text)][:_MOST_SENTENCES]


def _release_of(match: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(part) for part in match["release"].split("."))


def values_of_versions(texts: Sequence[str]) -> list[Check]:
    """The value of one version as the bug, and that of the other one as right.

    Empty if the report does not say which is right, or calls both so.
    """
    return list(_values_in(_PARTS.join(texts)))


@remembers(_MOST_TOGETHER)
def _values_in(joined: str) -> tuple[Check, ...]:
    return tuple(_values_of(joined.split(_PARTS)))


def _values_of(texts: Sequence[str]) -> list[Check]:
    sentences = _sentences(texts)
    before, after = (set(values) for values in _around_change(sentences))
    if len(before) == len(after) == 1 and before != after:
        return _checks(after.pop(), before.pop(), "")
    if then_and_now := _then_and_now(texts):
        return then_and_now
    matches = [
        match
        for each in sentences
        if (match := _VALUE_FIRST.search(each) or _VERSION_FIRST.search(each)) is not None
    ]
    values = {(strip_quotes(match["one"]), strip_quotes(match["other"])) for match in matches}
    if len(values) != 1 or len(set(*values)) != 2:
        return []
    right = {
        strip_quotes(match["value"])
        for each in sentences
        for match in _RIGHT.finditer(each)
        if not _NEGATION.search(match["between"])
    }
    stated = (matches[0]["one"], matches[0]["other"])
    expected = [value for value in stated if strip_quotes(value) in right]
    if not right and not (is_mended(sentences) or any(map(_ASKS_WHICH.search, sentences))):
        expected = _of_older_version(matches[0])
    if len(expected) != 1:
        return []
    wrong = next(value for value in stated if value != expected[0])
    return _checks(wrong, expected[0], cut(matches[0].string))


def _of_older_version(match: re.Match[str]) -> list[str]:
    """The value of the older of two versions of one package; whoever reports a change was used to it."""
    releases = [
        tuple(map(int, each.group("release").split("."))) for each in _EACH_RELEASE.finditer(match[0])
    ]
    if len(releases) != 2 or releases[0] == releases[1]:
        return []
    return [match["one" if releases[0] < releases[1] else "other"]]


def _then_and_now(texts: Sequence[str]) -> list[Check]:
    """The value of today as the bug, and that of before as right, if the texts name one pair of them."""
    pairs = set()
    for text in texts:
        words = words_of(text)
        if words.isdisjoint(_WORDS_OF_NOW) or words.isdisjoint(_WORDS_OF_THEN):
            continue
        for line in text.split("\n"):
            for pattern in (_THEN_FIRST, _NOW_FIRST):
                if match := pattern.search(line[:_MOST_LINE]):
                    groups = match.groupdict()
                    then = groups["one"] or groups.get("one2") or ""
                    now = groups["other"] or groups.get("other2") or ""
                    pairs.add((strip_quotes(now), strip_quotes(then), now, then, cut(line)))
    if len({pair[:2] for pair in pairs}) != 1:
        return []
    now_bare, then_bare, now, then, line = next(iter(pairs))
    return _checks(now, then, line) if now_bare != then_bare else []


def _checks(wrong: str, right: str, sentence: str) -> list[Check]:
    checks = (
        literal_check(wrong, sentence or wrong, Role.BUG),
        literal_check(right, sentence or right, Role.EXPECTED),
    )
    return [check for check in checks if check is not None]
