"""Reading captured values: the bytes are untrusted, and only consistent values are taken."""

from __future__ import annotations

import base64
import hashlib
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.observation.captured_values import MOST_OMITTED, MOST_VALUES
from worker.observation.harness_report import read_report

BYTES = struct.pack("<2f", 1.0, 2.0)


def told(**changed: object) -> dict[str, object]:
    return {
        "kind": "value",
        "name": "x",
        "origin": "final",
        "of": "tensor",
        "dtype": "torch.float32",
        "shape": [2],
        "device": "cpu",
        "digest": f"sha256:{hashlib.sha256(BYTES).hexdigest()}",
        "data": base64.b64encode(BYTES).decode(),
        "statistics": {
            "least": 1.0,
            "greatest": 2.0,
            "mean": 1.5,
            "nan": 0,
            "positive_infinite": 0,
            "negative_infinite": 0,
            "zero": 0,
        },
        **changed,
    }


def lines(*messages: object) -> bytes:
    return b"\n".join(json.dumps(message).encode() for message in messages)


def test_a_value_as_the_harness_sends_it() -> None:
    read = read_report(lines(told(), {"kind": "values", "omitted": 3}))
    assert read.values[0].model_dump() == {
        key: value for key, value in told(kind="tensor").items() if key != "of"
    }
    assert read.values_omitted == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"name": 1},
        {"dtype": "torch.float32; drop"},
        {"dtype": "torch.float64"},
        {"dtype": "quint8"},
        {"device": "cuda:0\n"},
        {"of": "module"},
        {"origin": "made up"},
        {"shape": [3]},
        {"shape": [-1, -2]},
        {"shape": [True, 2]},
        {"shape": [2.0]},
        {"shape": "2"},
        {"shape": [1] * 65},
        {"digest": "sha256:" + "0" * 64},
        {"digest": "md5:1"},
        {"digest": None},
        {"data": "not base64!"},
        {"data": base64.b64encode(b"\0" * 8).decode()},
        {"data": "A" * 100_000},
    ],
    ids=str,
)
def test_a_value_that_contradicts_itself_is_dropped(changed: dict[str, object]) -> None:
    read = read_report(lines(told(**changed), told(name="next")))
    assert [value.name for value in read.values] == ["next"]


@pytest.mark.parametrize(
    "statistics", [{"least": 1e400}, {"least": "1"}, {"nan": -1}, {"nan": True}, {"zero": 2**64}, [1], 1]
)
def test_statistics_that_are_none(statistics: object) -> None:
    text = lines(told(statistics=statistics)).replace(b"Infinity", b"1e999")
    assert [value.statistics for value in read_report(text).values] == [None]


def test_bytes_without_a_digest_are_nothing() -> None:
    value = read_report(lines(told(digest=""))).values[0]
    assert (value.digest, value.data, value.statistics) == ("", "", None)


def test_many_and_long() -> None:
    data = b"\0" * 4096
    full = {
        "shape": [1024],
        "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
        "data": base64.b64encode(data).decode(),
    }
    read = read_report(
        lines({"kind": "values", "omitted": 10**9}, *(told(name="n" * 1000, **full) for _ in range(150)))
    )
    assert len(read.values) == MOST_VALUES
    assert read.values_omitted == MOST_OMITTED
    assert sum(len(base64.b64decode(value.data)) for value in read.values) <= 64 * 1024
    assert {len(value.name) for value in read.values} == {200}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(sorted(told())), JSON), st.binary(max_size=50))
def test_nothing_raises_and_what_is_kept_can_be_sent_on(changed: dict[str, object], junk: bytes) -> None:
    changed.pop("kind", None)
    read = read_report(junk + b"\n" + lines(told(**changed)))
    for value in read.values:
        value.model_dump_json().encode("utf-8")
        assert type(value).model_validate_json(value.model_dump_json()) == value
