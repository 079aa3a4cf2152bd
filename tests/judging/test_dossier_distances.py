"""How far two executions are apart, by samples of their operations' results, and the picture of it."""

from __future__ import annotations

import base64
import math
import re
import struct
from xml.etree import ElementTree as ET

import pytest

from app.judging.dossier.build import build_dossier
from app.judging.dossier.distances import curve_of, growth_in, relative_distance, ulps_between
from app.judging.dossier.document import Distance, DossierCell
from app.web.pictures.number import staircase
from worker.contract.trace import Trace

KIND = "aten::mm(float32 2x2, float32 2x2)"


def sample(*elements: float, total: float = 1.0, size: float = 1.0) -> str:
    values = [*elements, *[0.0] * (6 - len(elements)), total, size]
    return base64.b64encode(struct.pack("<8d", *values)).decode()


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        (sample(1.0), sample(1.0), None),
        (sample(1.0), sample(1.25), 0.2),
        (sample(1e-30, 4.0), sample(2e-30, 4.0), 2.5e-31),
        # Another element differs: only the sums show it.
        (sample(1.0, total=10.0, size=16.0), sample(1.0, total=12.0, size=16.0), 0.125),
        (sample(1.0), sample(math.nan), math.inf),
        (sample(math.nan), sample(math.nan), None),
        (sample(1.0), "", None),
        (sample(1.0), "not base64!", None),
    ],
)
def test_a_distance_is_that_of_elements_or_of_sums(one: str, other: str, distance: float | None) -> None:
    assert relative_distance(one, other) == (None if distance is None else pytest.approx(distance))


@pytest.mark.parametrize(
    ("kind", "other", "ulps"),
    [
        (KIND, 1.0 + 2.0**-22, 2.0),
        ("aten::sum(float16)", 1.0 + 2.0**-9, 2.0),
        ("aten::add(bfloat16 4, bfloat16 4)", 1.0 + 2.0**-6, 2.0),
        (KIND, 1.0, None),
        (KIND, math.inf, None),
    ],
)
def test_the_first_distance_is_in_units_of_its_type(kind: str, other: float, ulps: float | None) -> None:
    assert ulps_between(kind, sample(1.0), sample(other)) == ulps


def points(*distances: float) -> list[Distance]:
    return [Distance(number=at, operation=KIND, distance=each) for at, each in enumerate(distances, 1)]


def test_the_step_that_grows_the_distance_most_is_found() -> None:
    best, factor = growth_in(points(1e-8, 2e-8, 1e-9, 1e-4, 3e-4))
    assert best is not None
    assert (best.number, factor) == (4, pytest.approx(5000))
    assert growth_in(points(1e-8, 3e-8, 2e-8)) == (None, None)


def test_a_long_curve_keeps_the_largest_of_neighbours() -> None:
    rows = [(at, KIND, sample(1.0), sample(2.0 if at == 777 else 1.0 + at * 1e-9)) for at in range(1, 1001)]
    curve = curve_of(rows)
    assert len(curve) == 200
    assert max(curve, key=lambda point: point.distance).number == 777


def cell(label: str, *outputs: float) -> DossierCell:
    steps = [f"{at}:0:{'a' * 8}:{abs(hash(value)) % 10**8:08d}" for at, value in enumerate(outputs, 1)]
    trace = Trace.model_validate(
        {
            "operations_seen": 9, "pairs": 0, "asked": 9, "answered": 9, "whole": True, "kinds": [KIND],
            "steps": steps, "samples": [sample(each) for each in outputs],
        }
    )  # fmt: skip
    return DossierCell(label=label, attempts=1, outputs=1, trace=trace)


def test_two_executions_have_a_first_distance_in_ulp_and_a_staircase() -> None:
    left, right = cell("cpu", 1.0, 1.0, 1.0), cell("cuda", 1.0 + 2.0**-23, 1.0 + 2.0**-22, 1.5)
    dossier = build_dossier([left, right])
    (part,) = dossier.divergences
    assert (part.ulps, part.grows_by) == (1.0, pytest.approx(1.4e6, rel=0.01))
    facts = next(question.facts for question in dossier.questions if question.letter == "C")
    assert "on equal inputs and 1 ULP apart" in facts[0]
    assert facts[1].startswith("cpu against cuda: operation 3, ")
    picture = staircase(part)
    ET.fromstring(picture)  # noqa: S314  # our own text
    heights = [float(y) for y in re.findall(r'cy="([0-9.]+)" r="2"', picture)]
    assert heights == sorted(heights, reverse=True)
    assert len(heights) == 3
    assert picture.count('r="6"') == 1
    assert "<script" not in picture
    assert staircase(part.model_copy(update={"curve": part.curve[:1]})) == ""


def test_older_traces_without_samples_have_no_curve() -> None:
    left, right = cell("cpu", 1.0, 2.0), cell("cuda", 1.0, 3.0)
    bare = [
        DossierCell(label=each.label, trace=each.trace.model_copy(update={"samples": []}))
        for each in (left, right)
        if each.trace is not None
    ]
    (part,) = build_dossier(bare).divergences
    assert (part.differing, part.ulps, part.curve, part.grows) == (1, None, [], None)
