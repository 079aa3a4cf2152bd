"""Layouts with rows of versions, outputs in comments, consoles and labels."""

from __future__ import annotations

import pytest
from default_limits import read
from layout_reports import CODE, fenced, script_with, shown

from app.intake.claim.claims import CheckKind, Role


@pytest.mark.parametrize(
    "rows",
    [
        "- 1.24: [2, 1] (ok)\n- 1.25: [1, 2] (wrong)\n- 1.26: [1, 2] (wrong)\n",
        "* ranks 2.8.8 -> `[2, 1]`\n* ranks 3.1.0 -> `[1, 2]` :x:\n",
        "| numpy | result |\n|---|---|\n| 1.24 | [2, 1] |\n| 1.25 | [1, 2] |\n",
        "| version | output | |\n|---|---|---|\n| 2.0 | [2, 1] | ✅ |\n| 2.1 | [1, 2] | ❌ |\n",
        "| | ranks 1.24 | ranks 1.25 |\n|---|---|---|\n| result | [2, 1] | [1, 2] |\n",
        "| numpy | resultado |\n|---|---|\n| 1.26.4 | [2, 1] (bien) |\n| 2.1.0 | [1, 2] (mal) |\n",
    ],
)
def test_results_of_versions_in_rows(rows: str) -> None:
    assert shown(f"{CODE}\n{rows}") == [(["[1, 2]"], ["[2, 1]"])]


def test_the_wrong_result_may_be_of_an_older_version() -> None:
    rows = "- ranks 1.24: `[1, 2]` (wrong)\n- ranks 1.25: `[2, 1]` (ok)\n"
    claim = read(f"{CODE}\n{rows}").claim
    (bug,) = claim.having(Role.BUG)
    assert bug.lines == ("[1, 2]",)
    assert bug.where.version is None


@pytest.mark.parametrize(
    "rows",
    [
        # These may be arguments, growths, or results that are the same.
        "- 0.5: 1.2\n- 1.5: 3.4\n",
        "| x | f(x) |\n|---|---|\n| 0.5 | 1.2 |\n| 1.5 | 3.4 |\n",
        "| numpy | growth |\n|---|---|\n| 1.14 | ~ 1 MiB |\n| 1.15 | ~ 95 MiB |\n",
        "- numpy 1.24: ok\n- numpy 1.25: wrong\n",
    ],
)
def test_rows_that_are_no_results_of_versions(rows: str) -> None:
    assert [bugs for bugs, _ in shown(f"{CODE}\n{rows}") if bugs] == []


def test_a_block_beside_the_rows_shows_what_happens() -> None:
    rows = "| numpy | growth |\n|---|---|\n| 1.14 | 1.5 |\n| 1.15 | 95.5 |\n"
    assert shown(f"{rows}\n{CODE}\nOutput:\n\n{fenced('[1, 2]')}") == [(["[1, 2]"], [])]


@pytest.mark.parametrize(
    "comments",
    [
        "# [[1 0]\n#  [0 2]]\n\n# Expected:\n# [[2 0]\n#  [0 1]]",
        "\n# Output:\n# [[1 0]\n#  [0 2]]\n\n# I expected\n# [[2 0]\n#  [0 1]]",
        "\n# Output:\n# [[1 0]\n#  [0 2]]\n# Expected output:\n# [[2 0]\n#  [0 1]]",
    ],
)
def test_outputs_of_several_lines_in_comments(comments: str) -> None:
    assert shown(script_with(comments)) == [(["[[1 0]", "[0 2]]"], ["[[2 0]", "[0 1]]"])]


def test_outputs_in_the_docstring_of_a_script() -> None:
    code = '```python\n"""\nOutput:\n    [1, 2]\nExpected:\n    [2, 1]\n"""\nprint(rank([3, 1]))\n```\n'
    assert shown(code) == [(["[1, 2]"], ["[2, 1]"])]


def test_results_of_versions_in_comments() -> None:
    assert shown(script_with("# 1.25.0: 1.5\n# 1.26.0: 1.0"))[0] == (["1.0"], ["1.5"])


@pytest.mark.parametrize("comments", ["# x = 3\n# y = rank(x)", "# It is slow, because\n# the list is long"])
def test_other_comments_are_no_output(comments: str) -> None:
    assert [bugs for bugs, _ in shown(script_with(comments)) if bugs] == []


@pytest.mark.parametrize(
    "session",
    [
        "$ python3.10 t.py\n[2, 1]\n$ python3.12 t.py\n[1, 2]",
        "$ uv run -p 3.10 t.py\n[2, 1]\n$ uv run -p 3.12 t.py\n[1, 2]",
        "$ pip install ranks==1.9\n$ python t.py\n[2, 1]\n$ pip install ranks==2.0\n$ python t.py\n[1, 2]",
        "$ uv run --with ranks==1.9 t.py\n[2, 1]\n$ uv run --with ranks==2.0 t.py\n[1, 2]",
    ],
)
def test_a_session_may_start_a_script_with_several_versions(session: str) -> None:
    assert shown(f"{CODE}\n{fenced(session)}") == [(["[1, 2]"], ["[2, 1]"])]


