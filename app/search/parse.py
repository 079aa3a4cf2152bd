"""Parser of the search language: `verdict:flaky toolchain:torch>=2.11 -exception:RuntimeError "a phrase"`."""

from __future__ import annotations

import re
from typing import cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedToken

from app.search.fields import FIELDS
from app.search.terms import Field, Query, QueryError, Term, Words

MOST_CHARACTERS = 300
MOST_TERMS = 20

_KNOWN = "|".join(FIELDS)
_ONE_VALUE = "|".join(name for name, kind in FIELDS.items() if not kind.several)
# A name before a colon is a field, but `std::vector`, `https://…` and `Error: …` are words.
# A known name may have capitals, because phones write them. A minus alone is a word.
_GRAMMAR = rf"""
start: _BLANK? (term _BLANK)* term?
term: MINUS? (WORD | _text | FIELD_WITHOUT_VALUE | LIST_FIELD _value ("," _value)* | FIELD (WORD | _text))
_value: VALUE | _text
_text: QUOTED | UNCLOSED

MINUS.3: /-(?=[^\s-])/
FIELD_WITHOUT_VALUE.3: /({_KNOWN}):(?=\s|$)/
FIELD.2: /(?i:{_ONE_VALUE}):(?![:\/]|\s|$)/
LIST_FIELD.1: /([a-z][a-z_]{{0,30}}|(?i:{_KNOWN})):(?![:\/]|\s|$)/
QUOTED.2: /"(\\["\\]|[^"\\]|\\(?!["\\]))*"/
UNCLOSED.1: /"/
WORD: /[^\s"]+/
VALUE: /[^\s",]+/
_BLANK: /\s+/
"""


def parse(text: str) -> Query:
    """Read a search. Raises QueryError with the position of a mistake and the way to mend it."""
    if len(text) > MOST_CHARACTERS:
        raise QueryError(f"a search has at most {MOST_CHARACTERS} characters.", position=MOST_CHARACTERS + 1)
    try:
        return cast("Query", _PARSER.parse(text))
    except (UnexpectedToken, UnexpectedCharacters) as error:
        raise _syntax_error(text, error) from None


class _ToQuery(Transformer[Token, Query]):
    """Makes the query during parsing, so that the error is about the first mistake in the text."""

    def start(self, terms: list[tuple[Term, int]]) -> Query:
        """All terms, each with its position."""
        if len(terms) > MOST_TERMS:
            raise QueryError(f"a search has at most {MOST_TERMS} terms.", position=terms[MOST_TERMS][1])
        return Query(tuple(term for term, _ in terms))

    def term(self, tokens: list[Token]) -> tuple[Term, int]:
        """A term and its position."""
        return _term(tokens), _position(tokens[0])


def _term(tokens: list[Token]) -> Term:
    negated = tokens[0].type == "MINUS"
    first, *values = tokens[negated:]
    if values:
        return Field(name=_name(first), values=_values(_name(first), values), negated=negated)
    return Words(text=_text(first), quoted=first.type == "QUOTED", negated=negated)


def _values(name: str, tokens: list[Token]) -> tuple[str, ...]:
    kind = FIELDS[name]
    values = []
    for token in tokens:
        value = kind.read(_text(token))
        if value is None:
            raise QueryError(f"{name}: takes {kind.takes}.", position=_position(token))
        values.append(value)
    return tuple(dict.fromkeys(values))


def _text(token: Token) -> str:
    if token.type != "QUOTED":
        return str(token)
    text = re.sub(r'\\(["\\])', r"\1", token[1:-1])
    if not text.strip():
        raise QueryError("there is nothing between the quotation marks.", position=_position(token))
    return text


def _name(field: Token) -> str:
    return field.removesuffix(":").lower()


def _position(token: Token) -> int:
    return (token.start_pos or 0) + 1


def _refuse_unknown(field: Token) -> Token:
    if _name(field) not in FIELDS:
        raise QueryError(
            f"there is no field {_name(field)}. The fields are: {', '.join(FIELDS)}. "
            "To search for the text itself, put it in quotes.",
            position=_position(field),
        )
    return field


def _refuse_without_value(field: Token) -> Token:
    name = _name(field)
    raise QueryError(f"{name}: needs a value: {FIELDS[name].takes}.", position=_position(field) + len(field))


def _refuse_unclosed(mark: Token) -> Token:
    raise QueryError("this quotation mark is never closed.", position=_position(mark))


def _syntax_error(text: str, error: UnexpectedToken | UnexpectedCharacters) -> QueryError:
    if isinstance(error, UnexpectedToken):
        at_end = error.token.type == "$END"
        position, allowed = len(text) if at_end else error.token.start_pos or 0, error.accepts
    else:
        position, allowed = error.pos_in_stream, error.allowed
    # A term is complete where a space may follow.
    message = "a space is missing here." if "_BLANK" in allowed else "a value is missing."
    return QueryError(message, position=position + 1)


_PARSER = Lark(
    _GRAMMAR,
    parser="lalr",
    transformer=_ToQuery(),
    lexer_callbacks={
        "LIST_FIELD": _refuse_unknown,
        "FIELD_WITHOUT_VALUE": _refuse_without_value,
        "UNCLOSED": _refuse_unclosed,
    },
)
