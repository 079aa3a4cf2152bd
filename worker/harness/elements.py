"""Reads the elements of a tensor or an array from the memory of the script's process, with statistics.

`watch.py` loads it for `values.py`. It calls no operation of torch. Unreadable memory makes a system call
fail instead of killing the script.
"""

import os
import sys

# Limit for a tensor that is not contiguous, from its first to its last byte.
SPAN_BYTES = 4 << 20
CHUNK_BYTES = 64 << 10
# Limit without numpy, where a Python loop reads the elements.
SLOW_ELEMENTS = 1 << 16

# By the dtype's name in torch and numpy: bytes of an element, and the
# code of its number format ("" if unknown). f, i, u and c are float, int,
# unsigned and complex; the digit is the number of bytes of a real part.
DTYPES = {
    "float64": (8, "f8"),
    "float32": (4, "f4"),
    "float16": (2, "f2"),
    "bfloat16": (2, "bf2"),
    "int64": (8, "i8"),
    "int32": (4, "i4"),
    "int16": (2, "i2"),
    "int8": (1, "i1"),
    "uint64": (8, "u8"),
    "uint32": (4, "u4"),
    "uint16": (2, "u2"),
    "uint8": (1, "u1"),
    "bool": (1, "u1"),
    "complex128": (16, "c8"),
    "complex64": (8, "c4"),
    "complex32": (4, "c2"),
    "float8_e4m3fn": (1, ""),
    "float8_e5m2": (1, ""),
    "float8_e4m3fnuz": (1, ""),
    "float8_e5m2fnuz": (1, ""),
    "float8_e8m0fnu": (1, ""),
}
# The same formats for the module `struct`.
STRUCT_CODES = {
    "f8": "d", "f4": "f", "f2": "e",
    "i8": "q", "i4": "i", "i2": "h", "i1": "b",
    "u8": "Q", "u4": "I", "u2": "H", "u1": "B",
}  # fmt: skip


