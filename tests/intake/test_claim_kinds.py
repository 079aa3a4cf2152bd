"""Claims beyond one printed value: speed, missing errors, two sides, places, and texts without a claim."""

from __future__ import annotations

from typing import Any

import pytest
from default_limits import read

from app.intake.claim.claim_text import read_claim
from app.intake.claim.claims import CheckKind, Over, Role


def bugs(text: str) -> list[Any]:
    return list(read_claim(text).having(Role.BUG))


@pytest.mark.parametrize(
    ("text", "sides", "factor"),
    [
        ("torch.compile is 2x slower than eager", ("compiled", "eager"), 2.0),
        ("this is 3 times slower than numpy", ("", "numpy"), 3.0),
        ("torch.sort is 20x slower than numpy.sort", ("torch.sort", "numpy.sort"), 20.0),
        ("sorting is slower on GPU than on CPU", ("cuda", "cpu"), None),
        ("cpu is faster than gpu", ("cuda", "cpu"), None),
        ("numpy is 8 times faster than pytorch here", ("torch", "numpy"), 8.0),
        ("bf16 matmul on CPU is 50 times slower than fp32", ("bfloat16", "float32"), 50.0),
        ("takes 3x longer in float16 than in float32", ("float16", "float32"), 3.0),
        ("compiled code is no faster than eager", ("compiled", "eager"), None),
        ("torch.compile makes the code slower", ("compiled", "eager"), None),
        ("MPS takes twice as long as CPU", ("mps", "cpu"), 2.0),
        (
            "torch.einsum is slower than torch.matmul by a factor of 10",
            ("torch.einsum", "torch.matmul"),
            10.0,
        ),
    ],
)
def test_one_side_is_slower(text: str, sides: tuple[str, ...], factor: float | None) -> None:
    (check,) = bugs(text)
    assert (check.kind, check.sides, check.factor, check.over) == (
        CheckKind.SLOWER,
        sides,
        factor,
        Over.ATTEMPT,
    )


@pytest.mark.parametrize(
    ("text", "sides", "factor"),
    [
        ("5x slower on 2.3 than on 2.2", ("2.3", "2.2"), 5.0),
        ("performance regression: 30% slower in 2.4 compared to 2.3", ("2.4", "2.3"), 1.3),
        ("upgrade from 1.13 to 2.0 made training 2x slower", ("2.0", "1.13"), 2.0),
    ],
)
def test_a_version_is_slower_than_another(text: str, sides: tuple[str, ...], factor: float) -> None:
    (check,) = bugs(text)
    assert (check.kind, check.sides, check.factor, check.over) == (CheckKind.SLOWER, sides, factor, Over.PAIR)


@pytest.mark.parametrize(
    "text",
    [
        "It is very slow.",
        "It takes 10 s",
        "it should be faster than numpy",
        "compiled is not slower than eager",
        "the first call is 100x slower than the second",
    ],
)
def test_speed_that_nothing_can_be_held_against(text: str) -> None:
    assert bugs(text) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("No error raised, expected ValueError", "ValueError"),
        ("It should raise ValueError but it doesn't", "ValueError"),
        ("should raise RuntimeError but nothing happens", "RuntimeError"),
        ("Expected a ValueError, but no error is raised", "ValueError"),
        ("torch.foo accepts negative sizes without an error, it should raise a ValueError", "ValueError"),
        ("There is no UserWarning although the docs announce one", "UserWarning"),
        ("does not raise ValueError for negative sizes", "ValueError"),
        ("no warning is raised, expected a UserWarning", "UserWarning"),
        ("negative size should be rejected, but it is silently accepted", None),
    ],
)
def test_an_error_is_missing(text: str, kind: str | None) -> None:
    checks = read_claim(text).checks
    assert (checks[0].kind, checks[0].role, checks[0].exception_type) == (CheckKind.NO_ERROR, Role.BUG, kind)
    assert [(check.kind, check.role, check.exception_type) for check in checks[1:]] == (
        [(CheckKind.EXCEPTION, Role.EXPECTED, kind)] if kind else []
    )


