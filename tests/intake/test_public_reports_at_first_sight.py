"""Forms of public reports that were not understood at first sight, in other words."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.reading import Reading


def report(code: str, *, above: str = "", below: str = "", title: str = "It is not right") -> Reading:
    return read(f"# {title}\n\n{above}\n\n```python\n{code}\n```\n\n{below}\n")


def bug_of(reading: Reading) -> Check:
    return reading.claim.having(Role.BUG)[0]


def lines_of(reading: Reading, role: Role = Role.BUG) -> list[str]:
    return [line for check in reading.claim.having(role) for line in check.lines]


def repairs_of(reading: Reading) -> list[str]:
    return [repair.code for repair in reading.scripts[0].repairs]


CODE = "import numpy as np\nprint(np.ones(3).sum())"
BOTH = "prints\n```\n[4, 2]\n```\nwhich is not right. The result should be\n```\n[3, 2]\n```\n"


@pytest.mark.parametrize(
    "heading",
    ["Bug description, with all error messages and your version", "Describe the problem and your platform"],
)
def test_a_heading_about_everything_is_none_about_the_environment(heading: str) -> None:
    reading = read(f"# Wrong\n\n### {heading}\n\n```python\n{CODE}\n```\n{BOTH}")
    assert (lines_of(reading), lines_of(reading, Role.EXPECTED)) == (["[4, 2]"], ["[3, 2]"])


@pytest.mark.parametrize(
    "line",
    [
        "* somelib version: 23.2.3",
        "- somelib version : 1.2 (conda-forge)",
        "Operating System: OSX",
        "- Operating system and architecture: macOS 14, M2",
        "- CPython versions tested on: 3.10.4, 3.12",
        "OS version: Windows 10",
    ],
)
def test_a_line_of_a_form_is_no_output(line: str) -> None:
    assert lines_of(report(CODE, above=line, title="Errors in the results", below="It prints `4`.")) == ["4"]


def test_bold_lines_are_headings() -> None:
    below = "It prints `4`.\n\n**Your setup**\n\n- Windows 11, 8Gb RAM: 2 of them\n"
    assert lines_of(report(CODE, below=below)) == ["4"]


def test_a_module_whose_version_is_given_is_imported() -> None:
    reading = read("# Wrong\n\nsomelib version: 1.2.1\n\n```python\nprint(somelib.f(3))\n```\nIt prints `4`.")
    assert reading.scripts[0].script.startswith("import somelib; ")


@pytest.mark.parametrize(
    ("used", "added"),
    [
        (
            "CustomBusinessDay(holidays=['2022-11-24'])",
            "from pandas.tseries.offsets import CustomBusinessDay",
        ),
        ("MonthEnd(2)", "from pandas.tseries.offsets import MonthEnd"),
    ],
)
def test_a_public_name_of_a_module_further_down_is_imported(used: str, added: str) -> None:
    assert added in report(f"import pandas as pd\nprint(pd.Timestamp(0) + {used})").scripts[0].script


def test_a_misspelt_import_is_spelt_as_its_use() -> None:
    reading = report(
        'import tabulatr\nprint(tabulatr)\ntabulate.tabulate([["1"]])', title="tabulate raises a ValueError"
    )
    assert "misspelt_import" not in repairs_of(reading)
    reading = report('import tabulatr\ntabulate.tabulate([["1"]])', title="tabulate raises a ValueError")
    assert repairs_of(reading)[:1] == ["misspelt_import"]
    assert reading.scripts[0].script.startswith("import tabulate\n")


@pytest.mark.parametrize(
    "words", ["Seg fault in resize", "It seg faults", "segmentation violation in resize"]
)
def test_words_for_a_segmentation_fault(words: str) -> None:
    bug = bug_of(report(CODE, title=words))
    assert (bug.kind, bug.signal) == (CheckKind.CRASH, "SIGSEGV")


def test_a_crash_of_this_code_is_tied_to_it() -> None:
    title = "Segfault with unlimited things"
    assert bug_of(report(CODE, title=title)).loose
    assert not bug_of(report(CODE, title=title, above="This code segfaults on the last line:")).loose


DATED = "On version 2.14.0 it gives `1.5`. With version 2.16.1 it gives `1.25`."


def test_values_on_both_sides_of_a_change() -> None:
    reading = report(CODE, above="Since somelib 2.15.0 the value is wrong.", below=DATED)
    assert [(check.role, check.number) for check in reading.claim.checks] == [
        (Role.BUG, "1.25"),
        (Role.EXPECTED, "1.5"),
    ]


def test_a_value_from_before_the_change_is_no_bug() -> None:
    above = "Since somelib 2.15.0 the result has changed."
    assert not report(CODE, above=above, below="On version 2.14.0 it gives `1.5`.").claim.checks


TEST = "import numpy as np\n\nLIMIT = np.float32(3)\n\n\ndef test_limit():\n    assert LIMIT == 4\n"


def test_a_test_that_nothing_calls_is_run() -> None:
    assert "run_as_test" in repairs_of(report(TEST))
    assert "run_as_test" not in repairs_of(report(f"{TEST}\nprint(LIMIT)"))


def test_the_sign_of_pytest_before_an_error() -> None:
    below = "```\nE   somelib.errors.TagError: no tag:\nE     it has none\n```"
    bug = bug_of(report(CODE, below=below))
    assert (bug.kind, bug.exception_type) == (CheckKind.EXCEPTION, "TagError")


INTERRUPTED = """\
^CKeyboardInterrupt

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
  File "/usr/lib/python3/site-packages/somelib/core.py", line 254, in search
    return self.run(text)
