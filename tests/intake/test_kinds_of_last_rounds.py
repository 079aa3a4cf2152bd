"""Kinds of reports that were read wrongly in the rounds on public reports, in other words."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Role
from app.intake.reading import Reading
from app.intake.snippets.repairs import names_with_versions


def script_of(text: str) -> str:
    reading = read(text)
    assert [question.code for question in reading.ask] == []
    return reading.scripts[0].script


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("* Sparkle: 4.9.0", "sparkle"),
        ("(sparkle 4.0.1, Python 3.11.0)", "sparkle"),
        ("sparkle==1.1", "sparkle"),
        ("my-tool version v2.5", "my_tool"),
    ],
)
def test_a_name_with_a_version_is_a_module(line: str, name: str) -> None:
    assert name in names_with_versions(line)
    assert "python" not in names_with_versions(line)


def test_a_module_with_a_version_in_the_report_lacks_only_its_import() -> None:
    report = "Wrong.\n\n```python\nprint(sparkle.shine(3))\n```\n\nprints `4`\n\nsparkle 4.0.1\n"
    assert script_of(report).startswith("import sparkle; print")
    # A value is no module, and neither is a name without a version.
    value = report.replace("sparkle.shine(3)", "sparkle.shine(3) + sparkle")
    assert [question.code for question in read(value).ask] == ["undefined_name"]
    unnamed = report.replace("\nsparkle 4.0.1\n", "\n")
    assert [question.code for question in read(unnamed).ask] == ["undefined_name"]


def test_code_without_a_fence_and_without_imports_stands_below_its_heading() -> None:
    report = (
        "## Issue\n\nIt is wrong.\n\n## Code example\n\ntorch.manual_seed(0)\nt = torch.ones(3)\n\n"
        "print('sum:', t.sum())\n\n## Code output\n\nsum: 4.0\n"
    )
    assert "print('sum:', t.sum())" in script_of(report)
    prose = report.replace("torch.manual_seed(0)\nt = torch.ones(3)\n\nprint('sum:', t.sum())", "See above.")
    assert read(prose).scripts == ()


def test_warnings_below_the_code_in_a_fence_are_its_output() -> None:
    report = (
        "It warns.\n\n```python\nimport scipy\nscipy.solve(3)\n"
        "/x/site-packages/scipy/a.py:32: RuntimeWarning: invalid value\n"
        "  return np.clip(f(x), 0, 1)\n22.95\n```\n"
    )
    assert script_of(report).splitlines()[0] == "import scipy"
    assert "clip" not in script_of(report)


def test_tuples_that_were_printed_are_no_calls() -> None:
    report = "Wrong.\n\n```python\nprint((20, 10), (20, 1))\n```\n\nIt prints\n\n```\n(20, 10) (20,)\n```\n"
    reading = read(report)
    assert len(reading.scripts) == 1
    assert reading.claim.checks[0].lines == ("(20, 10) (20,)",)


def versions(reading: Reading) -> list[tuple[Role, tuple[str, ...]]]:
    return [(check.role, check.lines) for check in reading.claim.checks]


def test_the_output_of_an_older_patch_is_the_right_one() -> None:
    report = (
        "# unique has another shape\n\n```python\nimport jax\nprint(jax.f(1))\n```\n\n"
        "What jax 0.4.19 prints:\n```\n(20, 10) (20,)\n```\n\n"
        "What jax 0.4.25 prints:\n```\n(20, 10) (20, 1)\n```\n"
    )
    assert versions(read(report)) == [
        (Role.BUG, ("(20, 10) (20, 1)",)),
        (Role.EXPECTED, ("(20, 10) (20,)",)),
    ]


def test_a_question_names_the_right_error() -> None:
    report = "```\n>>> f(1)\nAttributeError: no split\n```\n\nShouldn't it be a `lib.CreationError`?\n"
    assert [(check.role, check.exception_type) for check in read(report).claim.checks] == [
        (Role.BUG, "AttributeError"),
        (Role.EXPECTED, "CreationError"),
    ]


def test_two_machines_that_say_something_else_are_a_pair() -> None:
    report = (
        "Both laptops don't come to the same result.\n\n"
        "```python\nimport torch\nprint(torch.rand(1))\n```\n\n"
        "On the M1 MacBook it says:\n```\n2.4471\n```\n\nOn the MacBook of 2015 it said:\n```\n1.8894\n```\n"
    )
    assert read(report).claim.checks[0].kind is CheckKind.DIFFERS


def test_the_log_of_the_kernel_is_about_the_script() -> None:
    report = (
        "`lib.mul` takes it down.\n\n```python\nimport lib\nprint(lib.mul(1))\n```\n\n"
        "dmesg says: python[4711]: segfault at 0 ip 0007f8c393f8fa0 in lib.so\n"
    )
    check = read(report).claim.checks[0]
    assert (check.kind, check.loose) == (CheckKind.CRASH, False)