@pytest.mark.parametrize(
    ("text", "seen", "wanted"),
    [
        ("TypeError is raised instead of ValueError", "TypeError", "ValueError"),
        ("got TypeError, expected ValueError", "TypeError", "ValueError"),
    ],
)
def test_the_wrong_error(text: str, seen: str, wanted: str) -> None:
    first, second = read_claim(text).checks
    assert (first.role, first.exception_type, second.role, second.exception_type) == (
        Role.BUG,
        seen,
        Role.EXPECTED,
        wanted,
    )


def test_a_value_in_place_of_an_error() -> None:
    first, second = read_claim("returns 0 instead of raising ValueError").checks
    assert (first.number, second.role, second.exception_type) == ("0", Role.EXPECTED, "ValueError")


@pytest.mark.parametrize(
    ("text", "sides", "over"),
    [
        ("float32 and float64 results differ", ("float32", "float64"), Over.ATTEMPT),
        ("fp16 and fp32 differ too much", ("float16", "float32"), Over.ATTEMPT),
        ("results of eager and compiled differ", ("eager", "compiled"), Over.ATTEMPT),
        ("works on CPU but fails on MPS", ("cpu", "mps"), Over.ATTEMPT),
        ("torch 2.2 and torch 2.3 give different results", ("2.2", "2.3"), Over.PAIR),
        ("The result differs between version 2.0 and version 2.1", ("2.0", "2.1"), Over.PAIR),
    ],
)
def test_two_sides_differ(text: str, sides: tuple[str, ...], over: Over) -> None:
    (check,) = bugs(text)
    assert (check.kind, check.sides, check.over) == (CheckKind.DIFFERS, sides, over)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("It crashes with a segfault on Windows only", {"os": "windows"}),
        ("on macOS it prints 3 instead of 4", {"os": "macos"}),
        ("works fine on Linux but on Windows it prints nan", {"os": "windows"}),
        ("On Linux it works, on Windows it crashes with access violation", {"os": "windows"}),
        ("AssertionError: Tensor-likes are not close! only on Windows", {"os": "windows"}),
        ("RuntimeError: bad thing, since 2.1", {"version": ">=2.1"}),
        ("Since 2.1 the sum is 3 instead of 4", {"version": ">=2.1"}),
        ("It worked with torch 2.0 but is broken in 2.1, RuntimeError: foo", {"version": "2.1"}),
        ("crashes only with Python 3.12: Segmentation fault", {"version": "python 3.12"}),
        ("with Python 3.12 it raises TypeError: foo bar", {}),
        ("prints 3 on Linux and on Windows, expected 4", {}),
        ("loss is nan after the first step on GPU", {"device": "cuda"}),
    ],
)
def test_where_it_is_said_to_happen(text: str, where: dict[str, str]) -> None:
    assert bugs(text)[0].where.model_dump(exclude_none=True) == where


def test_a_version_is_no_value() -> None:
    assert [check.number for check in read_claim("regression in 2.3: prints 3, expected 4").checks] == [
        "3",
        "4",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        ),
        ("I get index out of range in self", "index out of range in self"),
        (
            'it says "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)" and dies',
            "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
        ),
    ],
)
def test_a_message_that_everyone_knows_needs_no_type(text: str, message: str) -> None:
    (check,) = bugs(text)
    assert (check.kind, check.exception_type, check.message) == (CheckKind.EXCEPTION, None, message)


def test_a_caught_error_beside_its_side_is_a_printed_line() -> None:
    line = "cpu IndexError index 7 is out of bounds for dimension 0 with size 5"
    assert [(check.kind, check.lines) for check in bugs(line)] == [(CheckKind.OUTPUT, (line,))]
    assert bugs("cpu IndexError when the index is 7")[0].kind is CheckKind.EXCEPTION


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x.grad is None", ("None",)),
        ("out.requires_grad is False", ("False",)),
        ("dtype is torch.float32, expected torch.float64", ("torch.float32",)),
        ("the dtype is float64 instead of float32", ("float64",)),
        ("a.shape is (2, 3), should be (3, 2)", ("(2, 3)",)),
        ("x.shape is torch.Size([2, 3]), expected torch.Size([3, 2])", ("torch.Size([2, 3])",)),
        ("Actual: 3", ("3",)),
    ],
)
def test_what_an_attribute_is(text: str, lines: tuple[str, ...]) -> None:
    assert [check.lines for check in bugs(text)] == [lines]


