"""Whether two scripts are the same report again: equal in shape, or nearly equal; without running anything."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.intake.code.local_names import with_plain_names
from app.intake.code.syntax import normalise, tree_of

# From this likeness on two scripts are nearly equal: other constants, a line more or less, another name of a function in a longer script.
NEARLY_EQUAL = 0.75
# What the sketches must say before the scripts themselves are compared; they are off by 0.06 and more.
WORTH_A_LOOK = 0.5
SKETCH_VALUES = 64
_VALUE_BYTES = 4
_SHINGLE = 4
# Of a longer script the beginning is looked at.
_MOST_TOKENS = 5_000
# Part of what is stored: raise it when shapes are spelled in another way.
_SPELLING = 1
_PRIME = (1 << 89) - 1
_MASK = (1 << (8 * _VALUE_BYTES)) - 1


@dataclass(frozen=True, slots=True)
class Marks:
    """What a script is found again by."""

    shape_digest: str
    sketch: bytes


def marks_of(script: str) -> Marks:
    """Both marks, at the price of one."""
    shape = _shape(script)
    return Marks(_digest(script, shape), _sketch(_shingles(script, shape)))


def shape_digest(script: str) -> str:
    """The same for scripts that differ only in formatting, comments, docstrings and the names of local variables.

    Where the script can't be parsed, only the very same one has its digest.
    """
    return _digest(script, _shape(script))


def _digest(script: str, shape: Sequence[str] | None) -> str:
    text = f"{_SPELLING}\0exact\0{script}" if shape is None else "\0".join((str(_SPELLING), "shape", *shape))
    return "sha256:" + hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def likeness(one: str, other: str) -> float:
    """How much of what two scripts do is the same, from 0 to 1; numbers count little."""
    first, second = shingles(one), shingles(other)
    return len(first & second) / len(first | second) if first or second else 1.0


def shingles(script: str) -> frozenset[str]:
    """What a script is compared by: each few tokens in a row, with numbers by their kind, and the numbers apart."""
    return _shingles(script, _shape(script))


def _shingles(script: str, shape: Sequence[str] | None) -> frozenset[str]:
    tokens = (_words(script) if shape is None else shape)[:_MOST_TOKENS]
    plain = ["<number>" if _is_number(token) else token for token in tokens]
    rows = (
        {"\0".join(plain[at : at + _SHINGLE]) for at in range(max(1, len(plain) - _SHINGLE + 1))}
        if plain
        else set()
    )
    return frozenset(rows | {token for token in tokens if _is_number(token)})


def sketch(script: str) -> bytes:
    """A few bytes that stand for the script in a search: the smallest hash of its shingles under each of some orders."""
    return _sketch(shingles(script))


def _sketch(texts: Iterable[str]) -> bytes:
    hashed = [hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest() for text in texts]
    numbers = [int.from_bytes(digest, "big") for digest in hashed]
    least = (
        min(((number * factor + offset) % _PRIME for number in numbers), default=0) & _MASK
        for factor, offset in _ORDERS
    )
    return b"".join(value.to_bytes(_VALUE_BYTES, "big") for value in least)


def sketched_likeness(one: bytes, other: bytes) -> float:
    """The likeness of two scripts as their sketches tell it; 0 for what is no sketch."""
    size = SKETCH_VALUES * _VALUE_BYTES
    if len(one) != size or len(other) != size:
        return 0.0
    equal = sum(map(int.__eq__, memoryview(one).cast("I"), memoryview(other).cast("I")))
    return equal / SKETCH_VALUES


def _order(number: int) -> tuple[int, int]:
    digest = hashlib.sha256(f"order {number}".encode()).digest()
    return int.from_bytes(digest[:11], "big") | 1, int.from_bytes(digest[11:22], "big")


_ORDERS = tuple(map(_order, range(SKETCH_VALUES)))


def _words(script: str) -> list[str]:
    return [
        f"num {word}" if word[0].isdigit() else word for word in re.findall(r"\d[\w.]*|\w+|[^\w\s]", script)
    ]


def _is_number(token: str) -> bool:
    return token.startswith("num ")


def _shape(script: str) -> list[str] | None:
    """The syntax of a script as a flat list, or None where it can't be parsed."""
    tree = tree_of(normalise(script))
    if tree is None:
        return None
    try:
        return list(_spell(with_plain_names(tree)))
    except (RecursionError, ValueError):
        # Nested too deeply, or a number of thousands of digits.
        return None


def _spell(node: ast.AST) -> Iterator[str]:
    """A node, field by field, the same in every version of Python; what is not there is left out."""
    if isinstance(node, ast.Constant):
        number = isinstance(node.value, int | float | complex) and not isinstance(node.value, bool)
        yield f"{'num' if number else 'constant'} {type(node.value).__name__} {node.value!r}"
        return
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        if name in {"ctx", "kind", "type_comment", "type_ignores"} or value is None:
            continue
        if isinstance(value, list):
            for item in value:
                yield from _item(item)
            yield f"end {name}"
        else:
            yield from _item(value)


def _item(value: object) -> Iterator[str]:
    if isinstance(value, ast.AST):
        yield from _spell(value)
    else:
        yield f"name {value}"