class Region:
    """The place in memory of a value's elements.

    `address` is that of the element with index 0 in every dimension, minus `offset`. `strides`, `size` (of
    one element) and `offset` are in bytes. `flip` is a mask for the bits of an element to invert, `swapped`
    the number of bytes to reverse, or False.
    """

    def __init__(self, address, shape, strides, size, offset=0):
        self.address, self.shape, self.strides, self.size = address, shape, strides, size
        self.count = 1
        for length in shape:
            self.count *= length
        # The first element's distance from the lowest address: not 0 if a stride is negative.
        self.origin = (
            sum(-(length - 1) * stride for length, stride in zip(shape, strides) if stride < 0)
            if self.count
            else 0
        )
        reach = sum((length - 1) * abs(stride) for length, stride in zip(shape, strides))
        self.span = reach + size if self.count else 0
        self.address += offset - self.origin
        self.owner = None
        self.flip = b""
        self.swapped = False

    def is_contiguous(self):
        """Whether the elements lie row by row without gaps."""
        expected = self.size
        for length, stride in zip(reversed(self.shape), reversed(self.strides)):
            if length != 1 and stride != expected:
                return False
            expected *= length
        return True

    def chunks(self, limit):
        """An iterator over the elements' bytes, row by row; None if they are more than `limit` bytes."""
        total = self.count * self.size
        if not total:
            return iter(())
        if self.is_contiguous() and not self.swapped:
            return map(self.invert_bits, copy_memory(self.address, total)) if total <= limit else None
        if max(self.span, total) > min(limit, SPAN_BYTES):
            return None
        data = self.gather(b"".join(copy_memory(self.address, self.span)))
        return (self.invert_bits(data[at : at + CHUNK_BYTES]) for at in range(0, total, CHUNK_BYTES))

    def gather(self, span):
        """The elements' bytes, row by row, out of all bytes of the span.

        Raises ValueError if it would take long.
        """
        numpy = sys.modules.get("numpy")
        if numpy is None:
            if self.count > SLOW_ELEMENTS:
                raise ValueError("too many")
            return b"".join(self.rows(span, 0, self.origin))
        element = numpy.dtype("V%d" % self.size)
        array = numpy.ndarray(self.shape, element, span, self.origin, self.strides)
        data = array.tobytes()
        if self.swapped:
            data = numpy.frombuffer(data, numpy.uint8).reshape(-1, self.swapped)[:, ::-1].tobytes()
        return data

    def rows(self, span, axis, at):
        """Yield each element's bytes from this dimension on; `at` is the offset in the span."""
        if axis == len(self.shape):
            yield span[at : at + self.size]
            return
        for index in range(self.shape[axis]):
            for row in self.rows(span, axis + 1, at + index * self.strides[axis]):
                yield row

    def invert_bits(self, data):
        """The data with `flip` applied: torch negates or conjugates a tensor without changing its memory."""
        if not self.flip:
            return data
        mask = int.from_bytes(self.flip * (len(data) // len(self.flip)), "little")
        return (int.from_bytes(data, "little") ^ mask).to_bytes(len(data), "little")


def copy_memory(address, total):
    """Yield chunks of memory, copied through a pipe.

    Raises OSError, instead of a crash, for memory that is not mapped or lies in a file that got shorter.
    """
    import ctypes

    view = memoryview((ctypes.c_char * total).from_address(address)).cast("B")
    if os.name == "nt":
        # Windows' pipes don't report how much they took. This is a reporter's own Python: trust torch there.
        for at in range(0, total, CHUNK_BYTES):
            yield bytes(view[at : at + CHUNK_BYTES])
        return
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        at = 0
        while at < total:
            parts, until = [], min(at + CHUNK_BYTES, total)
            while at < until:
                written = os.write(writing, view[at:until])
                parts.append(os.read(reading, written))
                at += written
            yield b"".join(parts)
    finally:
        os.close(reading)
        os.close(writing)


class Statistics:
    """Statistics of elements that come in chunks; `code` is a number format as in `DTYPES`."""

    def __init__(self, code):
        self.code = code
        self.known = bool(code)
        self.least = self.greatest = None
        self.total, self.finite = 0.0, 0
        self.nan = self.positive = self.negative = self.zero = 0

    def feed(self, data):
        """Add one chunk: whole elements, little-endian."""
        if not self.known:
            return
        numpy = sys.modules.get("numpy")
        if numpy is None:
            self.feed_slowly(data)
            return
        with numpy.errstate(all="ignore"):
            if self.code[0] == "c":
                parts = numpy.frombuffer(data, "<f" + self.code[1]).reshape(-1, 2)
                self.nan += int(numpy.isnan(parts).any(axis=1).sum())
                self.zero += int((parts == 0).all(axis=1).sum())
                return
            if self.code == "bf2":
                numbers = (numpy.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
            else:
                numbers = numpy.frombuffer(data, "<" + self.code)
            if self.code[0] not in "iu":
                numbers = self.drop_not_finite(numpy, numbers)
            if numbers.size:
                self.zero += numbers.size - int(numpy.count_nonzero(numbers))
                self.add(
                    float(numbers.min()), float(numbers.max()), float(numbers.sum(dtype="f8")), numbers.size
                )

    def drop_not_finite(self, numpy, numbers):
        """Count NaN and infinities, and give the other numbers."""
        finite = numpy.isfinite(numbers)
        if finite.all():
            return numbers
        self.nan += int(numpy.isnan(numbers).sum())
        self.positive += int((numbers == numpy.inf).sum())
        self.negative += int((numbers == -numpy.inf).sum())
        return numbers[finite]

    def feed_slowly(self, data):
        """As `feed`, without numpy; gives up on formats that `struct` lacks and on many elements."""
        import math
        import struct

        if self.code == "bf2":
            data = b"".join(b"\0\0" + data[at : at + 2] for at in range(0, len(data), 2))
        code = STRUCT_CODES.get("f4" if self.code == "bf2" else self.code)
        if code is None or self.finite > SLOW_ELEMENTS:
            self.known = False
            return
        numbers = struct.unpack("<%d%s" % (len(data) // struct.calcsize("<" + code), code), data)
        finite = [number for number in numbers if math.isfinite(number)]
        self.nan += sum(number != number for number in numbers)  # noqa: PLR0124
        self.positive += numbers.count(math.inf)
        self.negative += numbers.count(-math.inf)
        if finite:
            self.zero += finite.count(0)
            self.add(float(min(finite)), float(max(finite)), float(sum(map(float, finite))), len(finite))

    def add(self, least, greatest, total, count):
        """Add the facts of `count` finite numbers."""
        self.least = least if self.least is None else min(self.least, least)
        self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)
        self.total += total
        self.finite += count

    def facts(self):
        """The `statistics` of a captured value: a dict, or None if the format is unknown."""
        if not self.known:
            return None
        mean = self.total / self.finite if self.finite else None
        return {
            "least": self.least,
            "greatest": self.greatest,
            # The sum of finite numbers may overflow.
            "mean": mean if mean is not None and abs(mean) <= sys.float_info.max else None,
            "nan": self.nan,
            "positive_infinite": self.positive,
            "negative_infinite": self.negative,
            "zero": self.zero,
        }
