"""Right values that stand beside the claimed ones in other forms, and errors that are right."""

from __future__ import annotations

import pytest
from default_limits import read
from judging_builders import CPU, result

from app.judging.judgement import JobJudgement
from app.judging.verdict.job import judge_job


def judge(text: str, stdout: str) -> JobJudgement:
    reading = read(text)
    attempts = [result(stdout, attempt_id=f"a{at}") for at in range(3)]
    return judge_job(reading.claim, reading.scripts[0], CPU, attempts)


def report(code: str, printed: str, words: str) -> str:
    return f"# The value is wrong\n\n```python\n{code}\n```\n\nOutput:\n\n```\n{printed}\n```\n\n{words}\n"


LITERALS = ("import lib\nprint(lib.a(), lib.b(), lib.c())", "True False True")


@pytest.mark.parametrize(
    "words",
    [
        "The third has to be False.",
        "So the third one should be False.",
        "Therefore the last value must be False.",
    ],
)
def test_one_value_of_a_printed_line_is_right_by_its_number(words: str) -> None:
    assert judge(report(*LITERALS, words), "True False False\n").verdict == "not_reproduced"
    assert judge(report(*LITERALS, words), "True False True\n").verdict == "reproduced"


@pytest.mark.parametrize(
    "words",
    [
        "I want `[0. 1.]` and `0.0`. Version 1.8.",
        "They should be `[0. 1.]` and `0.0`, not with a sign.",
        "We would expect `[0. 1.]` and `0.0` here.",
    ],
)
def test_each_printed_line_has_its_right_one(words: str) -> None:
    text = report("import lib\nprint(lib.a())\nprint(lib.b())", "[-0. 1.]\n-0.0", words)
    assert judge(text, "[0. 1.]\n0.0\n").verdict == "not_reproduced"
    assert judge(text, "[-0. 1.]\n-0.0\n").verdict == "reproduced"


@pytest.mark.parametrize(
    "words",
    ["but the median is `[512.5]`.", "while their mean is 512.5", "yet the exact result is `[512.5]`"],
)
def test_words_below_the_output_oppose_it(words: str) -> None:
    printed = "[513.]" if "[" in words else "513.0"
    now = "[512.5]" if "[" in words else "512.5"
    text = report("import lib\nprint(lib.median())", printed, words)
    assert judge(text, f"{now}\n").verdict == "not_reproduced"
    assert judge(text, f"{printed}\n").verdict == "reproduced"


@pytest.mark.parametrize("words", ["but the old name is `[7.5]` in 1.2", "The script is 512.5 lines long."])
def test_other_words_do_not(words: str) -> None:
    text = report("import lib\nprint(lib.median())", "[513.]", words)
    assert judge(text, "[512.5]\n").verdict != "not_reproduced"


@pytest.mark.parametrize(
    "words",
    [
        "I am getting 0.0, 2.0 and 2.0. It has to be 1.0, 2.0 and 3.0.",
        "We're getting 0.0, 2.0 and 2.0, however it must be 1.0, 2.0 and 3.0.",
    ],
)
def test_numbers_of_several_lines_stand_in_a_sentence(words: str) -> None:
    text = f"# Halves\n\n```python\nimport lib\nfor v in lib.values():\n    print(v)\n```\n\n{words}\n"
    assert judge(text, "0.0\n2.0\n2.0\n").verdict == "reproduced"
    assert judge(text, "1.0\n2.0\n3.0\n").verdict == "not_reproduced"


def test_an_error_that_would_be_right_is_not_the_bug() -> None:
    text = (
        "# An index beyond the end gives the last value\n\n```python\nimport lib\nx = lib.of(5)\n"
        "print(x[10])  # 4 ???\n```\n\nAn exception would be right here. With a list I would have seen:\n\n"
        '```\nTraceback (most recent call last):\n  File "x.py", line 3, in <module>\n    print(x[10])\n'
        "IndexError: index 10 is out of range\n```\n"
    )
    assert judge(text, "4\n").verdict == "reproduced"
    of_failure = text.replace("# An index", "# Fails: an index").replace("  # 4 ???", "")
    assert judge(of_failure, "4\n").verdict != "reproduced"


