"""`app.judging.comparison.values` agrees with torch about tolerances; torch is asked in the sandbox."""

from __future__ import annotations

import base64
import json
import random
import struct
from collections.abc import Callable
from typing import Any

from app.judging.comparison.dtypes import format_of
from app.judging.comparison.values import ValueComparison, compare_value, elements_of
from worker.contract import CapturedValue, Result

DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "int32",
    "uint8",
    "bool",
    "float8_e4m3fn",
)
CASES = 40
SCRIPT = """
import base64, json, sys
import torch

def tensor(case, side):
    data = bytearray(base64.b64decode(case[side]))
    raw = torch.frombuffer(data, dtype=torch.uint8).clone()
    return raw.view(getattr(torch, case["dtype"]))

def passes(case, **tolerance):
    try:
        torch.testing.assert_close(tensor(case, "candidate"), tensor(case, "baseline"), equal_nan=True, **tolerance)
    except AssertionError:
        return False
    return True

answers = []
for case in json.loads(base64.b64decode(CASES)):
    answer = {"default": passes(case)}
    for name in ("rtol", "atol"):
        if case[name] is not None:
            other = {"rtol": "atol", "atol": "rtol"}[name]
            answer[name] = [passes(case, **{name: case[name] * factor, other: 0.0}) for factor in (1.0, case["less"])]
    answers.append(answer)
print(json.dumps(answers))
"""  # noqa: E501


def element_bytes(dtype: str, draw: random.Random) -> list[bytes]:
    """A few elements, and the same moved by some units in the last place, as bytes of each side."""
    form = format_of(dtype)
    assert form is not None
    top = 1 << (8 * form.size)
    sides = [bytearray(), bytearray()]
    scale = draw.choice([1, 4, 64, 4096])
    for _ in range(form.parts * draw.choice([1, 1, 5])):
        bits = draw.randrange(2) if dtype == "bool" else draw.randrange(top)
        if form.inexact and draw.random() < 0.8:
            # Around one, where the default tolerances decide.
            one = {11: "<e", 24: "<f", 53: "<d"}.get(form.precision)
            near = draw.uniform(-4, 4) * 10 ** draw.uniform(-6, 2)
            bits = (
                int.from_bytes(struct.pack(one, near), "little")
                if one
                else int.from_bytes(struct.pack("<f", near)[2:], "little") % top
            )
        moved = draw.randrange(2) if dtype == "bool" else (bits + draw.randint(-scale, scale)) % top
        sides[0] += bits.to_bytes(form.size, "little")
        sides[1] += moved.to_bytes(form.size, "little")
    return [bytes(side) for side in sides]


def captured(dtype: str, data: bytes) -> CapturedValue:
    form = format_of(dtype)
    assert form is not None
    return CapturedValue(
        name="x",
        kind="tensor",
        dtype=f"torch.{dtype}",
        shape=[len(data) // form.element_size],
        data=base64.b64encode(data).decode(),
    )


def cases_of(dtype: str, count: int, *, seed: int = 0) -> list[tuple[dict[str, Any], ValueComparison]]:
    draw = random.Random(f"{dtype} {seed}")  # noqa: S311 - the same cases each time
    form = format_of(dtype)
    assert form is not None
    made = []
    for _ in range(count):
        one, other = element_bytes(dtype, draw)
        compared = compare_value(captured(dtype, one), captured(dtype, other))
        case = {
            "dtype": dtype,
            "baseline": base64.b64encode(one).decode(),
            "candidate": base64.b64encode(other).decode(),
            "rtol": compared.smallest_rtol,
            "atol": compared.smallest_atol,
            # Less by more than what rounding in the dtype forgives.
            "less": 1 - 2.0 ** (3 - min(form.precision or 24, 24)) * (2 if form.precision else 1),
        }
        made.append((case, compared))
    return made


def is_tiny(case: dict[str, Any]) -> bool:
    """Whether an error is near the subnormal range, where the last place is coarser than any share of it."""
    form = format_of(case["dtype"])
    assert form is not None
    one, other = (
        elements_of(captured(case["dtype"], base64.b64decode(case[side])))
        for side in ("baseline", "candidate")
    )
    errors = [abs(left - right) for left, right in zip(one or (), other or (), strict=True) if left != right]
    return form.inexact and (min(errors) < 2.0 ** (form.least + 2) or (case["rtol"] or 1) < 1e-30)


def disagreements(
    made: list[tuple[dict[str, Any], ValueComparison]], answers: list[dict[str, Any]]
) -> list[str]:
    found = []
    for (case, compared), answer in zip(made, answers, strict=True):
        equal = not compared.differing
        if answer["default"] != (equal or bool(compared.passes_default)):
            found.append(f"default: torch {answer['default']}, {case} {compared!r}")
        for name in ("rtol", "atol"):
            if equal or name not in answer:
                continue
            at, below = answer[name]
            if not at or (below and not is_tiny(case)):
                found.append(f"{name}: passes at it {at}, below it {below}, {case} {compared!r}")
    return found


def test_tolerances_are_those_of_torch(execute: Callable[..., Result]) -> None:
    made = [case for dtype in DTYPES for case in cases_of(dtype, CASES)]
    cases = base64.b64encode(json.dumps([case for case, _ in made]).encode()).decode()
    result = execute(f"CASES = {cases!r}\n{SCRIPT}")
    assert result.observation.exit_status == 0, result.observation.stderr
    assert disagreements(made, json.loads(result.observation.stdout)) == []
