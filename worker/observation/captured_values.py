"""Reads the values that the harness captured.

They are untrusted: form and size are checked, and digests are computed again.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import re

from worker.contract import KIB, CapturedValue, ValueStatistics
from worker.contract.text import storable_text

MOST_VALUES = 96
_MAX_NAME = 200
_MAX_DIMENSIONS = 64
_MAX_LENGTH = 2**63
MOST_OMITTED = 10**6
# Limits in bytes for one value and for all together. The harness has the same limits.
_DATA_BYTES = 4 * KIB
_ALL_DATA_BYTES = 64 * KIB
_DTYPE = re.compile(r"(?:torch\.)?[a-z][a-z0-9_]{0,31}")
_DEVICE = re.compile(r"[a-z]{1,16}(?::[0-9]{1,3})?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# Bytes of an element by dtype. A Python `int` takes a multiple of 8.
ITEM_BYTES = {
    "float": 8, "int": 8, "complex": 16, "bool": 1,
    **{f"{kind}{bits}": bits // 8 for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex32": 4, "complex64": 8, "complex128": 16,
    **{f"float8_{kind}": 1 for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")},
}  # fmt: skip


class ValueReader:
    """Collects well-formed values within the limits."""

    def __init__(self) -> None:
        self.values: list[CapturedValue] = []
        self.omitted = 0
        self._data_bytes = 0

    def take(self, message: dict[str, object]) -> None:
        """Take one captured value from its message."""
        value = _value(message)
        if value is None:
            return
        if len(self.values) >= MOST_VALUES:
            self.omitted += 1
            return
        size = len(value.data) * 3 // 4
        if self._data_bytes + size > _ALL_DATA_BYTES:
            value = value.model_copy(update={"data": ""})
        else:
            self._data_bytes += size
        self.values.append(value)

    def take_omitted(self, message: dict[str, object]) -> None:
        """Count the values that the harness omitted."""
        omitted = _count(message.get("omitted"))
        self.omitted += omitted or 0


def _value(message: dict[str, object]) -> CapturedValue | None:
    name, dtype, device = message.get("name"), message.get("dtype"), message.get("device")
    kind, origin, shape = message.get("of"), message.get("origin"), _shape(message.get("shape"))
    if (
        not isinstance(name, str)
        or not isinstance(dtype, str)
        or not isinstance(device, str)
        or shape is None
    ):
        return None
    if not _DTYPE.fullmatch(dtype) or not _DEVICE.fullmatch(device):
        return None
    if kind not in ("tensor", "array", "number") or origin not in ("final", "printed"):
        return None
    digest, data = message.get("digest", ""), message.get("data", "")
    if not isinstance(digest, str) or not isinstance(data, str) or (digest and not _DIGEST.fullmatch(digest)):
        return None
    if digest and not _agree(digest, data, dtype, shape):
        return None
    return CapturedValue(
        name=storable_text(name[:_MAX_NAME]),
        origin=origin,
        kind=kind,
        dtype=dtype,
        shape=shape,
        device=device,
        digest=digest,
        data=data if digest else "",
        statistics=_statistics(message.get("statistics")) if digest else None,
    )


def _shape(shape: object) -> list[int] | None:
    if not isinstance(shape, list) or len(shape) > _MAX_DIMENSIONS:
        return None
    lengths = [length for length in shape if _count(length) is not None]
    return lengths if len(lengths) == len(shape) else None


def _agree(digest: str, data: str, dtype: str, shape: list[int]) -> bool:
    """Whether bytes fit digest, dtype and shape. Without bytes it checks empty shapes only."""
    if not data:
        return math.prod(shape) > 0 or digest == f"sha256:{hashlib.sha256(b'').hexdigest()}"
    if len(data) > 2 * _DATA_BYTES:
        return False
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    if len(content) > _DATA_BYTES or f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
        return False
    item = ITEM_BYTES.get(dtype.removeprefix("torch."))
    if dtype == "int":
        return not shape and len(content) > 0 and len(content) % 8 == 0
    return item is not None and len(content) == item * math.prod(shape)


def _statistics(statistics: object) -> ValueStatistics | None:
    if not isinstance(statistics, dict):
        return None
    counts = {
        name: _count(statistics.get(name, 0))
        for name in ("nan", "positive_infinite", "negative_infinite", "zero")
    }
    moments = {name: statistics.get(name) for name in ("least", "greatest", "mean")}
    if None in counts.values() or not all(value is None or _is_finite(value) for value in moments.values()):
        return None
    return ValueStatistics.model_validate({**moments, **counts})


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < _MAX_LENGTH else None


def _is_finite(value: object) -> bool:
    return type(value) is float and math.isfinite(value)
