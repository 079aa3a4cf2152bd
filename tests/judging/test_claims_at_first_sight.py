"""Claims of public reports that were not understood at first sight, in other words."""

from __future__ import annotations

import pytest
from default_limits import read
from judging_builders import CPU, result

from app.intake.claim.claim_text import read_claim
from app.intake.claim.claims import Claim, Role
from app.intake.reading import Reading
from app.judging.verdict.job import judge_job


def kinds(sentence: str) -> list[str]:
    return [str(check.kind) for check in read_claim(sentence).checks]


def report(code: str, below: str = "", title: str = "It is not right") -> Reading:
    return read(f"# {title}\n\n```python\n{code}\n```\n\n{below}\n")


def shown(claim: Claim, role: Role = Role.BUG) -> list[str]:
    return [line for check in claim.having(role) for line in check.lines]


@pytest.mark.parametrize(
    "sentence",
    [
        "The interpreter does not end after a call of pool.map",
        "Everything is written, but the program won't exit.",
        "My script never exits after the last line.",
        "The process stays alive after the last print",
        "The result is there, and then only ctrl-c helps.",
    ],
)
def test_a_process_that_stays_hangs(sentence: str) -> None:
    assert kinds(sentence) == ["hang"]


@pytest.mark.parametrize(
    "sentence",
    ["It does not return a copy", "With threads=1 the process ends", "It does not finish the right way"],
)
def test_a_wrong_object_is_no_hang(sentence: str) -> None:
    assert kinds(sentence) != ["hang"]


@pytest.mark.parametrize(
    "sentence",
    [
        "It should print the same value at each start.",
        "I expect identical numbers every time I start it.",
        "The sums are not the same from run to run.",
        "This ought to give an equal result in every run.",
    ],
)
def test_what_should_be_the_same_in_each_run_varies(sentence: str) -> None:
    assert kinds(sentence) == ["varies"]


@pytest.mark.parametrize("sentence", ["It gives the same value at each start", "Both should be the same"])
def test_what_is_the_same_does_not(sentence: str) -> None:
    assert kinds(sentence) != ["varies"]


CALLS = "import lib\nlib.draw(1)  # {fine}\nlib.draw('a')  # {bad}\n"
FAILURE = "```\nTraceback (most recent call last):\n  ...\nTypeError: cannot draw\n```"


@pytest.mark.parametrize("bad", ["here is the exception", "this line crashes", "error occurs", "fails!"])
@pytest.mark.parametrize("fine", ["no problem at all", "works", "fine"])
def test_a_comment_marks_the_line_that_fails(fine: str, bad: str) -> None:
    reading = report(CALLS.format(fine=fine, bad=bad), FAILURE, title="TypeError in lib.draw")
    assert reading.claim.having(Role.BUG)[0].at == 3

    def verdict(line: int) -> str:
        stderr = f'Traceback (most recent call last):\n  File "/home/u/script.py", line {line}, in <module>\n'
        failed = result(raised=("TypeError", "cannot draw"), stderr=f"{stderr}TypeError: cannot draw\n")
        return judge_job(reading.claim, reading.scripts[0], CPU, [failed] * 3).verdict

    # At the line that is said to be fine, it is another failure.
    assert (verdict(3), verdict(2)) == ("reproduced", "different")


def test_lists_of_versions_of_any_form_are_no_output() -> None:
    versions = (
        "Summary of the netlib configuration\n-----------------------------------\n\nnetlib    2.3.0\n"
        "zlib      1.2.11\nPython    3.8.1 (default, Jan  1 2020)\n[GCC 7.3.0]\nsys.platform    linux"
    )
    failure = "Traceback (most recent call last):\nValueError: no such row"
    reading = report(
        "import lib\nlib.row(3)", f"```\n{failure}\n```\n\n```\n{versions}\n```", "lib.row fails"
    )
    assert [check.exception_type for check in reading.claim.having(Role.BUG)] == ["ValueError"]
    assert not reading.claim.having(Role.EXPECTED)


@pytest.mark.parametrize("caption", ["# stdout:", "# expected output", "## Result"])
def test_a_comment_above_an_output_is_a_caption(caption: str) -> None:
    reading = report(
        "import lib\nprint(lib.rows())", f"It prints\n```\n{caption}\n[4, 2]\n[1, 7]\n```\nand that is wrong."
    )
    assert shown(reading.claim) == ["[4, 2]", "[1, 7]"]


def test_a_remark_behind_a_printed_value_is_none_of_it() -> None:
    below = "It prints\n```\n[4, 2]  # same as before\n[1, 7] # why is that so\n```\nand that is wrong."
    assert shown(report("import lib\nprint(lib.rows())", below).claim) == ["[4, 2]", "[1, 7]"]


@pytest.mark.parametrize(
    ("code", "message", "verdict"),
    [
        ("frame.rolling_mean('a')", "'Frame' object has no attribute 'rolling_mean'", "cannot_show"),
        # Its own class, a value of Python, or a name that it does not use.
        (
            "class Frame: ...\nFrame().rolling_mean",
            "'Frame' object has no attribute 'rolling_mean'",
            "observed",
        ),
        ("frame.rolling_mean('a')", "'str' object has no attribute 'rolling_mean'", "observed"),
        ("frame.mean('a')", "'Frame' object has no attribute '_rows'", "observed"),
    ],
)
def test_a_script_that_asks_for_what_the_library_has_no_more_shows_nothing(
    code: str, message: str, verdict: str
) -> None:
    reading = report(f"import lib\nframe = lib.frame()\n{code}", "I find this odd.", "An odd mean")
    failed = result(raised=("AttributeError", message))
    assert judge_job(reading.claim, reading.scripts[0], CPU, [failed] * 3).verdict == verdict
