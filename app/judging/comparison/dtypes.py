"""Number formats: decoding of captured bytes, rounding, ULP positions, and the tolerances of torch."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# Bits of precision of a float64. No decoded format has more.
DOUBLE_PRECISION = 53


class Kind(StrEnum):
    """The kind of the elements. A complex element has two parts."""

    FLOAT = "float"
    COMPLEX = "complex"
    INTEGER = "integer"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Format:
    """The format of one part of an element.

    `size` is in bytes, `precision` in bits with the hidden one, `least` the exponent of the smallest normal
    value.

    `rtol` and `atol` are the defaults of `torch.testing.assert_close`; they are 0 for dtypes that it compares
    exactly.
    """

    name: str
    kind: Kind
    size: int
    code: str = ""
    precision: int = 0
    least: int = 0
    greatest: float = math.inf
    rtol: float = 0.0
    atol: float = 0.0

    @property
    def parts(self) -> int:
        """The count of numbers in one element."""
        return 2 if self.kind is Kind.COMPLEX else 1

    @property
    def element_size(self) -> int:
        """The size of one element in bytes."""
        return self.size * self.parts

    @property
    def inexact(self) -> bool:
        """Whether the format rounds, so that it has a unit in the last place."""
        return self.precision > 0


def _float(
    name: str,
    size: int,
    code: str,
    shape: tuple[int, int, float],
    tolerance: tuple[float, float] = (0.0, 0.0),
) -> Format:
    return Format(name, Kind.FLOAT, size, code, *shape, *tolerance)


_HALF, _SINGLE, _DOUBLE = (
    (11, -14, 65504.0),
    (24, -126, (2 - 2**-23) * 2.0**127),
    (53, -1022, 1.7976931348623157e308),
)
_FLOAT16 = _float("float16", 2, "e", _HALF, (1e-3, 1e-5))
_FLOAT32 = _float("float32", 4, "f", _SINGLE, (1.3e-6, 1e-5))
_FLOAT64 = _float("float64", 8, "d", _DOUBLE, (1e-7, 1e-7))
_FLOATS = (
    _FLOAT16,
    _FLOAT32,
    _FLOAT64,
    _float("bfloat16", 2, "bfloat16", (8, -126, (2 - 2**-7) * 2.0**127), (1.6e-2, 1e-5)),
    _float("float8_e4m3fn", 1, "float8", (4, -6, 448.0)),
    _float("float8_e4m3fnuz", 1, "float8", (4, -7, 240.0)),
    _float("float8_e5m2", 1, "float8", (3, -14, 57344.0)),
    _float("float8_e5m2fnuz", 1, "float8", (3, -15, 57344.0)),
    _float("float8_e8m0fnu", 1, "float8", (1, -127, 2.0**127)),
)
_COMPLEX = tuple(
    Format(
        name,
        Kind.COMPLEX,
        part.size,
        part.code,
        part.precision,
        part.least,
        part.greatest,
        part.rtol,
        part.atol,
    )
    for name, part in (("complex32", _FLOAT16), ("complex64", _FLOAT32), ("complex128", _FLOAT64))
)
_INTEGERS = tuple(
    Format(f"{sign}int{8 * size}", Kind.INTEGER, size, code.upper() if sign else code)
    for size, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))
    for sign in ("", "u")
)
_FORMATS = {one.name: one for one in (*_FLOATS, *_COMPLEX, *_INTEGERS, Format("bool", Kind.BOOLEAN, 1, "?"))}
_OTHER_NAMES = {
    "half": "float16",
    "float": "float64",
    "double": "float64",
    "complex": "complex128",
    "chalf": "complex32",
    "cfloat": "complex64",
}
FLOAT32 = _FLOAT32


def format_of(dtype: str) -> Format | None:
    """The format of a dtype of torch, numpy or Python.

    None for an unknown dtype, and for `int`, which has any size.
    """
    name = dtype.rpartition(".")[2].lower()
    return _FORMATS.get(_OTHER_NAMES.get(name, name))


def decode(dtype: str, data: bytes) -> list[float] | None:
    """The parts of the elements, from little-endian bytes. None if the bytes do not fit the dtype."""
    if dtype == "int":
        return [int.from_bytes(data, "little", signed=True)] if data else None
    form = format_of(dtype)
    if form is None or not data or len(data) % form.element_size:
        return None
    if form.kind is Kind.BOOLEAN:
        return [int(byte != 0) for byte in data]
    if form.code == "float8":
        return [_float8(form, byte) for byte in data]
    if form.code == "bfloat16":
        wide = array("I", (half << 16 for half in struct.unpack(f"<{len(data) // 2}H", data)))
        return list(struct.unpack(f"={len(wide)}f", wide.tobytes()))
    return list(struct.unpack(f"<{len(data) // form.size}{form.code}", data))


def _float8(form: Format, byte: int) -> float:
    if form.name == "float8_e8m0fnu":
        return math.nan if byte == 0xFF else math.ldexp(1.0, byte - 127)
    fraction_bits = form.precision - 1
    exponent, fraction = (byte & 0x7F) >> fraction_bits, byte & ((1 << fraction_bits) - 1)
    sign = -1.0 if byte & 0x80 else 1.0
    if form.name.endswith("fnuz"):
        if byte == 0x80:
            return math.nan
    elif form.name.endswith("fn"):
        if byte & 0x7F == 0x7F:
            return math.nan
    elif exponent == 0x1F:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, form.least - fraction_bits)
    return sign * math.ldexp(fraction + (1 << fraction_bits), form.least + exponent - 1 - fraction_bits)


def round_to(value: float, form: Format) -> float:
    """The nearest value of the format, ties to even; infinite beyond the greatest value."""
    if not math.isfinite(value) or value == 0.0 or form.precision >= DOUBLE_PRECISION:
        return float(value)
    if abs(value) >= 2 * form.greatest:
        return math.copysign(math.inf, value)
    exponent = max(math.frexp(value)[1], form.least + 1) - form.precision
    near = math.ldexp(round(math.ldexp(value, -exponent)), exponent)
    return math.copysign(near if abs(near) <= form.greatest else math.inf, value)


def ordinal(value: float, form: Format) -> int:
    """The number of a value in the order of all values of the format.

    Neighbours differ by 1; both zeros are 0.
    """
    if math.isinf(value):
        return (ordinal(form.greatest, form) + 1) * (1 if value > 0 else -1)
    exponent = max(math.frexp(value)[1], form.least + 1) if value else form.least + 1
    steps = int(math.ldexp(abs(value), form.precision - exponent))
    place = (exponent - form.least - 1) * (1 << (form.precision - 1)) + steps
    return -place if value < 0 else place


def coarser(one: Format, other: Format) -> Format:
    """The format with fewer bits of precision."""
    return min((one, other), key=lambda form: form.precision)


def multi_index(flat: int, shape: Sequence[int]) -> list[int]:
    """The index of an element in a shape, by its position in row-major order."""
    index: list[int] = []
    for extent in reversed(shape):
        flat, place = divmod(flat, max(extent, 1))
        index.append(place)
    return index[::-1]