def test_a_session_may_show_one_statement_with_several_versions() -> None:
    session = fenced(
        "$ python3.10 -c 'print(rank([3, 1]))'\n[2, 1]\n$ python3.12 -c 'print(rank([3, 1]))'\n[1, 2]"
    )
    assert read(session).scripts[0].script.strip().endswith("print(rank([3, 1]))")
    assert shown(session) == [(["[1, 2]"], ["[2, 1]"])]


def test_commands_that_start_different_statements_are_one_script() -> None:
    session = fenced("$ python -c 'print(1 + 1)'\n2\n$ python -c 'print(1 + 2)'\n4")
    reading = read(session)
    assert reading.scripts[0].script == "print(1 + 1)\nprint(1 + 2)\n"
    assert shown(session) == [(["2", "4"], [])]


def test_words_below_a_command_are_output() -> None:
    report = (
        f"{CODE}\n{fenced('C:/work> python t.py' + chr(10) + 'first/second')}\nExpected: `second/first`\n"
    )
    assert shown(report) == [(["first/second"], ["second/first"])]


def test_a_comment_at_the_prompt_says_that_the_value_below_is_expected() -> None:
    session = "```pycon\n>>> rank([3, 1])\n[1, 2]\n>>> # expected\n>>> [2, 1]\n[2, 1]\n```\n"
    assert shown(session) == [(["[1, 2]"], ["[2, 1]"])]
    # Another comment changes nothing.
    assert shown(session.replace("# expected", "# a list"))[0][0] == ["[1, 2]", "[2, 1]"]


def test_a_label_of_a_notebook_below_a_script() -> None:
    report = "```python\nrank([3, 1])[::-1]\n```\nOut[5]: [1, 2]\n\nExpected: [2, 1]\n"
    reading = read(report)
    assert "displayhook" in reading.scripts[0].script
    assert shown(report) == [(["[1, 2]"], ["[2, 1]"])]


@pytest.mark.parametrize(
    "headings",
    [
        "### Current Behavior\n\nIn `rank` it is `0.25`.\n\n### Expected Behavior\n\nThe value is `0.5`.\n",
        "## Actual vs. expected\n`0.25` vs. `0.5`\n",
        "## Expected vs actual\n`0.5`, `0.25`\n",
    ],
)
def test_one_value_below_each_heading(headings: str) -> None:
    assert shown(f"{headings}\n### Steps\n\n{CODE}")[0] == (["0.25"], ["0.5"])


def test_several_values_below_a_heading_are_left_to_the_sentences() -> None:
    headings = "### Current Behavior\n\n`3` and `4` differ.\n\n### Expected Behavior\n\nThe value is `0.5`.\n"
    assert shown(f"{headings}\n### Steps\n\n{CODE}")[0][0] == []


@pytest.mark.parametrize(
    "session",
    [
        "$ tox -e py310\n[2, 1]\n$ tox -e py313\n[1, 2]",
        "$ docker run python:3.11 python t.py\n[2, 1]\n$ docker run python:3.13 python t.py\n[1, 2]",
    ],
)
def test_a_start_may_name_its_version_in_another_form(session: str) -> None:
    assert shown(f"{CODE}\n{fenced(session)}") == [(["[1, 2]"], ["[2, 1]"])]


def test_starts_in_two_environments_are_two_readings() -> None:
    session = fenced("(old) $ python t.py\n[2, 1]\n(new) $ python t.py\n[1, 2]")
    assert [bugs for bugs, _ in shown(f"{CODE}\n{session}")] == [["[2, 1]"], ["[1, 2]"]]


def test_a_column_of_a_table_may_be_named_by_the_code() -> None:
    table = "| n | rank.last | correct |\n|---|---|---|\n| 1 | 10 | 10 |\n| 3 | 20 | 30 |\n"
    code = CODE.replace("rank(", "rank.last(")
    assert shown(f"{code}\n{table}")[0] == (["1 10", "3 20"], ["1 10", "3 30"])


def test_a_column_with_the_same_cell_in_all_rows_tells_nothing_apart() -> None:
    rows = "| OS | Python | result |\n|---|---|---|\n| Linux | 3.11 | [2, 1] |\n| Linux | 3.13 | [1, 2] |\n"
    assert shown(f"{CODE}\n{rows}") == [(["[1, 2]"], ["[2, 1]"])]


def test_a_table_of_devices_may_have_a_column_for_each() -> None:
    (bug,) = read(f"{CODE}\n| | CPU | GPU |\n|---|---|---|\n| result | 100.0 | inf |\n").claim.having(
        Role.BUG
    )
    assert (bug.kind, set(bug.sides)) == (CheckKind.DIFFERS, {"cpu", "cuda"})