def test_a_missing_error_and_its_value_are_seen_together() -> None:
    text = (
        "# Numbers beyond the range are taken\n\n### What did you expect to happen?\n\nA ValueError.\n\n"
        "### What actually happened?\n\nNo complaint: it prints 255.\n\n"
        "```python\nimport lib\nprint(lib.g(300))\n```\n"
    )
    found = judge(text, "255\n")
    assert found.verdict == "reproduced"
    assert found.findings[-1].result == "met"


WARNING = (
    "demo.py:3: CopyWarning: \nA value is trying to be set on a copy\n\n"
    "See the caveats in the documentation: https://example.org/copies\n  t['a'][0] = 9\n"
)


@pytest.mark.parametrize("indent", ["", "    "])
def test_a_warning_of_several_lines_is_no_output(indent: str) -> None:
    shown = "\n".join(indent + line for line in f"{WARNING}[9, 2]".split("\n"))
    block = shown if indent else f"```\n{shown}\n```"
    text = (
        "# The table itself is changed\n\nThe table must stay `[1, 2]`.\n\n"
        "```python\nimport lib\nt = lib.table()\n"
        f"t['a'][0] = 9\nprint(t['a'])\n```\n\nWhat I see in the terminal:\n\n{block}\n"
    )
    (bug,) = [check for check in read(text).claim.checks if check.kind == "output" and check.role == "bug"]
    assert bug.lines == ("[9, 2]",)
    assert judge(text, "[1, 2]\n").verdict == "not_reproduced"


def test_a_sentence_that_is_printed_below_a_warning_stays() -> None:
    text = (
        "# The sum is wrong\n\n"
        "```python\nimport lib\nprint('The sum of all of them:')\nprint(lib.sums())\n```\n\n"
        "Output:\n\n```\nx.py:3: UserWarning: slow\nThe sum of all of them:\n  [1, 2]\n```\n"
    )
    (bug,) = [check for check in read(text).claim.checks if check.kind == "output" and check.role == "bug"]
    assert [line.strip() for line in bug.lines] == ["The sum of all of them:", "[1, 2]"]


@pytest.mark.parametrize("place", ["at the second step", "on the last line", "in the 2nd statement"])
def test_an_error_at_a_numbered_statement_is_of_the_script(place: str) -> None:
    text = "# No rows\n\n```python\nimport lib\nprint(lib.f(0))\n```\n\n`QuotaError: too few rows`"
    for words, is_loose in ((f" {place}.", False), (" in my log.", True)):
        claim = read(f"{text}{words}\n").claim
        assert [check.loose for check in claim.checks if check.role == "bug"] == [is_loose]


@pytest.mark.parametrize(
    "words",
    [
        "For x=0 the call gives nan where 0.5 would be correct.",
        "It returns nan whereas 0.5 is right.",
        "f gives nan while R says 0.5",
    ],
)
def test_words_right_behind_the_claimed_value_oppose_it(words: str) -> None:
    text = f"# nan at zero\n\n{words}\n\n    >>> import lib\n    >>> lib.f(0)\n    nan\n"
    assert judge(text, "0.5\n").verdict == "not_reproduced"
    assert judge(text, "nan\n").verdict == "reproduced"
    assert judge(text, "7.25\n").verdict != "not_reproduced"


@pytest.mark.parametrize("words", ["nothing! ⚠️", "nothing at all", "no output"])
def test_no_output_at_all_is_a_claim(words: str) -> None:
    code = "import lib\ntry:\n    lib.parse('x(')\nexcept ValueError as error:\n    print(error.args)"
    text = (
        f"# No error?\n\n```python\n{code}\n```\n\nexpected output:\n```\n('Expecting )',)\n```\n\n"
        f"Actual output:\n{words}\n"
    )
    assert judge(text, "('Expecting )',)\n").verdict == "not_reproduced"
    assert judge(text, "").verdict == "reproduced"
