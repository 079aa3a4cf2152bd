"""Worst inputs of a pattern, made from its parsed form: pumps of every repeat, with what comes before it."""

from __future__ import annotations

import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

# A repeat with a smaller maximum is not pumped: it multiplies the time by a constant.
LEAST_REPEAT = 20
MOST_PUMPS = 3
# Characters of every kind that reports are made of. Those of the pattern itself are added.
ALPHABET = " a0A_\t.-\n`\"'(>:,\u00e9~"
ENDINGS = ("\x00", "\n\x00")
REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}
_CATEGORIES = {
    codes.CATEGORY_DIGIT: str.isdecimal,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda sign: sign.isalnum() or sign == "_",
}
_OPPOSITES = {
    codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT,
    codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
    codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
}


@dataclass(frozen=True, slots=True)
class Bait:
    """An input that grows: `head`, `pump` many times, `tail`."""

    head: str
    pump: str
    tail: str

    def text(self, size: int) -> str:
        """The input with about `size` characters."""
        return self.head + self.pump * max(1, size // len(self.pump)) + self.tail


class Inputs:
    """The inputs of one pattern."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._folds = bool(flags & re.IGNORECASE) or "(?i" in pattern
        tree = parser.parse(pattern, flags & ~re.DEBUG)
        self._tree = list(tree)
        literals = "".join(
            dict.fromkeys(chr(node[1]) for node in _nodes(self._tree) if node[0] is codes.LITERAL)
        )
        self._alphabet = "".join(dict.fromkeys(ALPHABET + literals[:40]))
        classes = [node for node in _nodes(self._tree) if node[0] in {codes.IN, codes.ANY, codes.NOT_LITERAL}]
        # A character that many repeats take can be given to any of them, which makes a matcher try again.
        self._endings = (*ENDINGS, *_excluded(classes)[:1])
        self._rank = {sign: sum(self._takes(node, sign) for node in classes) for sign in self._alphabet}
        self._members_of_nodes: dict[tuple[Any, int], list[str]] = {}

    def baits(self) -> list[Bait]:
        """All inputs, each once."""
        found: dict[Bait, None] = {}
        for before, body in self._repeats(self._tree, ""):
            for pump in self._pumps(body):
                for tail in self._endings:
                    for head in dict.fromkeys(("", before)):
                        found[Bait(head, pump, tail)] = None
                    found[Bait("", before + pump, tail)] = None
        return list(found)

    def _pumps(self, body: list[Any]) -> list[str]:
        if len(body) == 1 and body[0][0] not in {codes.SUBPATTERN, codes.BRANCH, *REPEATS}:
            return self._members(body[0])[:MOST_PUMPS]
        pumps = dict.fromkeys(self._sample(body, pick) for pick in range(MOST_PUMPS))
        return [pump for pump in pumps if pump]

    def _repeats(self, nodes: list[Any], before: str) -> Iterator[tuple[str, list[Any]]]:
        """Every long repeat: a text that leads to it, and its body."""
        for node in nodes:
            if node[0] in REPEATS:
                body = list(node[1][2])
                if node[1][1] is codes.MAXREPEAT or node[1][1] >= LEAST_REPEAT:
                    yield before, body
                yield from self._repeats(body, before)
            else:
                for inner in _inner(node):
                    yield from self._repeats(inner, before)
            if node[0] not in {codes.ASSERT, codes.ASSERT_NOT, codes.AT}:
                before += self._sample([node], 0)

    def _sample(self, nodes: list[Any], pick: int) -> str:
        """A text that these nodes take. `pick` chooses among the characters and the alternatives."""
        text = ""
        for code, value in nodes:
            if code in {codes.ASSERT, codes.ASSERT_NOT, codes.AT, codes.GROUPREF, codes.GROUPREF_EXISTS}:
                continue
            if code in REPEATS:
                text += self._sample(list(value[2]), pick) * min(2, max(value[0], 1 if pick else 0))
            elif code is codes.BRANCH:
                branches = value[1]
                text += self._sample(list(branches[pick % len(branches)]), pick)
            elif inner := _inner((code, value)):
                text += self._sample(inner[0], pick)
            else:
                members = self._members((code, value))
                text += members[pick % len(members)] if members else "a"
        return text

    def _members(self, node: Any) -> list[str]:
        """The characters that a node takes. The tree lives as long as this object, so an id names a node."""
        key = (node[0], node[1] if isinstance(node[1], int) else id(node[1]))
        if key not in self._members_of_nodes:
            self._members_of_nodes[key] = self._members_by_rank(node)
        return self._members_of_nodes[key]

    def _members_by_rank(self, node: Any) -> list[str]:
        members = [sign for sign in self._alphabet if self._takes(node, sign)]
        if not members and node[0] is codes.LITERAL:
            members = list(_same_signs(node[1], folds=self._folds))
        elif not members:
            others = (sign for sign in map(chr, range(0x2500)) if self._takes(node, sign))
            members = list(islice(others, MOST_PUMPS))
        return sorted(members, key=lambda sign: -self._rank.get(sign, 0))

    def _takes(self, node: Any, sign: str) -> bool:  # noqa: PLR0911  # one answer a kind of node
        code, value = node
        match code:
            case codes.LITERAL:
                return self._same(value, sign)
            case codes.NOT_LITERAL:
                return not self._same(value, sign)
            case codes.ANY:
                return sign != "\n"
            case codes.IN:
                negated = value[0][0] is codes.NEGATE
                return any(self._takes(item, sign) for item in value[negated:]) != negated
            case codes.RANGE:
                return any(value[0] <= ord(form) <= value[1] for form in self._forms(sign))
            case codes.CATEGORY if value in _OPPOSITES:
                return not _CATEGORIES[_OPPOSITES[value]](sign)
            case codes.CATEGORY:
                return bool(_CATEGORIES[value](sign))
        return False

    def _same(self, value: int, sign: str) -> bool:
        return chr(value) in self._forms(sign)

    def _forms(self, sign: str) -> frozenset[str]:
        return _forms_of(sign, folds=self._folds)


@cache
def _forms_of(sign: str, *, folds: bool) -> frozenset[str]:
    """The characters that a pattern takes for this one."""
    forms = {sign, sign.lower(), sign.upper()} if folds else {sign}
    return frozenset(form for form in forms if len(form) == 1 and unicodedata.category(form) != "Cs")


@cache
def _same_signs(value: int, *, folds: bool) -> tuple[str, ...]:
    """The first characters that a literal takes."""
    signs = (sign for sign in map(chr, range(0x2500)) if chr(value) in _forms_of(sign, folds=folds))
    return tuple(islice(signs, MOST_PUMPS))


def _excluded(classes: list[Any]) -> list[str]:
    """Characters that negated classes exclude. Such an ending lets `[^:]*$` fail."""
    values = [
        item
        for code, value in classes
        for item in (value[1:] if code is codes.IN and value[0][0] is codes.NEGATE else [(code, value)])
    ]
    signs = [chr(value) for code, value in values if code in {codes.LITERAL, codes.NOT_LITERAL}]
    return [sign for sign in signs if sign != "\n"]


def _inner(node: Any) -> list[list[Any]]:
    """The nodes inside of a group, an assertion or the alternatives of a branch."""
    code, value = node
    if code is codes.SUBPATTERN:
        return [list(value[-1])]
    if code in {codes.ASSERT, codes.ASSERT_NOT}:
        return [list(value[1])]
    if code is codes.ATOMIC_GROUP:
        return [list(value)]
    if code is codes.BRANCH:
        return [list(branch) for branch in value[1]]
    return []


def _nodes(nodes: list[Any]) -> Iterator[Any]:
    for node in nodes:
        yield node
        if node[0] in REPEATS:
            yield from _nodes(list(node[1][2]))
        for inner in _inner(node):
            yield from _nodes(inner)
