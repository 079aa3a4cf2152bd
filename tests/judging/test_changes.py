"""Changes between two cells: environments equal but for one version; no chance rates, no mere rewording."""

from __future__ import annotations

import pytest

from app.judging.judgement import Verdict
from app.judging.report.change import ChangeKind, Side, change_of
from worker.contract import Environment

R, F, N, D = Verdict.REPRODUCED, Verdict.FLAKY, Verdict.NOT_REPRODUCED, Verdict.DIFFERENT
OLD: Environment = {"cpu.model": "x", "package.numpy": "1.26.4", "python.version": "3.12.1", "blas.path": "a"}
NEW: Environment = {**OLD, "package.numpy": "2.4.0", "blas.path": "b"}


def side(
    verdict: Verdict,
    environment: Environment,
    *,
    matched: int | None = None,
    of: int = 5,
    label: str = "cpu@t",
) -> Side:
    seen = {R: of, F: 2}.get(verdict, 0)
    return Side(
        verdict=verdict,
        matched=seen if matched is None else matched,
        of=of,
        environment=environment,
        label=label,
    )


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (N, R, ChangeKind.REGRESSED),
        (R, N, ChangeKind.FIXED),
        (R, D, ChangeKind.OTHER),
        (D, R, ChangeKind.OTHER),
        (D, N, ChangeKind.OTHER),
        (R, F, None),
        (F, R, None),
        (N, N, None),
        (D, D, None),
        (R, Verdict.CANNOT_SHOW, None),
        (Verdict.NO_RESULT, R, None),
    ],
)
def test_the_kind(before: Verdict, after: Verdict, kind: ChangeKind | None) -> None:
    change = change_of(side(before, OLD), side(after, NEW), imported={"numpy"})
    assert (None if change is None else change.kind) == kind
    if change is not None:
        assert change.difference.versions == (("numpy", ("1.26.4", "2.4.0")),)
        assert change.missing == ""


def test_more_than_one_version_is_confounded_and_the_missing_cell_is_named() -> None:
    change = change_of(side(N, OLD), side(R, {**NEW, "python.version": "3.13.0"}), imported=set())
    assert change is not None
    assert change.kind is ChangeKind.CONFOUNDED
    assert set(change.difference.confounders) == {"package.numpy", "python.version"}
    assert change.missing == "numpy 1.26.4 with Python 3.13.0"


def test_another_machine_confounds_and_the_missing_cell_is_the_old_version_there() -> None:
    change = change_of(
        side(N, OLD, label="cpu@old"), side(R, {**NEW, "cpu.model": "y"}, label="cpu@new"), imported=set()
    )
    assert change is not None
    assert (change.kind, change.difference.confounders) == (ChangeKind.CONFOUNDED, ("cpu.model",))
    assert change.missing == "numpy 1.26.4, where cpu@new ran"
    same = change_of(
        side(N, OLD, label="cpu@old"), side(R, {**OLD, "cpu.model": "y"}, label="cpu@old"), imported=set()
    )
    assert same is not None
    assert (same.kind, same.missing) == (ChangeKind.CONFOUNDED, "cpu@old where cpu@old ran")


def test_where_nothing_differs_nobody_has_shown_a_regression() -> None:
    change = change_of(side(N, OLD), side(R, OLD), imported={"numpy"})
    assert change is not None
    assert (change.kind, change.difference.axis) == (ChangeKind.OTHER, None)


@pytest.mark.parametrize(
    ("matched", "of", "kind"),
    [(1, 5, ChangeKind.OTHER), (4, 5, ChangeKind.FIXED), (20, 60, ChangeKind.OTHER)],
)
def test_a_rate_that_chance_alone_brings_to_zero_is_not_fixed(
    matched: int, of: int, kind: ChangeKind
) -> None:
    change = change_of(side(F, OLD, matched=matched, of=of), side(N, NEW, of=5), imported={"numpy"})
    assert change is not None
    assert change.kind is kind
    back = change_of(side(N, OLD, of=5), side(F, NEW, matched=matched, of=of), imported={"numpy"})
    assert back is not None
    assert back.kind is {ChangeKind.FIXED: ChangeKind.REGRESSED}.get(kind, kind)


def test_a_cpu_build_and_a_cuda_build_are_two_things() -> None:
    before: Environment = {"torch.version": "2.12.0+cpu", "torch.cuda_build": None}
    change = change_of(
        side(N, before),
        side(R, {"torch.version": "2.13.0+cu130", "torch.cuda_build": "13.0"}),
        imported=set(),
    )
    assert change is not None
    assert change.difference.confounders == ("torch.cuda_build",)
    one = change_of(
        side(N, {"torch.version": "2.12.0+cu128", "torch.cuda_build": "12.8"}),
        side(R, {"torch.version": "2.13.0+cu130", "torch.cuda_build": "13.0"}),
        imported=set(),
    )
    assert one is not None
    assert one.kind is ChangeKind.REGRESSED
