"""Compares scripts, to find reports of the same bug. Nothing is run."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.intake.code.local_names import with_plain_names
from app.intake.code.syntax import normalise, tree_of

# From this likeness on, two scripts are nearly equal: some constants, a line or a function's name differ.
NEARLY_EQUAL = 0.75
# Sketches below this are no candidates for the exact comparison. A sketch may be off by 0.06 and more.
WORTH_A_LOOK = 0.5
SKETCH_VALUES = 64
_VALUE_BYTES = 4
_SHINGLE = 4
# The rest of a longer script is not compared.
_MOST_TOKENS = 5_000
# A part of the stored digest. Raise it when the spelling of shapes changes.
_SPELLING = 1
_PRIME = (1 << 89) - 1
_MASK = (1 << (8 * _VALUE_BYTES)) - 1


@dataclass(frozen=True, slots=True)
class Marks:
    """The stored marks of a script, by which equal and similar scripts are found."""

    shape_digest: str
    sketch: bytes


def marks_of(script: str) -> Marks:
    """Both marks of a script."""
    shape = _shape(script)
    return Marks(_digest(script, shape), _sketch(_shingles(script, shape)))


def shape_digest(script: str) -> str:
    """A digest that ignores formatting, comments, docstrings and the names of local variables.

    A script that can't be parsed shares its digest only with an identical text.
    """
    return _digest(script, _shape(script))


def _digest(script: str, shape: Sequence[str] | None) -> str:
    text = f"{_SPELLING}\0exact\0{script}" if shape is None else "\0".join((str(_SPELLING), "shape", *shape))
    return "sha256:" + hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def likeness(one: str, other: str) -> float:
    """The share of shingles that two scripts have in common, from 0 to 1. Numbers count little."""
    first, second = shingles(one), shingles(other)
    return len(first & second) / len(first | second) if first or second else 1.0


def shingles(script: str) -> frozenset[str]:
    """Runs of a few tokens, in which a number is only its kind; and each number by itself."""
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
    """A MinHash sketch of the script: the smallest hash of its shingles in each of 64 orders."""
    return _sketch(shingles(script))


def _sketch(texts: Iterable[str]) -> bytes:
    digests = [hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest() for text in texts]
    numbers = [int.from_bytes(digest, "big") for digest in digests]
    least = (
        min([(number * factor + offset) % _PRIME for number in numbers], default=0) & _MASK
        for factor, offset in _ORDERS
    )
    return b"".join(value.to_bytes(_VALUE_BYTES, "big") for value in least)


def sketched_likeness(one: bytes, other: bytes) -> float:
    """The likeness of two scripts, estimated from their sketches. 0 for bytes that are no sketch."""
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
    """The syntax of a script as a flat list; None if it can't be parsed."""
    tree = tree_of(normalise(script))
    if tree is None:
        return None
    try:
        return list(_spell(with_plain_names(tree)))
    except (RecursionError, ValueError):
        # It is nested too deeply, or it holds a number of thousands of digits.
        return None


def _spell(node: ast.AST) -> Iterator[str]:
    """Spell a node field by field, the same in every version of Python. Absent fields are left out."""
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
