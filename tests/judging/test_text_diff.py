"""Two texts side by side."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judging.comparison.alignment import unequal_blocks
from app.judging.comparison.text_diff import MOST_CHARACTERS, MOST_ROWS, Piece, Row, Text, TextDiff, text_diff


def said(one: str, other: str) -> TextDiff:
    return text_diff(Text(one), Text(other))


def marked(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces if piece.differs]


def whole(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def differing(diff: TextDiff) -> list[Row]:
    return [row for row in diff.rows if not row.same]


def test_the_numbers_that_differ_are_marked_with_their_distance() -> None:
    made = said("epoch 1\nloss 0.5000, acc 0.25\n", "epoch 1\nloss 0.5, acc 0.75\n")
    assert (made.result, made.first_baseline, made.first_candidate, made.differing_lines) == (
        "different",
        2,
        2,
        1,
    )
    [same, row] = made.rows
    assert (same.same, whole(same.baseline)) == (True, "epoch 1")
    assert (marked(row.baseline), marked(row.candidate)) == (["0.25"], ["0.75"])
    [number] = row.numbers
    assert (number.absolute, number.relative) == (0.5, 2.0)


def test_words_are_marked_from_where_they_differ() -> None:
    [row] = differing(said("device cpu ok\n", "device cuda ok\n"))
    assert (marked(row.baseline), marked(row.candidate)) == (["pu"], ["uda"])
    assert row.numbers == []


def test_a_line_more_moves_nothing() -> None:
    made = said("a\nb\nc\nloss 1.5\n", "a\nnew\nb\nc\nloss 2.5\n")
    assert [(row.baseline_line, row.candidate_line) for row in differing(made)] == [(None, 2), (4, 5)]
    assert (made.first_baseline, made.first_candidate) == (4, 2)


def test_lines_with_the_same_words_stand_beside_each_other() -> None:
    made = said("loss 0.5\n", "warning: slow\nloss 0.25\n")
    assert [(row.baseline_line, row.candidate_line) for row in differing(made)] == [(None, 1), (1, 2)]


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        ("a\n", "a\n", "identical"),
        ("0.50\n", "0.5\n", "equivalent"),
        ("a\nb\n", "b\na\n", "equivalent"),
        ("took 1.5 s\n", "took 2.5 s\n", "equivalent"),
        ("a\n", "a\n\n", "equivalent"),
        ("a\n", "", "different"),
        ("1 " * 11_000 + "2", "1 " * 11_000 + "3", "different"),
    ],
)
def test_results(one: str, other: str, result: str) -> None:
    assert said(one, other).result == result


def test_what_was_cut_is_not_known() -> None:
    assert text_diff(Text("a\n", "x", cut=True), Text("a\n", "y", cut=True)).result == "unknown"
    assert text_diff(Text("a\n", "x", cut=True), Text("b\n", "y", cut=True)).note


def test_of_long_lines_the_part_that_differs_is_shown() -> None:
    [row] = differing(said("1.5 " * 500 + "7 end", "1.5 " * 500 + "8 end"))
    assert (marked(row.baseline), marked(row.candidate)) == (["7"], ["8"])
    assert whole(row.baseline).startswith("…1.5 ")
    assert len(whole(row.baseline)) <= MOST_CHARACTERS + 2


def test_many_differences_are_counted_and_few_are_shown() -> None:
    made = said(
        "".join(f"x{number}\n" for number in range(5000)), "".join(f"y{number}\n" for number in range(5000))
    )
    assert (made.differing_lines, len(differing(made)), made.rows_omitted) == (
        5000,
        MOST_ROWS,
        5000 - MOST_ROWS,
    )


HARD = {
    "one character a line": ("0\n" * 131_072, "1\n0\n" * 65_536),
    "two in turn": ("a\nb\n" * 65_536, "a\na\nb\n" * 43_690),
    "a rhythm": (
        "".join(f"{n % 97}\n" for n in range(60_000)),
        "".join(f"{n % 89}\n" for n in range(60_000)),
    ),
    "one long line": ("1 " * 131_072, "1 " * 131_071 + "2 "),
    "all blank": ("\n" * 262_144, "\n" * 200_000 + "a"),
    "as hard as it gets": ("a\nb\n" * 150, "".join("ab"[(n // 2) % 2] + "\n" for n in range(299)) + "c\n"),
}


@pytest.mark.parametrize("name", HARD)
def test_no_text_takes_long(name: str) -> None:
    one, other = HARD[name]
    start = time.process_time()
    assert said(one, other).result == "different"
    assert time.process_time() - start < 10


LINES = st.lists(
    st.sampled_from(["a", "b", "loss 1.5", "loss 2.5", "", "x 1 2", "1e400", "nan"]), max_size=12
).map("\n".join)


@given(LINES, LINES)
def test_it_is_total_and_symmetric(one: str, other: str) -> None:
    there, back = said(one, other), said(other, one)
    assert there.result == back.result
    assert (there.result == "different") == bool(there.differing_lines)
    for row in differing(there):
        assert row.baseline_line is not None or row.candidate_line is not None
        for number, pieces, text in (
            (row.baseline_line, row.baseline, one),
            (row.candidate_line, row.candidate, other),
        ):
            assert whole(pieces) == ("" if number is None else text.splitlines()[number - 1])


@given(st.lists(st.integers(0, 3), max_size=30), st.lists(st.integers(0, 3), max_size=30))
def test_outside_of_the_blocks_all_is_equal(one: list[int], other: list[int]) -> None:
    rest, rest_other, at, there = [], [], 0, 0
    for i, until_i, j, until_j in unequal_blocks(one, other):
        assert (at, there) <= (i, j)
        rest += one[at:i]
        rest_other += other[there:j]
        at, there = until_i, until_j
    assert rest + one[at:] == rest_other + other[there:]
