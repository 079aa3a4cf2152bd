"""Code that a report praises, above it or below it, is not the bug."""

from __future__ import annotations

import pytest
from default_limits import read
from judging_builders import CPU, result

from app.intake.reading import ScriptRole
from app.judging.verdict.job import judge_job

FIRST = "import lib\nbox = lib.Box(1)\nprint(box.size)"
SECOND = "import lib\nbox = lib.Box(1, lazy=True)\nprint(box.size)"


def report(praise: str, between: str = "", first: str = FIRST, second: str = SECOND) -> str:
    return (
        f"# Size of a lazy box is wrong\n\nA usual box:\n\n```python\n{first}\n```\n{between}\n{praise}\n\n"
        f"```python\n{second}\n```\n\nHere I get 0 instead of 1.\n"
    )


@pytest.mark.parametrize(
    "praise",
    [
        "That is what one expects. Now with a lazy one:",
        "So far so good.\n\nThe lazy variant does not:",
        "This is correct. However:",
        "Still fine. However:",
        "That works as it should. With `lazy`, though:",
        "All good so far. Next a lazy one:",
        "Which is the expected result. The same, lazily:",
    ],
)
def test_code_that_the_words_below_praise_is_a_control(praise: str) -> None:
    reading = read(report(praise))
    assert reading.scripts[0].script.startswith(SECOND)
    assert ScriptRole.CONTROL in {script.role for script in reading.scripts[1:]}


@pytest.mark.parametrize(
    "words",
    [
        "This works.",
        "That is right in 1.2. With a lazy one:",
        "That is not what one expects. With a lazy one:",
        "This is fine if the box is empty. With a lazy one:",
        "It works on my other machine. The same, shorter:",
    ],
)
def test_other_words_below_praise_nothing(words: str) -> None:
    roles = [script.role for script in read(report(words)).scripts if script.script.startswith(FIRST)]
    assert ScriptRole.CONTROL not in roles


def test_output_of_praised_code_is_not_the_bug() -> None:
    reading = read(report("That is what one expects. Now lazily:", between="```\n1\n```\n"))
    assert judge_job(reading.claim, reading.scripts[0], CPU, [result("1\n")]).verdict == "not_reproduced"
    assert judge_job(reading.claim, reading.scripts[0], CPU, [result("0\n")]).verdict == "reproduced"


def test_commented_error_of_praised_code_is_not_the_bug() -> None:
    first = "import lib\nprint(lib.a())  # LookupError: no such key"
    second = "import lib\nprint(lib.a(lazy=True))  # TypeError: 'NoneType' object is not callable"
    reading = read(report("That is what one expects. But lazily:", first=first, second=second))
    assert {check.exception_type for check in reading.claim.checks if check.exception_type} == {"TypeError"}


@pytest.mark.parametrize(
    "caption",
    [
        "This raises (rightly, I would say):",
        "It is refused, as it should:",
        "The library rightly raises this:",
        "One gets, which is fine:",
    ],
)
def test_an_error_that_is_raised_rightly_is_not_the_bug(caption: str) -> None:
    reading = read(
        "# No error for a lazy box\n\n"
        f"```python\n{FIRST}\nbox.resize(-1)\n```\n\n{caption}\n\n"
        "```\nValueError: a size can't be negative\n```\n\nBut with a lazy one:\n\n"
        f"```python\n{SECOND}\nbox.resize(-1)\nprint(box.size)\n```\n\none gets:\n\n```\n1\n-1\n```\n"
    )
    assert reading.scripts[0].script.startswith(SECOND)
    seen = judge_job(reading.claim, reading.scripts[0], CPU, [result("1\n-1\n")])
    assert seen.verdict == "reproduced"
