"""Values, errors and bad ends in sentences: seen, expected, or neither; and the environment that is named."""

from __future__ import annotations

import pytest

from app.intake.claim.claim_text import read_claim
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.claim.value_mentions import lone_expected_value, seen_and_expected


@pytest.mark.parametrize(
    "text",
    [
        "The right answer is 8; this program says 9.",
        "I had been expecting `8`, and `9` came out.",
        "Shows `9`, which is incorrect: 8 is right.",
        "Shouldn't it be 8? I see 9.",
        "Observed: `9`\nDesired: `8`",
        "The sum is not 8, it is 9.",
        "My result: 9. In release 1.4 it was 8.",
        "On 1.9 it was `8`, now it is `9`.",
        "It prints 9. Matlab and Octave print 8.",
        "Bug: 9 != 8 (8 is correct)",
        "9, but I expected 8",
        "The manual says 8, yet I get 9",
        "Rather than 8 it returns 9",
        "In the old release it printed `8`; with the new one it prints `9`.",
        "I end up with 9; what the law of our country demands is 8.",
        "The length of the list is 9, I'd say 8",
    ],
)
def test_values_in_any_order(text: str) -> None:
    seen, wanted = seen_and_expected(text) or ("", "")
    assert (seen.strip("`."), wanted.strip("`.")) == ("9", "8")


@pytest.mark.parametrize(
    "text",
    [
        "numpy says 8 but jax says 9",
        "if it gives 9, I expect 8",
        "I see 9 warnings, expected 8 lines",
        "with n=9 the sum should be 8",
        "the deviation is 9, it should be below 8",
        "Of 6, 7, 9 the largest should be 9",
        "it used to print 8",
        "the batch size must be 8",
    ],
)
def test_values_that_are_no_pair(text: str) -> None:
    assert seen_and_expected(text) is None


def test_what_is_wanted_by_itself() -> None:
    assert lone_expected_value("Shouldn't this be 8?") == "8"
    assert lone_expected_value("I see 8.") is None


def bug(text: str) -> Check | None:
    return next(iter(read_claim(text).having(Role.BUG)), None)


@pytest.mark.parametrize(
    ("text", "seen", "wanted"),
    [
        ("It should raise IndexError but raises TypeError.", "TypeError", "IndexError"),
        ("I expect an IndexError, but get TypeError: 'x'.", "TypeError", "IndexError"),
        ("The documented IndexError is not raised; a TypeError is.", "TypeError", "IndexError"),
        ("TypeError: 'x' — an IndexError would be right.", "TypeError", "IndexError"),
        ("It used to run without TypeError; now it raises TypeError: x.", "TypeError", None),
        ("I don't expect any error, but TypeError: x comes.", "TypeError", None),
        ("The assertion in line 3 fails.", "AssertionError", None),
    ],
)
def test_which_error_is_seen(text: str, seen: str, wanted: str | None) -> None:
    checks = read_claim(text).checks
    assert (checks[0].kind, checks[0].exception_type) == (CheckKind.EXCEPTION, seen)
    if wanted:
        assert (
            wanted in [check.exception_type for check in checks if check.role is Role.EXPECTED] or "—" in text
        )


@pytest.mark.parametrize(
    "text",
    [
        "The documented IndexError is missing.",
        "An IndexError is what I'd expect; None is what I see.",
        "IndexError swallowed",
        "if the assertion fails, stop",
        "CUDA device-side assert docs",
        "the assertion no longer fails",
    ],
)
def test_an_error_that_is_not_said_to_be_seen(text: str) -> None:
    found = bug(text)
    assert found is None or found.kind is not CheckKind.EXCEPTION


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Why do I get TypeError: bad x here?", "bad x"),
        ("TypeError: bad x must not be raised for lists.", "bad x"),
        ("It fails with TypeError: bad x — why?", "bad x"),
        ("It fails with TypeError: bad x must be a list", "bad x must be a list"),
        ("RuntimeError: expected Half but found Float", "expected Half but found Float"),
    ],
)
def test_a_message_ends_where_the_reporter_s_words_begin(text: str, message: str) -> None:
    found = bug(text)
    assert found is not None
    assert found.message == message


