"""The missing cell between two targets that differ in more than one axis."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.targets.parse import parse_target
from app.targets.target import Target
from app.targets.versions.confounding import axes_between, missing_cell, missing_cells


@pytest.mark.parametrize(
    ("baseline", "candidate", "missing"),
    [
        ("cpu@torch-2.13-cpu", "cpu@torch-2.13-cpu", None),
        ("cpu@torch-2.12-cpu", "cpu@torch-2.13-cpu", None),
        ("cpu@torch-2.13", "cuda@torch-2.13", None),
        ("cpu", "cpu:threads=1", None),
        ("cpu@torch-2.12-cpu", "cpu@torch-2.13-cpu:threads=1", "cpu@torch-2.13-cpu"),
        ("cpu@torch-2.13:threads=1", "cpu@torch-2.12", "cpu@torch-2.12:threads=1"),
        # A build with CUDA runs on the CPU; a build for the CPU alone would not run on a card.
        ("cpu@torch-2.12-cpu", "cuda@torch-2.13-cu130", "cpu@torch-2.13-cu130"),
        ("cuda@torch-2.13-cu130", "cpu@torch-2.12-cpu", "cpu@torch-2.13-cu130"),
        ("cpu:threads=1", "cpu:seed=3", "cpu:seed=3,threads=1"),
        ("cuda/sm80@a:tf32=off", "cuda/sm90@a", "cuda/sm90@a:tf32=off"),
    ],
)
def test_the_missing_cell(baseline: str, candidate: str, missing: str | None) -> None:
    found = missing_cell(parse_target(baseline), parse_target(candidate))
    assert found == (None if missing is None else parse_target(missing))


TARGETS = st.builds(
    lambda device, toolchain, settings: parse_target(
        f"{device}{toolchain}" + (f":{','.join(settings)}" if settings else "")
    ),
    st.sampled_from(["cpu", "cuda", "cuda*2", "cuda/sm90"]),
    st.sampled_from(["", "@torch-2.12", "@torch-2.13"]),
    st.lists(
        st.sampled_from(["threads=1", "threads=2", "deterministic", "seed=1"]),
        unique_by=lambda word: word.split("=")[0],
    ),
)


@given(TARGETS, TARGETS)
def test_each_step_from_one_to_the_other_changes_one_axis(baseline: Target, candidate: Target) -> None:
    steps = [baseline, *missing_cells(baseline, candidate), candidate]
    axes = axes_between(baseline, candidate)
    assert len(steps) == max(2, len(axes) + 1)
    assert [axes_between(one, other) for one, other in pairwise(steps)] == [
        (axis,) for axis in axes
    ] or not axes
    assert (missing_cell(baseline, candidate) is None) is (len(axes) < 2)
    assert set(axes) == set(axes_between(candidate, baseline))
