"""Text that may be stored."""

from __future__ import annotations

import json

from worker.contract.text import storable_text


def test_nul_and_halves_of_surrogate_pairs_are_replaced() -> None:
    assert storable_text("a\x00b\ud800\udc00c") == "a\ufffdb\ufffd\ufffdc"
    assert storable_text("é\x01\U0001f600\n") == "é\x01\U0001f600\n"
    json.dumps(storable_text("\udfff"), ensure_ascii=False).encode()