@pytest.mark.parametrize(
    ("text", "kind", "signal"),
    [
        ("It waits for good.", CheckKind.HANG, None),
        ("The call just sits there forever.", CheckKind.HANG, None),
        ("The prompt doesn't come back.", CheckKind.HANG, None),
        ("Python dies silently.", CheckKind.CRASH, None),
        ("it crashes hard", CheckKind.CRASH, None),
        ("exits with code 139", CheckKind.CRASH, "SIGSEGV"),
        ("the worker gets SIGKILL", CheckKind.CRASH, "SIGKILL"),
        ("the oom killer sends SIGKILL", CheckKind.OUT_OF_MEMORY, None),
        ("my job is killed", CheckKind.OUT_OF_MEMORY, None),
    ],
)
def test_bad_endings(text: str, kind: CheckKind, signal: str | None) -> None:
    found = bug(text)
    assert found is not None
    assert (found.kind, found.signal) == (kind, signal)


@pytest.mark.parametrize(
    "text",
    ["It never returns the right value", "It no longer sits there forever", "no segfault here", "it crashes"],
)
def test_what_is_no_bad_ending(text: str) -> None:
    found = bug(text)
    assert found is None or found.kind not in {CheckKind.HANG, CheckKind.CRASH}


@pytest.mark.parametrize(
    "text",
    [
        "non-reproducible values",
        "Two identical runs don't agree.",
        "Sometimes the left one comes first, sometimes the right one.",
        "It prints sometimes 1 and sometimes 2",
    ],
)
def test_results_that_vary(text: str) -> None:
    found = bug(text)
    assert found is not None
    assert found.kind is CheckKind.VARIES


@pytest.mark.parametrize(
    "text",
    ["Sometimes I use 2.0, sometimes 2.1.", "Two consecutive runs agree.", "The results are reproducible."],
)
def test_results_that_do_not_vary(text: str) -> None:
    found = bug(text)
    assert found is None or found.kind is not CheckKind.VARIES


def test_nothing_is_printed() -> None:
    found = bug("It prints nothing at all!")
    assert found is not None
    assert (found.kind, found.lines) == (CheckKind.OUTPUT, ("",))


@pytest.mark.parametrize(
    "text",
    [
        "It prints nothing useful.",
        "It returns nothing.",
        "It should print nothing.",
        "Nothing is printed about it to stderr",
    ],
)
def test_something_is_printed(text: str) -> None:
    found = bug(text)
    assert found is None or found.lines != ("",)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("On Apple silicon it prints 9 instead of 8.", {"os": "macos"}),
        ("On my MacBook Pro it prints 9 instead of 8.", {"os": "macos"}),
        ("My MacBook prints 9 where 8 is right.", {"os": "macos"}),
        ("On Windows this prints 9, on Linux 8.", {"os": "windows"}),
        ("With torchrun --nproc_per_node=2 it prints 9 instead of 8", {"mode": "torchrun"}),
        ("With OMP_NUM_THREADS=64 it prints 9 instead of 8", {"mode": "with omp_num_threads=64"}),
        ("It prints 9 instead of 8 with a big machine.", {}),
    ],
)
def test_where_a_value_is_seen(text: str, where: dict[str, str]) -> None:
    found = bug(text)
    assert found is not None
    assert (found.number, found.where.model_dump(exclude_none=True)) == ("9", where)


def test_a_short_number_counts_beside_its_name() -> None:
    labels = [
        bug(text)
        for text in ("the loss is 9 instead of 8", "it is 9 instead of 8", "the loss is 9.125 instead of 8")
    ]
    assert [check and check.label for check in labels] == ["loss", None, None]
