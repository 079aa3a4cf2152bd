"""Values that a script holds or prints are captured as they are, and the script can't tell."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Callable

import pytest

from worker.contract import CapturedValue, Observation, Outcome, Result

Execute = Callable[..., Result]

pytestmark = pytest.mark.sandbox


def by_name(seen: Observation) -> dict[str, CapturedValue]:
    return {value.name: value for value in seen.values}


def floats(value: CapturedValue, code: str = "f") -> list[float]:
    data = base64.b64decode(value.data)
    assert value.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    return [number for (number,) in struct.iter_unpack(f"<{code}", data)]


HELD = """
import torch
import numpy
a = torch.arange(6.0).reshape(2, 3)
transposed = a.t()
conjugated = torch.tensor([1 + 2j, 3 - 1j]).conj()
imaginary = conjugated.imag
backwards = numpy.arange(5, dtype=">f4")[::-2]
half = torch.tensor([1.5, float("nan"), float("inf"), -float("inf"), 0.0], dtype=torch.bfloat16)
empty = torch.empty(0, 3)
parameter = torch.nn.Parameter(torch.full((2,), 0.25))
expanded = torch.ones(1).expand(4)
sparse = torch.eye(2).to_sparse()
meta = torch.empty(2, device="meta")
released = torch.ones(4)
released.untyped_storage().resize_(0)
number, real, flag, z, scalar, large = 7, -2.5, True, 1j, numpy.float32(3.5), -(2**70)
_hidden, text, module_list = 1, "x", [1.0]
class Mine(torch.Tensor): pass
derived = torch.ones(2).as_subclass(Mine)
{end}
"""


@pytest.mark.parametrize("end", ["", "raise ValueError('after')"])
def test_what_is_held_at_the_end(execute: Execute, end: str) -> None:
    result = execute(HELD.replace("{end}", end))
    seen = by_name(result.observation)
    assert result.outcome is (Outcome.RAISED if end else Outcome.COMPLETED), result.observation.stderr
    assert [value.name for value in result.observation.values] == [
        *(
            "a",
            "transposed",
            "conjugated",
            "imaginary",
            "backwards",
            "half",
            "empty",
            "parameter",
            "expanded",
            "sparse",
            "meta",
            "released",
        ),
        *("number", "real", "flag", "z", "scalar", "large"),
    ]
    assert floats(seen["a"]) == [0, 1, 2, 3, 4, 5]
    assert (seen["a"].kind, seen["a"].dtype, seen["a"].shape, seen["a"].origin) == (
        "tensor",
        "torch.float32",
        [2, 3],
        "final",
    )
    assert (floats(seen["transposed"]), seen["transposed"].shape) == ([0, 3, 1, 4, 2, 5], [3, 2])
    assert floats(seen["conjugated"]) == [1, -2, 3, 1]
    assert floats(seen["imaginary"]) == [-2, 1]
    assert (floats(seen["backwards"]), seen["backwards"].dtype) == ([4, 2, 0], "float32")
    assert floats(seen["parameter"]) == [0.25, 0.25]
    assert floats(seen["expanded"]) == [1, 1, 1, 1]
    assert (seen["number"].dtype, floats(seen["number"], "q")) == ("int", [7])
    assert (seen["real"].dtype, floats(seen["real"], "d")) == ("float", [-2.5])
    assert (seen["flag"].kind, seen["flag"].dtype, base64.b64decode(seen["flag"].data)) == (
        "number",
        "bool",
        b"\1",
    )
    assert floats(seen["z"], "d") == [0, 1]
    assert (seen["scalar"].kind, seen["scalar"].dtype, floats(seen["scalar"])) == ("number", "float32", [3.5])
    assert int.from_bytes(base64.b64decode(seen["large"].data), "little", signed=True) == -(2**70)
    assert [seen[name].digest for name in ("sparse", "meta", "released")] == ["", "", ""]
    assert seen["empty"].digest == f"sha256:{hashlib.sha256(b'').hexdigest()}"


def test_statistics_are_of_the_finite(execute: Execute) -> None:
    script = HELD.replace(
        "{end}", "wide = torch.arange(100000.0)\nwide[7] = float('nan')\nints = torch.tensor([3, 0, -4])"
    )
    seen = by_name(execute(script).observation)
    half, wide, ints = seen["half"].statistics, seen["wide"].statistics, seen["ints"].statistics
    assert half is not None
    assert wide is not None
    assert ints is not None
    assert (half.least, half.greatest, half.mean) == (0, 1.5, 0.75)
    assert (half.nan, half.positive_infinite, half.negative_infinite, half.zero) == (1, 1, 1, 1)
    assert (wide.least, wide.greatest, wide.nan, wide.zero, seen["wide"].data) == (0, 99999, 1, 1, "")
    assert wide.mean == pytest.approx((99999 * 50000 - 7) / 99999)
    assert (ints.least, ints.greatest, ints.zero) == (-4, 3, 1)


def test_limits_are_kept_and_said(execute: Execute) -> None:
    script = (
        "import torch\nlarge = torch.ones(5_000_000)\nfor n in range(80): globals()['v%d' % n] = torch.full((900,), float(n))\n"  # noqa: E501
        "del n\nfor n in range(40): str(large[n])\ndel n\n"
    )
    seen = execute(script).observation
    final = [value for value in seen.values if value.origin == "final"]
    printed = [value for value in seen.values if value.origin == "printed"]
    assert (final[0].name, final[0].digest, final[0].statistics) == ("large", "", None)
    assert (len(final), len(printed)) == (64, 32)
    assert seen.values_omitted == (81 - 64) + (40 - 32)
    assert 0 < sum(len(base64.b64decode(value.data)) for value in seen.values) <= 64 * 1024


PRINTING = """
import torch
x = torch.tensor([1.0, 2.0])
print(x, f"{x}")
x += 1
print([x], str(x.reshape(2, 1)), repr(torch.nn.Parameter(x)))
print(torch.ones(3).sum())
"""


def test_what_is_printed(execute: Execute) -> None:
    printed = [value for value in execute(PRINTING).observation.values if value.origin == "printed"]
    assert [value.name for value in printed] == [f"print[{index}]" for index in range(6)]
    assert [floats(value) for value in printed] == [[1, 2], [1, 2], [2, 3], [2, 3], [2, 3], [3]]
    assert printed[2].shape == [2, 1]  # arguments come before the print


def test_children_and_those_that_are_cut_off_are_silent(execute: Execute) -> None:
    forked = execute(
        "import os, torch\nx = 1\nif os.fork() == 0:\n    print(torch.ones(2)); raise SystemExit(0)\nos.wait()\n"  # noqa: E501
    ).observation
    assert [value.name for value in forked.values] == ["x"]
    assert execute("import os\nx = 1\nos._exit(0)\n").observation.values == []


def test_memory_that_is_not_there_kills_nobody(execute: Execute) -> None:
    script = """
import mmap, os, numpy, torch
fd = os.open("/tmp/short", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 1 << 16)
whole = mmap.mmap(fd, 1 << 16)
gone = torch.frombuffer(whole, dtype=torch.float32)
array = numpy.frombuffer(whole, numpy.float32)
os.ftruncate(fd, 0)
"""
    result = execute(script)
    assert result.outcome is Outcome.COMPLETED, result
    assert [
        (value.name, value.digest, value.data)
        for value in result.observation.values
        if value.kind != "number"
    ] == [
        ("gone", "", ""),
        ("array", "", ""),
    ]


def test_values_give_way_to_a_small_result(execute: Execute) -> None:
    script = "import torch\nfor n in range(60): globals()['v%d' % n] = torch.full((900,), float(n))\n"
    result = execute(script, limits={"result_bytes": 16 * 1024})
    assert len(result.model_dump_json()) <= 16 * 1024
    assert result.outcome is Outcome.COMPLETED
    small = execute("x = 1\n" + "print('y' * 100)\n", limits={"stream_kill_bytes": 1024})
    assert (small.outcome, small.observation.stdout) == (Outcome.COMPLETED, "y" * 100 + "\n")
