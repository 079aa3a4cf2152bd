"""Properties of reading, on random reports. `python -m tests.fuzz` looks for longer."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.intake.claim.claim_text import read_claim
from app.intake.claim.claims import CheckKind, Role

sys.path.insert(0, str(Path(__file__).parents[1]))
from fuzz import PIECES, check_judging, check_reading, corpus, hostile

BOUNDED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PROSE = st.lists(
    st.sampled_from([piece for piece in PIECES if "\n" not in piece]) | st.text(max_size=20), max_size=12
).map("".join)


@BOUNDED
@given(st.integers(min_value=0, max_value=10**6))
def test_a_hostile_report_is_only_text(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - chance, not secrets
    reading = check_reading(hostile(rng, corpus())[:20_000])
    if reading is not None:
        check_judging(reading, rng)


@BOUNDED
@given(PROSE)
def test_any_sentence_gives_checks_that_are_whole(text: str) -> None:
    for check in read_claim(text).checks:
        assert check.text
        assert check.kind is not CheckKind.SLOWER or len(check.sides) == 2
        assert check.kind is not CheckKind.NO_ERROR or check.role is Role.BUG
        # REST and the form refuse half of a surrogate pair, so the JSON needs none.
        assert json.loads(json.dumps(check.model_dump(mode="python")))["kind"] == check.kind.value


@BOUNDED
@given(PROSE)
def test_what_is_read_depends_on_the_text_alone(text: str) -> None:
    assert read_claim(text) == read_claim(text)
