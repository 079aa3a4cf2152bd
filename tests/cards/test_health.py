"""Faults are found in the answer of a check and in the counters of the driver."""

from __future__ import annotations

import json

import pytest

from worker.cards.health import Answer, answers_key, fault_of_driver, faults, read_answer
from worker.contract import CardReading, Gpu

GPU = Gpu(index=3, model="NVIDIA H200", memory_bytes=1 << 37, capability="9.0", driver="580.159.04")
BUILD = ["2.11.0+cu130", "13.0", "91002"]
GOOD = Answer(wrong=[], varies=[], digests={"0": {"exp": "0" * 16, "sin": "1" * 16}}, build=BUILD)
KNOWN = {answers_key(GPU, BUILD): {"exp": "0" * 16, "sin": "1" * 16}}


def test_a_right_answer() -> None:
    assert faults(GOOD, [GPU], KNOWN) == []
    # Without known answers for a model or a build, only the exact part is compared.
    assert faults(GOOD, [GPU], {}) == []
    assert (
        faults(
            GOOD,
            [GPU.model_copy(update={"model": "NVIDIA L4"})],
            {answers_key(GPU, BUILD): {"exp": "f" * 16}},
        )
        == []
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"wrong": ["0: product float16"]}, "0: product float16 is wrong"),
        ({"varies": ["0: softmax"]}, "0: softmax varies"),
        ({"digests": {"0": {"exp": "0" * 16, "sin": "2" * 16}}}, "sin is not what this model gives"),
        ({"digests": {"0": {"exp": "0" * 16}}}, "sin is not what this model gives"),
        ({"digests": {}}, "0 of 1 cards could be used"),
    ],
)
def test_a_wrong_answer(change: dict[str, object], words: str) -> None:
    assert words in faults(GOOD.model_copy(update=change), [GPU], KNOWN)[0]


def test_two_cards_of_one_model_answer_alike() -> None:
    two = GOOD.model_copy(
        update={"digests": {"0": GOOD.digests["0"], "1": {"exp": "a" * 16, "sin": "1" * 16}}}
    )
    assert faults(two, [GPU, GPU], KNOWN) == ["card 1: exp is not what this model gives"]


@pytest.mark.parametrize(
    "printed", [b"", b"{}", b"[]", b"\xff", b'{"wrong": ["<b>"], "varies": [], "digests": {}, "build": []}']
)
def test_no_answer(printed: bytes) -> None:
    assert read_answer(printed) is None


def test_an_answer_is_read() -> None:
    assert read_answer(json.dumps(GOOD.model_dump()).encode() + b"\n") == GOOD


BEFORE = CardReading(index=3, ecc_uncorrected=2, xids=[79])


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ({"ecc_uncorrected": 3}, "1 memory error"),
        ({"xids": [79, 94]}, "fault 94"),
        ({"remapping_failed": True}, "could not be replaced"),
    ],
)
def test_faults_that_the_driver_counts(now: dict[str, object], words: str) -> None:
    assert words in (fault_of_driver(BEFORE, BEFORE.model_copy(update=now)) or "")


@pytest.mark.parametrize(
    "now", [{}, {"temperature": 90}, {"ecc_corrected": 40}, {"xids": [79, 31]}, {"xids": [79, 13, 43]}]
)
def test_what_is_no_fault_of_the_card(now: dict[str, object]) -> None:
    """The driver also reports faults of programs, such as a read past the end of their memory."""
    assert fault_of_driver(BEFORE, BEFORE.model_copy(update=now)) is None
