"""Lines in another order than claimed, and errors that come above the calls which a claim names."""

from __future__ import annotations

import pytest
from default_limits import read
from judging_builders import CPU, result

from app.judging.judgement import JobJudgement
from app.judging.verdict.job import judge_job

ROWS = "1 a\n2 b\n3 c\n4 d"
OTHER_ROWS = "1 a\n3 c\n2 b\n4 d"


def judge_rows(script: str, stdout: str) -> JobJudgement:
    text = f"# Rows lose their order\n\n```python\n{script}\n```\n\nOutput:\n\n```\n{OTHER_ROWS}\n```\n"
    reading = read(text)
    attempts = [result(stdout, attempt=f"a{at}") for at in range(3)]
    return judge_job(reading.claim, reading.scripts[0], CPU, attempts)


def test_the_same_lines_in_another_order_are_another_output() -> None:
    script = "import lib\nprint(lib.rows())"
    assert judge_rows(script, f"{ROWS}\n").verdict != "reproduced"
    assert judge_rows(script, f"{OTHER_ROWS}\n").verdict == "reproduced"
    assert judge_rows(script, f"start\n{OTHER_ROWS}\n").verdict == "reproduced"


@pytest.mark.parametrize(
    "script",
    [
        "import lib, threading\nprint(lib.rows())",
        "import lib\nfor row in set(lib.rows()):\n    print(row)",
        "import lib\nfrom multiprocessing import Pool\nPool(2).map(lib.show, lib.rows())",
    ],
)
def test_a_script_that_prints_in_any_order_may(script: str) -> None:
    assert judge_rows(script, f"{ROWS}\n").verdict == "reproduced"


SCRIPT = (
    "import lib\nseries = lib.range(100, freq='1S')\nframe = lib.Frame(series)\nprint(frame.resample('20S'))"
)


def judge_error(words: str, line: int) -> JobJudgement:
    message = "bad frequency"
    reading = read(f"# Error under lib 2\n\n{words}\n\n```python\n{SCRIPT}\n```\n")
    error = f'Traceback (most recent call last):\n  File "/home/u/script.py", line {line}, in <module>\n'
    attempts = [
        result(
            "",
            attempt=f"a{at}",
            raised=("ValueError", message),
            stderr=f"{error}ValueError: {message}\n",
        )
        for at in range(3)
    ]
    return judge_job(reading.claim, reading.scripts[0], CPU, attempts)


@pytest.mark.parametrize(
    "words",
    [
        "Resampling stops with an error.",
        "`resample` ends with an error.",
        "Calling frame.resample raises an error.",
    ],
)
def test_an_error_above_the_named_call_is_another_one(words: str) -> None:
    assert judge_error(words, 2).verdict != "reproduced"
    assert judge_error(words, 4).verdict == "reproduced"


def test_without_a_named_call_any_error_counts() -> None:
    assert judge_error("The script stops with an error.", 2).verdict == "reproduced"


def test_an_error_that_is_gone_without_the_expected_one_is_something_else() -> None:
    reading = read(
        "# Wrong error\n\n```python\nimport lib\nlib.f(-1)\n```\n\nIt raises `KeyError: 'size'`. "
        "I expect a ValueError.\n"
    )
    silent = judge_job(
        reading.claim, reading.scripts[0], CPU, [result("", attempt=f"a{at}") for at in range(3)]
    )
    assert silent.verdict == "different"
    assert silent.reason is not None
    assert "neither" in silent.reason.detail
    mended = [result("", attempt=f"a{at}", raised=("ValueError", "negative")) for at in range(3)]
    assert judge_job(reading.claim, reading.scripts[0], CPU, mended).verdict == "not_reproduced"
