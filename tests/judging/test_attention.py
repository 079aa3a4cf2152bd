"""The attention group of a report, and the order of versions."""

from __future__ import annotations

import pytest

from app.judging.judgement import Scope, Verdict
from app.judging.report.attention import Attention, VersionRow, attention_of, attention_of_overruling
from app.judging.report.axis import age_of, differs_by
from app.judging.report.owner import Owner

R, F, N, D = Verdict.REPRODUCED, Verdict.FLAKY, Verdict.NOT_REPRODUCED, Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("verdict", "scope", "lines", "group"),
    [
        (None, None, [], None),
        (Verdict.NEEDS_INFO, None, [], Attention.ASK),
        (R, None, [(R,)], Attention.STILL_BROKEN),
        (F, None, [(N, F)], Attention.STILL_BROKEN),
        (R, None, [(R, N), (R,)], Attention.STILL_BROKEN),
        (R, None, [(R, N)], Attention.FIXED),
        (N, Scope.ELSEWHERE, [(R, R, N), (N, N)], Attention.FIXED),
        (N, Scope.ELSEWHERE, [(N, R, N)], Attention.FIXED),
        (D, None, [(R, D)], Attention.NEEDS_HUMAN),
        (R, None, [(R, N), (R, D)], Attention.NEEDS_HUMAN),
        # A claim over a pair of targets: no single cell shows it.
        (R, None, [(N,), (N,)], Attention.STILL_BROKEN),
        (N, Scope.ELSEWHERE, [(N,)], Attention.NOT_AS_REPORTED),
        (N, Scope.AS_REPORTED, [(N,)], Attention.NEEDS_HUMAN),
        (N, None, [(N,)], Attention.NOT_AS_REPORTED),
        (Verdict.CANNOT_SHOW, None, [], Attention.NOT_AS_REPORTED),
        (Verdict.OBSERVED, None, [], Attention.NEEDS_HUMAN),
        (Verdict.NO_RESULT, None, [], Attention.NEEDS_HUMAN),
        (D, None, [(D,), ()], Attention.NEEDS_HUMAN),
    ],
)
def test_the_group(
    verdict: Verdict | None, scope: Scope | None, lines: list[tuple[Verdict, ...]], group: Attention | None
) -> None:
    assert attention_of(verdict, scope, [VersionRow(line) for line in lines]) == group


@pytest.mark.parametrize("owner", Owner)
def test_what_is_explained_without_a_bug_is_not_broken(owner: Owner) -> None:
    nothing_to_mend = owner in {Owner.ANNOUNCED, Owner.ROUNDING, Owner.SCRIPT, Owner.DOCUMENTED}
    group = Attention.EXPLAINED if nothing_to_mend else Attention.STILL_BROKEN
    for verdict, lines in ((R, [VersionRow((R,))]), (F, [VersionRow((N, F))]), (R, [])):
        assert attention_of(verdict, None, lines, owner=owner) is group
    assert attention_of(R, None, [VersionRow((R, N))], owner=owner) is Attention.FIXED
    group = Attention.NEEDS_HUMAN if nothing_to_mend else Attention.STILL_BROKEN
    assert attention_of(D, None, [VersionRow((R,))], owner=owner) is group


def test_what_ran_somewhere_was_tried() -> None:
    assert attention_of(Verdict.CANNOT_SHOW, None, [], ran=True) is Attention.NEEDS_HUMAN
    assert attention_of(N, Scope.ELSEWHERE, [VersionRow((N,))], ran=True) is Attention.NOT_AS_REPORTED


def test_a_maintainers_word_decides_the_group() -> None:
    groups = {verdict: attention_of_overruling(verdict) for verdict in Verdict}
    assert groups[R] is groups[F] is Attention.STILL_BROKEN
    assert groups[N] is None
    assert groups[Verdict.NEEDS_INFO] is Attention.ASK
    assert groups[Verdict.CANNOT_SHOW] is Attention.NOT_AS_REPORTED
    assert groups[D] is Attention.NEEDS_HUMAN


def test_versions_are_ordered_as_versions_and_by_torch_first() -> None:
    found = [
        ({"torch.version": "2.13.0+cpu", "package.numpy": "1.26.4"}, "b"),
        ({"torch.version": "2.9.1+cpu", "package.numpy": "2.4.0"}, "a"),
        ({"torch.version": "2.13.0+cpu", "package.numpy": "2.4.0"}, "c"),
    ]
    assert [name for _, name in sorted(found, key=lambda pair: age_of(*pair))] == ["a", "b", "c"]
    # Without an environment the name is all there is.
    assert age_of({}, "torch-2.9") < age_of({}, "torch-2.13")
    assert age_of({"package.numpy": "not a version"}, "x") < age_of({"package.numpy": "1.0"}, "x")


HOST = {"cpu.model": "x", "os.kernel": "6.1", "python.version": "3.12.1", "python.compiler": "GCC 12"}


def test_one_version_is_an_axis_with_what_comes_along() -> None:
    before = {
        **HOST,
        "torch.version": "2.12.0",
        "package.torch": "2.12.0",
        "package.numpy": "2.4.0",
        "package.pip": "25",
        "torch.git": "a",
    }
    after = {
        **before,
        "torch.version": "2.13.0",
        "package.torch": "2.13.0",
        "package.pip": "26",
        "torch.git": "b",
        "blas.fingerprint": "1",
    }
    found = differs_by(before, after, imported={"torch"})
    assert (found.versions, found.confounders) == ((("torch", ("2.12.0", "2.13.0")),), ())


def test_two_versions_or_another_machine_confound() -> None:
    before = {**HOST, "torch.version": "2.12.0", "package.numpy": "2.3.0"}
    both = differs_by(
        before, {**before, "torch.version": "2.13.0", "package.numpy": "2.4.0"}, imported={"torch"}
    )
    assert both.axis is None
    assert set(both.confounders) == {"torch.version", "package.numpy"}
    machine = differs_by(before, {**before, "torch.version": "2.13.0", "cpu.model": "y"}, imported={"torch"})
    assert (machine.axis, machine.confounders) == ("torch", ("cpu.model",))
    python = differs_by(
        before, {**before, "python.version": "3.13.0", "python.compiler": "GCC 14"}, imported=set()
    )
    assert (python.axis, python.confounders) == ("python", ())


def test_a_package_counts_where_the_script_imports_it() -> None:
    before, after = {**HOST, "package.scipy": "1.1"}, {**HOST, "package.scipy": "1.2"}
    assert differs_by(before, after, imported=set()) == differs_by(before, before, imported=set())
    assert differs_by(before, after, imported={"scipy"}).axis == "scipy"
