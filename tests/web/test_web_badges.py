"""The marks in the rows of lists: words of two kinds that are spelt alike, tones, and times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from app.intake.claim.claims import Role
from app.judging.judgement import CheckResult, ComparisonResult, Verdict
from app.judging.report.attention import Attention
from app.visible_text import visible
from app.web.text.badges import badge, check_badge, day, listed_tone, moment
from app.web.text.labels import look
from app.web.text.short_texts import with_code
from app.web.text.text_budget import weight


def test_words_of_two_kinds_that_are_spelt_alike_have_their_own_badges() -> None:
    assert str(Verdict.DIFFERENT) == str(ComparisonResult.DIFFERENT)
    first, second = badge(Verdict.DIFFERENT), badge(ComparisonResult.DIFFERENT)
    assert look(Verdict.DIFFERENT).sentence in first
    assert look(ComparisonResult.DIFFERENT).sentence in second
    assert badge(Verdict.DIFFERENT) == first


def test_a_plain_badge_has_no_title_and_a_tone_replaces_that_of_the_word() -> None:
    assert badge(Verdict.FLAKY, True) == (
        '<span class="cell seen"><span aria-hidden="true">◐</span> flaky</span>'
    )
    assert badge(Verdict.FLAKY, plain=True, tone="cant").startswith('<span class="cell cant">')
    assert " title=" in badge(Verdict.FLAKY)


def test_an_expected_result_that_is_seen_is_good_news() -> None:
    assert 'class="cell seen"' in check_badge(CheckResult.MET, Role.BUG)
    good = check_badge(CheckResult.MET, Role.EXPECTED)
    assert 'class="cell gone"' in good
    assert "as expected" in good
    # That it did not happen is good news about a bug only.
    assert 'class="cell gone"' in check_badge(CheckResult.ABSENT, Role.BUG)
    assert 'class="cell part"' in check_badge(CheckResult.ABSENT, Role.EXPECTED)
    assert check_badge(CheckResult.OTHER, Role.EXPECTED) == badge(CheckResult.OTHER)
    # Where the bug was seen, that the expected result was not is no news, and no warning.
    for result in (CheckResult.ABSENT, CheckResult.OTHER):
        quiet = check_badge(result, Role.EXPECTED, bug_seen=True)
        assert ('class="cell cant"' in quiet, "not seen</span>" in quiet) == (True, True)
    assert check_badge(CheckResult.MET, Role.EXPECTED, bug_seen=True) == good
    assert check_badge(CheckResult.OTHER, Role.BUG, bug_seen=True) == badge(CheckResult.OTHER)


@pytest.mark.parametrize(
    ("attention", "verdict", "is_closed", "tone"),
    [
        (None, Verdict.REPRODUCED, True, "cant"),
        (Attention.EXPLAINED, Verdict.REPRODUCED, True, "cant"),
        (Attention.EXPLAINED, Verdict.REPRODUCED, False, "part"),
        (Attention.NEEDS_HUMAN, Verdict.REPRODUCED, False, "part"),
        (Attention.NEEDS_HUMAN, Verdict.NOT_REPRODUCED, False, ""),
        (Attention.STILL_BROKEN, Verdict.REPRODUCED, False, ""),
        (None, None, False, ""),
    ],
)
def test_a_verdict_in_a_list_is_red_only_if_somebody_has_to_mend_something(
    attention: Attention | None,
    verdict: Verdict | None,
    is_closed: bool,  # noqa: FBT001
    tone: str,
) -> None:
    assert listed_tone(attention, verdict, is_closed=is_closed) == tone


def test_times_are_readable_for_people_and_programs() -> None:
    when = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
    assert day(when) == '<time datetime="2026-03-04T05:06:00+00:00">4 Mar 2026</time>'
    assert moment(when) == '<time datetime="2026-03-04T05:06:00+00:00">4 Mar 2026, 05:06 UTC</time>'
    assert day(None) == moment(None) == ""


@given(st.text(st.characters(max_codepoint=0x2FFF, exclude_categories=["Cs"])))
def test_the_weight_of_a_text_is_that_of_its_html(text: str) -> None:
    text = text.replace("\x1b", "")
    assert weight(text) == len(escape(visible(text)).encode())


@pytest.mark.parametrize("title", ["a < b", "a `b < c` d", "``", "no code"])
def test_a_title_is_escaped_with_code_and_without(title: str) -> None:
    html = with_code(title)
    assert " < " not in html
    assert ("<code>" in html) is (title == "a `b < c` d")
