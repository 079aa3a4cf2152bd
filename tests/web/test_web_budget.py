"""The budget of a page: no text takes more bytes than there are, each shows its beginning, and a cut text
says so.
"""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from app.judging.comparison.text_diff import Piece
from app.web.text import short_texts, text_budget

TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("\x1b[31m\u202e<>&\"'\n")), max_size=400)


@given(TEXTS, st.integers(0, 300))
@example("\x1b[31mx" * 50, 100)
def test_what_fits_is_no_heavier(text: str, most: int) -> None:
    count, heavy = text_budget.fit(text, most)
    assert heavy == (text_budget.weight(text[:count]) if count else 0)
    assert heavy <= most
    assert count == len(text) or text_budget.weight(text) > most or count == most


@given(st.lists(TEXTS, max_size=12), st.integers(0, 2_000))
def test_a_page_takes_no_more_than_it_has_and_the_first_words_of_each(texts: list[str], size: int) -> None:
    with text_budget.page_budget(size) as page:
        shown = [text_budget.clip(text) for text in texts]
        blocks = [text_budget.ends(text) for text in texts]
        assert page.left >= 0
    heavy = sum(text_budget.weight(text) for text in shown) + sum(
        text_budget.weight(cut.text) + text_budget.weight(cut.tail) for cut in blocks
    )
    # The sign of what is cut weighs three bytes, and a text of which only the first words fit has them in
    # any case.
    assert heavy <= size + len(texts) * (text_budget.LEAST_LINE + 3 + text_budget.LEAST_BLOCK)
    for text, said, cut in zip(texts, shown, blocks, strict=True):
        assert said == short_texts.clip(text) or said.endswith("…")
        assert cut.left_out + len(cut.text) + len(cut.tail) == len(text)


def test_without_a_page_only_the_own_limit_counts() -> None:
    assert text_budget.clip("x" * 700) == "x" * 700
    assert text_budget.head("x\n" * 100, lines=3).more_lines == 97
    assert text_budget.one_line("a " * 300).endswith("…")


def test_marks_are_kept_as_far_as_there_is_room() -> None:
    line = [Piece(text="same "), Piece(text="<b>", differs=True), Piece(text=" end")]
    assert text_budget.mark_differences(line) == "same <mark>&lt;b&gt;</mark> end"
    with text_budget.page_budget(0):
        cut = str(
            text_budget.mark_differences([Piece(text="ab", differs=number % 2 == 0) for number in range(200)])
        )
    assert cut.startswith("<mark>ab</mark>ab<mark>ab</mark>")
    assert cut.endswith("…")
    assert len(cut) < 200
