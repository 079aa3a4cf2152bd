"""A search as it is typed: `verdict:reproduced device:cuda toolchain:torch>=2.11 -exception:RuntimeError logdet "a phrase"`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.search.fields import FIELDS
from app.search.terms import Field, Query, QueryError, Term, Words

MOST_CHARACTERS = 300
MOST_TERMS = 20
_BLANK = re.compile(r"\s*")
# What stands before a colon is the name of a field; `std::vector`, `https://…` and `Error: …` are words. A name that is known is one
# also with capitals, as telephones put them.
_KNOWN = rf"(?i:{'|'.join(FIELDS)})"
_NAME = re.compile(rf"({_KNOWN}|[a-z][a-z_]{{0,30}}):(?![:/]|\s|$)")
_EMPTY = re.compile(rf"({'|'.join(FIELDS)}):(?=\s|$)")
_WORD = re.compile(r"[^\s\"]+")
_BARE_VALUE = re.compile(r"[^\s\",]+")
_WHOLE_VALUE = re.compile(r"[^\s\"]+")


def parse(text: str) -> Query:
    """Read a search. Raises QueryError, which says where and what is known."""
    if len(text) > MOST_CHARACTERS:
        raise QueryError(f"a search has at most {MOST_CHARACTERS} characters.", position=MOST_CHARACTERS + 1)
    reader = _Reader(text)
    terms: list[Term] = []
    while not reader.at_end():
        if len(terms) == MOST_TERMS:
            raise QueryError(f"a search has at most {MOST_TERMS} terms.", position=reader.at + 1)
        terms.append(reader.term())
    return Query(tuple(terms))


@dataclass(slots=True)
class _Reader:
    """Where the reading of a text stands."""

    text: str
    at: int = 0

    def at_end(self) -> bool:
        blank = _BLANK.match(self.text, self.at)
        self.at = self.at if blank is None else blank.end()
        return self.at == len(self.text)

    def term(self) -> Term:
        began = self.at
        # A minus alone is a word, as any other sign.
        negated = self.text[self.at] == "-" and re.match(r"-[^\s-]", self.text[self.at :]) is not None
        self.at += negated
        if self.text[self.at] == '"':
            said = self._quoted()
            self._must_end()
            return Words(text=said, quoted=True, negated=negated)
        empty = _EMPTY.match(self.text, self.at)
        if empty is not None:
            raise QueryError(
                f"{empty[1]}: needs a value: {FIELDS[empty[1]].takes}.", position=empty.end() + 1
            )
        name = _NAME.match(self.text, self.at)
        if name is not None:
            return self._field(name, negated=negated)
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise QueryError("a quotation mark stands in the middle.", position=began + 1)
        self.at = word.end()
        self._must_end()
        return Words(text=word[0], negated=negated)

    def _field(self, found: re.Match[str], *, negated: bool) -> Field:
        name = found[1].lower()
        kind = FIELDS.get(name)
        if kind is None:
            raise QueryError(
                f"there is no field {name}. The fields are: {', '.join(FIELDS)}. To search for the text itself, put it in quotes.",
                position=self.at + 1,
            )
        self.at = found.end()
        values = []
        while True:
            began = self.at
            value = self._value(_BARE_VALUE if kind.several else _WHOLE_VALUE)
            kept = kind.read(value)
            if kept is None:
                raise QueryError(f"{name}: takes {kind.takes}.", position=began + 1)
            values.append(kept)
            if not kind.several or self.text[self.at : self.at + 1] != ",":
                break
            self.at += 1
        self._must_end()
        return Field(name=name, values=tuple(dict.fromkeys(values)), negated=negated)

    def _value(self, bare: re.Pattern[str]) -> str:
        if self.text[self.at : self.at + 1] == '"':
            return self._quoted()
        found = bare.match(self.text, self.at)
        if found is None:
            raise QueryError("a value is missing.", position=self.at + 1)
        self.at = found.end()
        return found[0]

    def _quoted(self) -> str:
        r"""What stands between quotation marks; `\"` and `\\` in it are `"` and `\`."""
        began, said = self.at, list[str]()
        self.at += 1
        while self.at < len(self.text):
            sign = self.text[self.at]
            self.at += 1
            if sign == '"':
                if not "".join(said).strip():
                    raise QueryError("there is nothing between the quotation marks.", position=began + 1)
                return "".join(said)
            if sign == "\\" and self.text[self.at : self.at + 1] in {'"', "\\"}:
                sign = self.text[self.at]
                self.at += 1
            said.append(sign)
        raise QueryError("this quotation mark has no other that closes it.", position=began + 1)

    def _must_end(self) -> None:
        follows = self.text[self.at : self.at + 1]
        if follows and not follows.isspace():
            raise QueryError("a blank must stand here.", position=self.at + 1)