SystemError: <method 'run'> returned a result with an exception set
"""


def test_what_an_interrupt_raised_is_a_hang() -> None:
    reading = read(
        f"# It does not come back\n\n```\n>>> import re\n>>> re.match('a', 'b')\n{INTERRUPTED}```\n"
    )
    bug = bug_of(reading)
    assert (bug.kind, bug.message) == (CheckKind.HANG, "in search")


def test_the_banner_of_ipython_is_no_output() -> None:
    session = """```ipython
Python 3.8.8 (default, Apr 13 2021, 15:08:03)
Type 'copyright', 'credits' or 'license' for more information
IPython 7.22.0 -- An enhanced Interactive Python. Type '?' for help.

In [1]: import numpy as np

In [2]: np.float32(3) + 2
Out[2]: 4.0
```"""
    assert lines_of(read(f"# Wrong sum\n\nWith `x=3` in a `np.sum(x=3)` it is wrong.\n\n{session}\n")) == [
        "4.0"
    ]


@pytest.mark.parametrize(
    ("words", "is_other"), [("With `np.ones(3, order=9)`", True), ("With `f(dtype=int)`", False)]
)
def test_a_keyword_of_the_script_is_no_other_setting(words: str, is_other: bool) -> None:  # noqa: FBT001
    code = "import numpy as np\nprint(np.ones(3, dtype=int).sum())"
    bug = bug_of(report(code, below=f"{words} it prints this.\n\n```\n4\n```"))
    assert (bug.where.mode is not None) is is_other


def test_what_other_code_gives_is_no_bug() -> None:
    code = "import numpy as np\nprint(np.ones(3).cumsum().tolist())"
    below = "I get\n`[1.0, 3.0]`\nBut `print(list(range(3)))` gives\n`[0, 1, 2]`\n"
    reading = report(code, below=below)
    assert (lines_of(reading), reading.claim.further) == (["[1.0, 3.0]"], ())


def test_an_expression_that_ends_in_a_number_has_its_right_value() -> None:
    code = "import torch\ntorch.tensor(-2) >> 1"
    below = "```\ntensor(7)\n```\n\n## Expected behavior\n\ntorch.tensor(-2) >> 1 should output -1. So.\n"
    assert lines_of(report(code, below=below), Role.EXPECTED) == ["-1"]


@pytest.mark.parametrize(
    "words",
    [
        "The call of df runs without an error although the column is not there.",
        "With df there is no exception even though the name is unknown.",
    ],
)
def test_no_error_although_something_is_missing(words: str) -> None:
    bug = bug_of(report("df = {}\nprint(df.get('a'))", below=words))
    assert (bug.kind, bug.loose) == (CheckKind.NO_ERROR, False)


def test_the_size_of_a_frame_is_no_line() -> None:
    below = "It prints\n```\n     c\n1 2  3\n[1 rows x 1 columns]\n```"
    assert lines_of(report(CODE, below=below)) == ["c", "1 2  3"]


def test_prints_without_a_fence_above_what_they_print() -> None:
    text = "Some values are wrong.\nprint(Fraction(2.5))\n2/1\nprint(Fraction(0.5))\n1/3\n"
    reading = read(f"# Fraction gives wrong results\n\n{text}")
    assert reading.scripts[0].script.startswith("from fractions import Fraction; print(Fraction(2.5))\n")
    assert lines_of(reading) == ["2/1", "1/3"]


def test_labelled_times_are_a_claim_of_slowness() -> None:
    below = "It is not quick:\n```\nwith an axis time: 27.38\nwithout axis time: 0.011\n```"
    bug = bug_of(report(CODE, below=below))
    assert (bug.kind, bug.sides) == (CheckKind.SLOWER, ("with an axis time", "without axis time"))
    assert bug.factor == pytest.approx(2489.09, abs=0.01)


@pytest.mark.parametrize(
    "lines",
    [
        # Values, no times.
        "with an axis: 27.38\nwithout axis: 0.011",
        # Nobody complains of so little.
        "with an axis time: 1.2\nwithout axis time: 1.1",
    ],
)
def test_other_labelled_numbers_are_none(lines: str) -> None:
    checks = report(CODE, below=f"It is not right:\n```\n{lines}\n```").claim.checks
    assert CheckKind.SLOWER not in {check.kind for check in checks}


def test_versions_in_brackets_are_no_part_of_a_heading() -> None:
    below = (
        "## Current Behavior (v1.30.0 and recent versions)\n\n```\n[4, 2]\n```\n\n"
        "## Expected Behavior (v1.12.0 and earlier)\n\n```\n[3, 2]\n```\n"
    )
    reading = report(CODE, below=below)
    assert (lines_of(reading), lines_of(reading, Role.EXPECTED)) == (["[4, 2]"], ["[3, 2]"])


def test_between_prompts_stands_output_whatever_it_looks_like() -> None:
    session = ">>> import datetime\n>>> datetime.date(2020, 1, 2).ctime()\nsome day of 2020, I think\n"
    assert lines_of(read(f"# Wrong day\n\n```python\n{session}```\n")) == ["some day of 2020, I think"]


def test_what_i_get_is_no_output_of_another_program() -> None:
    session = ">>> import math\n>>> math.sqrt(-0.0) * math.inf\nnan\n"
    above = "I get nan here, where another program gives 1.0 (the correct answer), in version 0.9.0:"
    reading = read(f"# Wrong\n\n{above}\n\n```\n{session}```\n")
    assert lines_of(reading) == ["nan"]


def test_an_object_as_python_shows_it_is_a_printed_line() -> None:
    assert lines_of(report(CODE, below="Output:\n\n```\n<Amount(0.0, 'm')>\n```")) == ["<Amount(0.0, 'm')>"]


def test_an_item_of_a_list_is_no_value() -> None:
    below = "#### Actual Results\n\n1. Warning:\n2. It prints `[4, 2]`\n"
    assert lines_of(report(CODE, below=below)) == ["[4, 2]"]


def test_a_number_with_groups_of_digits_is_one_value() -> None:
    code = "print(f'{1e6:,.3f}')  # 1,000,000.001 which is wrong\nprint(2)"
    assert lines_of(report(code)) == ["1,000,000.001"]


def test_comments_below_the_script_are_what_it_prints() -> None:
    code = "a, b = 1, 2\nprint(f'{a = }')\nprint(f'{b = }')\n\n# a = 1\n# b = 3\n"
    assert lines_of(report(code)) == ["a = 1", "b = 3"]
    # Other comments are about something else.
    assert lines_of(report(f"{code}# c = 4\n")) == []


def test_a_call_of_something_else_is_no_right_value() -> None:
    below = "```\nIndexError: index 3\n```\n\n### Expected result\n\nIt should be empty, as `other([])` is.\n"
    assert not report(CODE, below=below).claim.having(Role.EXPECTED)


def test_the_usual_names_of_more_modules() -> None:
    code = "import numpy as np\nprint(sm.OLS(np.ones(3), np.ones(3)).fit().params)"
    assert "import statsmodels.api as sm" in report(code).scripts[0].script


@pytest.mark.parametrize("opening", ['h5py.File("own.h5", "w")', 'h5py.File("own.h5", mode="w")'])
def test_a_file_that_the_script_writes_itself_is_no_need(opening: str) -> None:
    code = f'import h5py\nwith {opening} as f:\n    f["a"] = 1\nprint(h5py.File("own.h5", "r")["a"][()])'
    assert [need.name for need in report(code).scripts[0].needs] == ["h5py"]
    assert not report(code).ask
    only_read = 'import h5py\nprint(h5py.File("own.h5", "r")["a"])'
    assert "own.h5" in [need.name for need in report(only_read).scripts[0].needs]


def test_code_on_the_line_of_the_opening_fence_is_code() -> None:
    failure = "---> 1 numpy.fliplr([1, 2])\n\nValueError: Input must be >= 2-d."
    reading = read(f"# fliplr fails\n\nThis is all:\n\n```numpy.fliplr([1, 2])\n{failure}\n```\n")
    assert "numpy.fliplr([1, 2])" in reading.scripts[0].script
    assert bug_of(reading).exception_type == "ValueError"


def test_the_inside_of_a_library_s_function_is_not_the_script() -> None:
    inside = (
        "```\n    try:\n        return _first.tell() == 3\n    except OSError:\n        return False\n```\n"
    )
    own = "```\nimport zlib\nprint(zlib.crc32(b'a'))\n```\n"
    reading = read(
        f"# crc32 is wrong\n\nIts source has\n{inside}\nThen I tried this, and it is so too:\n{own}\n"
    )
    assert reading.scripts[0].script.strip() == "import zlib\nprint(zlib.crc32(b'a'))"


@pytest.mark.parametrize(
    "prompt", ["(env) [me@box] ~ %", "[me@box:7] ~/work %", "[me@box work]#", "(base) me@box ~ %"]
)
def test_prompts_of_more_shells_are_no_output(prompt: str) -> None:
    below = f"```\n{prompt} python run.py\n[4, 2]\nzsh: segmentation fault  python run.py\n```"
    reading = report("import lib\nprint(lib.rows())\nlib.close()", below=below)
    assert not any("python run.py" in line for line in lines_of(reading))
    assert bug_of(reading).signal == "SIGSEGV"


def test_a_crash_of_the_title_outranks_what_is_printed_before_it() -> None:
    below = "The interpreter is killed by a `floating point exception`:\n\n```\n[0.3745, 0.9507]\n```"
    reading = report(
        "import lib\nprint(lib.rows())\nlib.exp()",
        below=below,
        title="exp ends in a floating point exception",
    )
    assert bug_of(reading).signal == "SIGFPE"
    # Without such a title, the output is the claim.
    assert lines_of(report("import lib\nprint(lib.rows())", below="```\n[0.3745, 0.9507]\n```"))