def test_a_table_in_html_is_a_table() -> None:
    table = (
        "<table>\n<tr><th>expected</th><th>actual</th></tr>\n<tr><td>1.01</td><td>1.0</td></tr>\n</table>\n"
    )
    bug, right = read(f"{CODE}\n{table}").claim.checks
    assert (bug.number, right.number) == ("1.0", "1.01")


def test_blocks_of_restructured_text() -> None:
    report = (
        "The ranks are turned round.\n\n.. code-block:: python\n\n    print(rank([3, 1]))\n\n"
        "Output:\n\n.. code-block:: none\n\n    [1, 2]\n\n"
        "Expected:\n\n.. code-block:: none\n   :caption: right\n\n    [2, 1]\n"
    )
    assert read(report).scripts[0].script.strip() == "print(rank([3, 1]))"
    assert shown(report) == [(["[1, 2]"], ["[2, 1]"])]


def test_indented_values_below_a_cell_are_its_output() -> None:
    report = "```python\nrank([3, 1])\n```\n\n    [1, 2]\n\nI'd expect\n\n    [2, 1]\n"
    assert shown(report) == [(["[1, 2]"], ["[2, 1]"])]


def test_objects_with_small_names_below_a_caption() -> None:
    report = (
        f"{CODE}\nActual:\n\n```python\nfrozenset()\n```\nExpected:\n\n```python\nfrozenset({{'x'}})\n```\n"
    )
    assert shown(report) == [(["frozenset()"], ["frozenset({'x'})"])]
    # A name that is handed over is code.
    assert len(read(report.replace("frozenset()", "deque(values)")).scripts) == 2


@pytest.mark.parametrize("wrong", ["❌ Wrong:", "**Incorrect**"])
def test_captions_with_signs(wrong: str) -> None:
    assert shown(f"{CODE}\n{wrong}\n{fenced('[1, 2]')}\n✅ Correct:\n{fenced('[2, 1]')}") == [
        (["[1, 2]"], ["[2, 1]"])
    ]


def test_comments_below_a_loop_are_its_output() -> None:
    code = "```python\nfor n in (1, 2):\n    print(n, rank(n))\n\n# 1 True\n# 2 False   <-- wrong!\n```\n"
    assert shown(code)[0][0] == ["1 True", "2 False"]


def test_a_printed_table_with_remarks_is_output() -> None:
    table = "(Wrong) Output\n\nid | x\n---|---\n4 | 1.0\n5 | 3 <- should be null\n"
    assert shown(f"{CODE}\n{table}") == [(["id | x", "4 | 1.0", "5 | 3"], ["id | x", "4 | 1.0", "5 | null"])]
    assert [bugs for bugs, _ in shown(f"{CODE}\n{table.replace(' <- should be null', '')}") if bugs] == []


def test_what_somebody_drew_below_a_line_is_no_output() -> None:
    block = fenced("1.5 2 1\n    ^\n    |__ wrong, must be 1.5")
    assert shown(f"{CODE}\n{block}")[0][0] == ["1.5 2 1"]
    error = fenced('  File "t.py", line 1\n    a b\n      ^\nSyntaxError: invalid syntax')
    assert read(f"{CODE}\n{error}").claim.checks[0].exception_type == "SyntaxError"


def test_data_below_a_caption_is_output_and_no_file() -> None:
    report = f"{CODE}\n# Bad output\n\n```json\n[1, 2]\n```\n\n# Good output\n\n```json\n[2, 1]\n```\n"
    assert shown(report) == [(["[1, 2]"], ["[2, 1]"])]
    assert shown(f"{CODE}\nMy config:\n\n```json\n[1, 2]\n```\n") == [([], [])]


def test_versions_between_stars() -> None:
    assert shown(f"{CODE}\n**1.20**: `[2, 1]`\n\n**1.21**: `[1, 2]`\n") == [(["[1, 2]"], ["[2, 1]"])]


def test_commented_code_below_a_caption_is_no_output() -> None:
    assert [
        bugs for bugs, _ in shown(script_with("\n# Result\n# x = rank([4, 1])\n# print(x)")) if bugs
    ] == []


def test_the_newest_version_may_be_the_right_one() -> None:
    rows = "- numpy 1.24: `[1, 2]`\n- numpy 1.25: `[2, 1]`\n"
    assert [
        bugs for bugs, _ in shown(f"It was fixed in 1.25, please backport.\n\n{CODE}\n{rows}") if bugs
    ] == []
    # Marks tell it anyway.
    marked = rows.replace("2]`", "2]` (wrong)").replace("1]`", "1]` (ok)")
    assert shown(f"It was fixed in 1.25.\n\n{CODE}\n{marked}") == [(["[1, 2]"], ["[2, 1]"])]


def test_labels_in_the_message_of_an_error_are_left_there() -> None:
    message = fenced("AssertionError: Items are not equal:\n ACTUAL: 3\n DESIRED: 4")
    (bug, *_) = read(f"{CODE}\n{message}").claim.checks
    assert bug.exception_type == "AssertionError"
