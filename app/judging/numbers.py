"""Numbers as people print them: found in text, and matched by value at the precision that was claimed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

# A number stands alone: no letter, digit or dot runs into it. The sign belongs to it unless it follows an operand (`a-1`, `3-1`).
_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>(?<![\w)\]])[+-])?"
    r"(?P<body>0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:[pP][+-]?\d+)?"
    r"|(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
    r"|(?:nan|NaN|NAN|inf|Inf|INF|infinity|Infinity)(?=[jJ]?(?!\w)))"
    r"(?P<imaginary>[jJ](?!\w))?(?![0-9a-zA-Z_])"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text: its value, how it was written and where it stands."""

    text: str
    value: float
    start: int
    end: int
    imaginary: bool = False

    @property
    def digits(self) -> int:
        """Significant digits as written; 0 for nan, inf and hexadecimal."""
        body = self.text.lstrip("+-").lower()
        if not math.isfinite(self.value) or body.startswith("0x"):
            return 0
        mantissa = body.split("e", maxsplit=1)[0].replace(".", "").replace("_", "")
        return len(mantissa.lstrip("0")) or 1

    @property
    def step(self) -> float:
        """What the last written digit is worth; 0 for a whole value."""
        body = self.text.lstrip("+-").lower().replace("_", "").rstrip("j")
        mantissa, _, exponent = body.partition("e")
        if body.endswith("."):
            return 0.0  # torch and numpy print whole values so
        places = len(mantissa.partition(".")[2])
        power = int(exponent or 0) - places
        return float(10.0**power) if -320 < power < 300 else 0.0


def numbers_in(text: str) -> list[Number]:
    """The numbers of a text, left to right."""
    return [
        Number(text=found.group(), value=_value(found), start=found.start(), end=found.end(), imaginary=found["imaginary"] is not None)
        for found in _NUMBER.finditer(text)
    ]


def _value(found: re.Match[str]) -> float:
    body = found["body"].lower().replace("_", "")
    try:
        value = (float.fromhex(body) if "." in body or "p" in body else float(int(body, 16))) if body.startswith("0x") else float(body)
    except OverflowError:
        value = math.inf
    return -value if found["sign"] == "-" else value


def number_of(text: str) -> Number | None:
    """The one number that the text is, or None."""
    found = numbers_in(text.strip())
    return found[0] if len(found) == 1 and found[0].text == text.strip() else None


def same_value(one: float, other: float) -> bool:
    """Equal values; nan equals nan."""
    return one == other or (math.isnan(one) and math.isnan(other))


def matches(claimed: Number, seen: Number) -> bool:
    """Whether what was seen is what was claimed, at the precision of the coarser of the two prints."""
    if claimed.imaginary != seen.imaginary:
        return False
    if same_value(claimed.value, seen.value):
        return True
    if not (math.isfinite(claimed.value) and math.isfinite(seen.value)) or not (claimed.digits and seen.digits):
        return False
    if math.copysign(1, claimed.value) != math.copysign(1, seen.value):
        return False
    if _is_whole(claimed) and _is_whole(seen):
        return False
    return _rounds_to(seen, claimed) or _rounds_to(claimed, seen) or _short_print(claimed, seen)


def _is_whole(number: Number) -> bool:
    """Whether it was written as an integer: integers are exact."""
    return not set(number.text.lower()) & set(".e")


def _rounds_to(fine: Number, coarse: Number) -> bool:
    """Whether the finer print rounds to the coarser one. One digit is too coarse to say anything of a longer print."""
    if coarse.digits < 2 or fine.step > coarse.step or not coarse.step:
        return False
    gap = abs(Decimal(repr(fine.value)) - Decimal(repr(coarse.value)))
    return gap <= Decimal(repr(coarse.step)) / 2


def _short_print(claimed: Number, seen: Number) -> bool:
    """Whether both may print one float16: 4448 prints as `4448.` here and `4450.0` there."""
    for short, long in ((claimed, seen), (seen, claimed)):
        kept = short.text.lstrip("+-").rstrip("0").rstrip(".").rstrip("0")
        digits = len(kept.replace(".", ""))
        if 3 <= digits < long.digits and 1024 <= abs(long.value) <= 65504 and short.value % 1 == 0 and long.value % 1 == 0:
            ulp = 2.0 ** (math.floor(math.log2(abs(long.value))) - 10)
            if long.value % ulp == 0 and abs(short.value - long.value) < ulp:
                return True
    return False