@pytest.mark.parametrize(
    "text",
    ["loss becomes nan after 10 steps", "gradients contain NaN", "returns NaN", "model outputs are all NaN"],
)
def test_not_a_number(text: str) -> None:
    assert [(check.kind, check.number.lower()) for check in bugs(text)] == [(CheckKind.VALUE, "nan")]


@pytest.mark.parametrize(
    "text",
    [
        "it no longer fails with ValueError",
        "No longer segfaults",
        "does not crash any more on 2.4",
        "this doesn't segfault",
        "no NaN is produced",
        "if x.grad is None, skip it",
        "The bug is fixed in 2.3",
        "no exception is thrown",
        "It raises no error.",
        "works in 2.0, fails in 2.1",
    ],
)
def test_what_is_no_claim(text: str) -> None:
    assert read_claim(text).checks == ()


def in_report(text: str, title: str = "") -> list[tuple[str, str, str | None, tuple[str, ...]]]:
    code = "```python\nx = 2\nprint(x)\n```\n\n"
    checks = read(code + text, form="report", title=title).claim.checks
    return [(check.kind.value, check.role.value, check.number, check.lines) for check in checks]


def test_sections_of_what_is_expected_tell_of_no_bug() -> None:
    text = "### Expected behavior\n\nIt returns `[3]`\n\n### Actual behavior\n\nIt returns `[2]`\n"
    assert in_report(text) == [("output", "bug", None, ("[2]",)), ("output", "expected", None, ("[3]",))]
    assert in_report("**Expected:** 3\n\n**Actual:** 2\n") == [
        ("value", "bug", "2", ()),
        ("value", "expected", "3", ()),
    ]


def test_times_of_two_sides_are_no_difference_of_values() -> None:
    times = "Output:\n```\ncpu: 0.12 s\ncuda: 1.4 s\n```\n"
    assert [kind for kind, *_ in in_report(times, "GPU slower than CPU for small tensors")] == ["slower"]
    assert [kind for kind, *_ in in_report(times, "Timing")] == ["slower"]


def test_a_place_from_another_sentence_of_the_report() -> None:
    (check,) = read(
        "```python\nprint(1)\n```\nRuntimeError: foo bar baz\n\nOnly happens on macOS.\n",
        form="report",
        title="",
    ).claim.checks
    assert check.where.os == "macos"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("I expect a RuntimeError here but it runs fine.", ["no_error", "exception"]),
        ("This PR fixed the crash; the segfault no longer happens.", []),
        ("I don't get a segfault any more", []),
        ("exits with code 3 instead of 0", ["exit_status"]),
    ],
)
def test_which_way_round_it_is_meant(text: str, kinds: list[str]) -> None:
    assert [check.kind.value for check in read_claim(text).checks] == kinds


def test_a_system_that_does_not_work_is_not_one_that_does() -> None:
    text = "it doesn't work on windows, on linux it's fine: OSError: [WinError 126] not found"
    assert bugs(text)[0].where.os == "windows"


def bug_of(text: str) -> Any:
    return next((check for check in read_claim(text).checks if check.role is Role.BUG), None)


@pytest.mark.parametrize(
    "text",
    [
        "Calling it must not raise IndexError here.",
        "It is not supposed to throw IndexError.",
        "It shouldn't raise IndexError.",
    ],
)
def test_an_error_that_should_not_be_raised_is_the_bug(text: str) -> None:
    found = bug_of(text)
    assert (found.kind, found.exception_type) == (CheckKind.EXCEPTION, "IndexError")


@pytest.mark.parametrize(
    "text", ["The missing KeyError surprised me.", "The KeyError is never raised, and the code goes on."]
)
def test_an_error_that_is_not_there_is_not_said_to_be_raised(text: str) -> None:
    found = bug_of(text)
    assert found is None or found.kind is not CheckKind.EXCEPTION


@pytest.mark.parametrize(
    "text", ["The loss never differs between runs.", "The numbers don't change from run to run."]
)
def test_what_never_varies_is_not_said_to_vary(text: str) -> None:
    assert bug_of(text) is None


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("With my RTX 4090 it prints 3 instead of 2.", "cuda"),
        ("On an H100 I get 3 instead of 2.", "cuda"),
        ("It prints 3 instead of 2.", None),
    ],
)
def test_the_model_of_a_card_is_a_place(text: str, device: str | None) -> None:
    assert bug_of(text).where.device == device
