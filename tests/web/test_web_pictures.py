"""Pictures are pure: data in, SVG out. They say the same in words, and no text in them is mark-up."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.pictures.drawing import shape_of
from app.web.pictures.heat_map import MOST_MARKS, heat_map_of, heat_map_picture
from app.web.pictures.marks import Mark, Shape, Strip, legend, strip_words
from app.web.pictures.rates import has_rates, rates_picture, rates_words
from app.web.pictures.strip import WIDTH, TextLine, strip_picture, strips_file

EVIL = '</text><script>alert(1)</script>" onload=\'x\' class="ks" & ]]> \u202e'
SVG = "{http://www.w3.org/2000/svg}"


def mark(version: str, shape: Shape, matched: int | None = None, of: int | None = None) -> Mark:
    return Mark(
        version=version,
        shape=shape,
        words=f"numpy {version}: {shape}",
        href=f"/jobs/{version}",
        matched=matched,
        of=of,
    )


def strip(*marks: Mark, label: str = "cpu", hardware: str = "AMD EPYC") -> Strip:
    return Strip(label=label, hardware=hardware, marks=marks)


REGRESSED = strip(
    mark("2.2.6", Shape.EMPTY, 0, 5), mark("2.3.5", Shape.EMPTY, 0, 5), mark("2.4.0", Shape.FULL, 3, 3)
)
WITH_GAP = strip(
    mark("2.1", Shape.FULL, 3, 3),
    mark("2.2", Shape.UNTRIED),
    mark("2.3", Shape.HATCHED),
    mark("2.4", Shape.EMPTY, 0, 5),
)
FLAKY = strip(*(mark(f"2.{at}", Shape.PART, met, 20) for at, met in enumerate((8, 4, 9, 6, 4, 6))))


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - ours


def test_where_it_flips_is_a_line_and_a_sentence_with_the_counts() -> None:
    [flip] = REGRESSED.flips
    assert (flip.older, flip.newer, flip.happens_now) == (1, 2, True)
    assert strip_words(REGRESSED) == "It does not happen in 2.3.5 (0 of 5), and happens in 2.4.0 (3 of 3)."
    root = parsed(strip_picture(REGRESSED))
    assert len(root.findall("line")) == 1
    assert {each.text for each in root.findall("text")} >= {"2.4.0", "0/5", "3/3"}
    assert [each.get("href") for each in root.findall("a")] == ["/jobs/2.2.6", "/jobs/2.3.5", "/jobs/2.4.0"]
    assert root.findall("a")[2].findtext("title") == "numpy 2.4.0: full"


@pytest.mark.parametrize("marks", [2, 3, 5, 7])
def test_both_versions_and_counts_at_a_flip_are_named_and_apart(marks: int) -> None:
    older = [mark(f"1.26.{at}", Shape.EMPTY, 0, 5) for at in range(marks - 1)]
    root = parsed(strip_picture(strip(*older, mark("2.0.2", Shape.FULL, 3, 3))))
    texts = {each.text for each in root.findall("text")}
    assert {f"1.26.{marks - 2}", "2.0.2", "0/5", "3/3"} <= texts
    [line] = root.findall("line")
    for each in root.findall("text"):
        wide = len(each.text or "") * 6.3
        anchor = each.get("text-anchor", "start")
        start = float(each.get("x", "")) - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        assert not start - 2 < float(line.get("x1", "")) < start + wide + 2, each.text


def test_versions_that_are_not_known_are_a_band_and_no_line() -> None:
    root = parsed(strip_picture(WITH_GAP))
    assert root.findall("line") == []
    assert len([each for each in root.findall("rect") if each.get("class") == "kn"]) == 1
    assert strip_words(WITH_GAP) == (
        "It happens in 2.1 (3 of 3), and not in 2.4 (0 of 5). Not known for the 2 between."
    )


def test_a_strip_without_a_flip_says_what_it_shows() -> None:
    assert strip_words(strip(mark("2.1", Shape.FULL, 3, 3))) == "It happens in 2.1 (3 of 3)."
    none = strip(mark("2.1", Shape.EMPTY, 0, 3), mark("2.2", Shape.EMPTY, 0, 5))
    assert strip_words(none) == "It does not happen in each of 2 versions. The newest is 2.2 (0 of 5)."
    assert strip_words(strip(mark("2.1", Shape.HATCHED))) == "No version gave an answer about the claim."
    to_and_fro = strip(*(mark(f"2.{at}", Shape.FULL if at % 2 else Shape.EMPTY) for at in range(4)))
    assert strip_words(to_and_fro).startswith("The result changes 3 times, here is the last: ")


def test_versions_without_an_answer_are_not_counted_in_silence() -> None:
    words = strip_words(
        strip(mark("2.1", Shape.HATCHED), mark("2.2", Shape.FULL, 3, 3), mark("2.3", Shape.FULL, 3, 3))
    )
    assert words == "It happens in each of 2 versions that gave an answer. The newest is 2.3 (3 of 3)."


def test_each_shape_differs_without_colour() -> None:
    outlines = {kind: re.sub(r' class="k[a-z]0?"', "", shape_of(kind, 0.5, 9, 9, 6)) for kind in Shape}
    # A full circle and a ring have one outline: one is filled with ink, the other with the ground.
    assert outlines.pop(Shape.FULL) == outlines[Shape.EMPTY]
    assert len(set(outlines.values())) == len(outlines)
    assert legend([Shape.FULL, Shape.UNTRIED]) == "● in each attempt, · not tried"


def test_no_text_of_a_machine_is_markup() -> None:
    evil = strip(mark("2.1", Shape.FULL, 1, 1), mark(EVIL, Shape.EMPTY, 0, 1), label=EVIL, hardware=EVIL)
    for svg in (
        strip_picture(evil),
        rates_picture(evil),
        heat_map_picture(heat_map_of([evil], ["2.1", EVIL])),
    ):
        assert "<script" not in svg
        assert parsed(svg).findall(".//script") == []
    root = parsed(strips_file(EVIL, [evil], package=EVIL))
    assert root.findall(f".//{SVG}script") == []
    assert root.findtext(f"{SVG}title") == EVIL
    assert all(name != "onload" for each in root.iter() for name in each.keys())  # noqa: SIM118


@given(
    st.lists(
        st.tuples(
            st.floats(-50, WIDTH + 50),
            st.text("2.40/", max_size=9),
            st.sampled_from(("start", "middle", "end")),
        ),
        max_size=24,
    )
)
def test_no_text_of_a_strip_lies_over_another_or_outside(texts: list[tuple[float, str, str]]) -> None:
    line = TextLine(10, 12)
    for x, text, anchor in texts:
        line.write(x, text, anchor)
    placed = sorted(line.taken)
    assert all(left_end <= start for (_, left_end), (start, _) in pairwise(placed))
    assert all(start >= 10 and end <= 10 + WIDTH + 0.01 for start, end in placed)


def test_a_file_has_its_colours_for_light_and_dark_and_no_link() -> None:
    svg = strips_file("It happens.", [REGRESSED] * 6, package="numpy")
    root = parsed(svg)
    assert root.findall(f".//{SVG}a") == []
    assert "prefers-color-scheme:dark" in svg
    assert all(each.get("fill") for each in root.iter(f"{SVG}circle"))
    assert "and 2 more" in "".join(root.itertext())
    assert len(svg) < 12_000


def test_machines_with_equal_results_share_a_row_of_the_heat_map() -> None:
    strips = [
        strip(mark("2.1", Shape.FULL), mark("2.2", Shape.FULL), label=f"cpu:threads={at}") for at in range(37)
    ]
    odd = strip(mark("2.1", Shape.FULL), mark("2.2", Shape.OTHER), label="cuda")
    heat_map = heat_map_of([*strips, odd], ["2.1", "2.2"])
    assert [(row.name, row.times) for row in heat_map.rows] == [
        ("cpu:threads=0 and 36 more", 37),
        ("cuda", 1),
    ]
    root = parsed(heat_map_picture(heat_map))
    assert root.findall("a")[0].findtext("title") == "numpy 2.1: full; 36 more targets alike"
    assert root.get("aria-label") == "Results of 38 targets in 2 versions"


def test_400_marks_are_on_one_screen_and_light() -> None:
    shapes = [Shape.FULL, Shape.PART, Shape.EMPTY, Shape.OTHER, Shape.HATCHED]
    versions = [f"2.{at}" for at in range(20)]
    strips = [
        strip(
            *(
                mark(version, shapes[(row * 7 + at * (row + 1)) % 5 if at != row else 0])
                for at, version in enumerate(versions)
            ),
            label=f"cpu:threads={row}",
        )
        for row in range(20)
    ]
    svg = heat_map_picture(heat_map_of(strips, versions))
    root = parsed(svg)
    assert float(root.get("height", "0")) < 400
    assert float(root.get("width", "0")) < 700
    assert len(svg) < 52_000
    narrow = heat_map_of(
        [
            strip(
                mark("2.1", shapes[at % 5]),
                mark("2.2", shapes[at // 5 % 5]),
                mark("2.3", shapes[at // 25]),
                label=str(at),
            )
            for at in range(125)
        ],
        ["2.1", "2.2", "2.3"],
    )
    root = parsed(heat_map_picture(narrow))
    assert float(root.get("height", "0")) < 400
    assert len(root.findall("a")) == 375 <= MOST_MARKS


def test_more_marks_than_a_page_bears_are_counted() -> None:
    versions = [f"2.{at}" for at in range(10)]
    strips = [
        strip(
            *(
                mark(version, Shape.FULL if row >> at & 1 else Shape.EMPTY)
                for at, version in enumerate(versions)
            )
        )
        for row in range(64)
    ]
    heat_map = heat_map_of(strips, versions)
    assert (len(heat_map.rows), heat_map.more) == (40, 24)


def test_rates_are_added_only_if_a_test_finds_no_difference() -> None:
    assert has_rates(FLAKY)
    assert not has_rates(REGRESSED)
    words = rates_words(FLAKY)
    assert words.startswith("No difference between the 6 versions is seen (exact chi-square test, p = 0.")
    assert words.endswith("Together it happened in 37 of 120 attempts, 31 % (18 to 46 %).")
    differing = strip(mark("2.1", Shape.PART, 2, 20), mark("2.2", Shape.PART, 17, 20))
    assert rates_words(differing).startswith(
        "The rate is not the same in all 2 versions (exact chi-square test, p ="
    )
    assert "Together" not in rates_words(differing)
    assert rates_words(strip(mark("2.1", Shape.PART, 2, 20))) == ""


def test_each_rate_is_a_dot_with_its_whisker_and_words() -> None:
    root = parsed(rates_picture(FLAKY))
    assert len(root.findall("circle")) == 6
    assert len([each for each in root.findall("path") if each.get("class") == "kw"]) == 6
    assert "2.0 8 of 20, 12 to 74 %" in root.get("aria-label", "")
    assert {"0 %", "50 %", "100 %", "8 of 20"} <= {each.text for each in root.findall("text")}
