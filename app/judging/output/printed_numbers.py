"""Numbers in text, matched by value at the precision in which they are printed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

# No letter, digit or dot touches a number, and it is no part of a version. A sign belongs to it, except
# after an operand (`a-1`, `3-1`).
_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>[+-])?"
    r"(?P<body>0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:[pP][+-]?\d+)?"
    r"|(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
    r"|(?:nan|NaN|NAN|infinity|Infinity|inf|Inf|INF))"
    r"(?P<imaginary>[jJ])?(?![0-9a-zA-Z_])(?!\.\d)"
)
# A claimed number with fewer digits must match exactly. With more, every number that rounds to it matches.
_LEAST_DIGITS = 3
# A fraction with so many digits is printed in full.
_EXACT_DIGITS = 15
# Integers of this size and more stay int, up to the largest that a float can hold.
_EXACT, _LARGEST = 2**53, 10**300
_MOST_DIGITS = 300
# The numbers of so many lines of at most so many characters are kept.
_LINES, _SHORT = 4096, 400
# Two values are near when they differ by less than this share of the larger.
_NEAR = 1e-2


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text: its value, its spelling and its position."""

    text: str
    value: float
    start: int = 0
    end: int = 0
    imaginary: bool = False

    @property
    def _body(self) -> str:
        return self.text.lstrip("+-").lower().replace("_", "").rstrip("j")

    @property
    def digits(self) -> int:
        """The count of significant digits. 0 for nan, inf and hexadecimal numbers, which are exact."""
        if not math.isfinite(self.value) or self._body.startswith("0x"):
            return 0
        mantissa = self._body.split("e", maxsplit=1)[0].replace(".", "")
        return len(mantissa.lstrip("0")) or 1

    @property
    def shortest(self) -> int:
        """The count of digits without zeros at either end."""
        return len(self._body.split("e", maxsplit=1)[0].replace(".", "").strip("0"))

    @property
    def step(self) -> Decimal:
        """The value of one unit of the last printed digit."""
        mantissa, _, exponent = self._body.partition("e")
        places = len(mantissa.partition(".")[2])
        return Decimal(1).scaleb(max(-400, min(400, int(exponent[:9] or 0) - places)))

    @property
    def whole(self) -> bool:
        """Whether it is printed as an integer, which is exact."""
        return not set(self._body) & set(".e")


def numbers_in(text: str) -> list[Number]:
    """The numbers of a text, left to right."""
    return list(_numbers_of_line(text)) if len(text) <= _SHORT else list(_find_numbers(text))


@lru_cache(maxsize=_LINES)
def _numbers_of_line(line: str) -> tuple[Number, ...]:
    """The numbers of a line. Judging looks at the same output several times, and outputs repeat lines."""
    return tuple(_find_numbers(line))


def _find_numbers(text: str) -> Iterator[Number]:
    return (_number(text, match) for match in _NUMBER.finditer(text))


def _number(text: str, match: re.Match[str]) -> Number:
    start, sign = match.start(), match["sign"] or ""
    imaginary = match["imaginary"] is not None
    if imaginary and not sign and start and text[start - 1] in "+-":
        # In `1.5-2j` the sign belongs to the imaginary part.
        start, sign = start - 1, text[start - 1]
    value = _value(match["body"].lower().replace("_", ""))
    return Number(
        text=text[start : match.end()],
        value=-value if sign == "-" else value,
        start=start,
        end=match.end(),
        imaginary=imaginary,
    )


def _value(body: str) -> float:
    try:
        if body.startswith("0x"):
            return float.fromhex(body) if "." in body or "p" in body else _integer(int(body, 16))
        return _integer(int(body)) if body.isdigit() and len(body) <= _MOST_DIGITS else float(body)
    except OverflowError:
        return math.inf


def _integer(value: int) -> float:
    """The integer as a float if that is exact, else as an int, so that `2**63 - 1` and `2**63 - 2` differ."""
    return float(value) if abs(value) < _EXACT or value >= _LARGEST else value


def same_value(one: float, other: float) -> bool:
    """Whether two values are equal. nan equals nan, and zero does not equal minus zero."""
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other and math.copysign(1, one) == math.copysign(1, other)


def matches(claimed: Number, seen: Number) -> bool:
    """Whether two numbers are equal at the precision of the one with fewer digits."""
    if claimed.imaginary != seen.imaginary:
        return False
    if same_value(claimed.value, seen.value):
        return not _is_longer_print(claimed, seen)
    if not (math.isfinite(claimed.value) and math.isfinite(seen.value)):
        return False
    # Prints of one number with three digits or more are that near. Most numbers of an output are not.
    if not near(claimed.value, seen.value) or not (claimed.digits and seen.digits):
        return False
    if (
        _is_longer_print(claimed, seen)
        or math.copysign(1, claimed.value) != math.copysign(1, seen.value)
        or (claimed.whole and seen.whole)
    ):
        return False
    return _rounds_to(seen, claimed) or _rounds_to(claimed, seen) or _short_print(claimed, seen)


def _is_longer_print(claimed: Number, seen: Number) -> bool:
    """Whether the claim is about the many digits of a fraction, and the print has few.

    A claimed `13.949999999999999` is not met by `13.95`, even if both are the same float: Python prints the
    shortest text that is one.
    """
    return not claimed.whole and claimed.shortest >= _EXACT_DIGITS > seen.digits > 0


def near(one: float, other: float) -> bool:
    """Whether two values differ by at most 1 % of the larger one."""
    if not (math.isfinite(one) and math.isfinite(other)):
        return same_value(one, other)
    return abs(one - other) <= _NEAR * max(abs(one), abs(other))


def _rounds_to(fine: Number, coarse: Number) -> bool:
    """Whether the finer print rounds to the coarser one.

    torch and numpy print a bare point, as in `1025.`, for whole numbers only. So it is exact.
    """
    if coarse.digits < _LEAST_DIGITS or coarse.whole or coarse.text.endswith(".") or fine.step > coarse.step:
        return False
    return abs(Decimal(fine.value) - Decimal(coarse.value)) <= coarse.step / 2 * Decimal("1.0000001")


def _short_print(claimed: Number, seen: Number) -> bool:
    """Whether both may be prints of one float16: 4448 prints as `4448.` or as `4450.0`."""
    for short, long in ((claimed, seen), (seen, claimed)):
        significant = short.text.lstrip("+-").rstrip("0").rstrip(".").rstrip("0")
        digits = len(significant.replace(".", ""))
        if (
            _LEAST_DIGITS <= digits < long.digits
            and 1024 <= abs(long.value) <= 65504
            and long.value == _as_float16(short.value)
        ):
            return True
    return False


def _as_float16(value: float) -> float:
    """The value rounded to eleven significant bits, ties to even."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, 11)), exponent - 11)
