"""The layout of a report: headings, captions and blocks tell which output is the bug, and which is right."""

from __future__ import annotations

import pytest
from default_limits import read
from layout_reports import CODE, DOCTEST, SORTS, fenced, script_with, shown

from app.intake.claim.claims import CheckKind, Role
from app.intake.layout.captions import (
    is_expected_caption,
    is_newer_caption,
    is_older_caption,
    is_seen_caption,
)


@pytest.mark.parametrize("caption", ["Output:", "**Actual result**", "I get", "Фактический результат"])
def test_captions_of_what_is_seen(caption: str) -> None:
    assert is_seen_caption(caption)
    assert not is_expected_caption(caption)


@pytest.mark.parametrize(
    "caption", ["but I expect", "Expected:", "instead of", "Ожидаемый результат", "期望结果"]
)
def test_captions_of_what_is_right(caption: str) -> None:
    assert is_expected_caption(caption)
    assert not is_seen_caption(caption)


def test_captions_of_states() -> None:
    assert is_older_caption("Old behaviour (1.5)")
    assert is_newer_caption("New behaviour (2.0)")
    assert not is_older_caption("Before you ask, I have looked at all of the documentation")
    assert not is_newer_caption("Output:")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("## Old behaviour (1.5)", "## New behaviour (2.0)"),
        ("**Good (1.10)**", "**Bad (1.11)**"),
        ("Before:", "After:"),
        ("#### numpy 1.26.4", "#### numpy 2.0.0"),
    ],
)
def test_the_output_of_an_older_state_is_no_bug(older: str, newer: str) -> None:
    old, new = (f"{older}\n\n{fenced('[2, 1]')}\n", f"{newer}\n\n{fenced('[1, 2]')}\n")
    for outputs in (old + new, new + old):
        assert shown(f"This is a regression.\n\n{CODE}\n{outputs}") == [(["[1, 2]"], ["[2, 1]"])]


def test_before_and_after_alone_may_be_steps_of_the_script() -> None:
    report = f"It swaps them.\n\n{CODE}\nBefore:\n\n{fenced('[2, 1]')}\nAfter:\n\n{fenced('[1, 2]')}"
    assert [bugs for bugs, _ in shown(report)] == [["[2, 1]"], ["[1, 2]"]]


def test_a_session_below_another_version_is_elsewhere() -> None:
    session = "```pycon\n>>> rank([3, 1])\n{}\n```\n"
    report = f"Wrong.\n\n{session.format('[1, 2]')}\nOn 3.11:\n\n{session.format('[2, 1]')}"
    assert shown(report)[0] == (["[1, 2]"], ["[2, 1]"])
    assert len(shown(report)) == 1


def test_a_block_may_label_both_sides() -> None:
    block = fenced("Expected: [2, 1]\nActual:   [1, 2]")
    assert shown(f"{CODE}\n{block}") == [(["[1, 2]"], ["[2, 1]"])]
    below = fenced("Got:\n    [1, 2]\nExpected:\n    [2, 1]")
    assert shown(f"{CODE}\n{below}") == [(["[1, 2]"], ["[2, 1]"])]
    # A script that prints these words shows both itself.
    own = CODE.replace("print(rank", "print('Expected: [2, 1]'); print('Actual:  ', rank")
    assert shown(f"{own}\n{block}")[0] == (["Expected: [2, 1]", "Actual:   [1, 2]"], [])


def test_a_failed_doctest_is_shown_without_the_place_of_its_file() -> None:
    code = f"```python\ndef f():\n    '''>>> f()\n    4\n    '''\n    return 5\n\n{DOCTEST}\n```\n"
    place = "*" * 70 + '\nFile "t.py", line 3, in __main__.f\n'
    failure = fenced(f"{place}Failed example:\n    f()\nExpected:\n    4\nGot:\n    5")
    assert shown(f"{code}\n{failure}")[0][0] == ["Failed example:", "f()", "Expected:", "4", "Got:", "5"]


@pytest.mark.parametrize(
    "diff",
    [
        "```diff\n--- expected\n+++ actual\n@@ -1 +1 @@\n-[2, 1]\n+[1, 2]\n```\n",
        "```diff\n-[2, 1]\n+[1, 2]\n```\n\n(- expected, + actual)\n",
        "```diff\n+[2, 1]\n-[1, 2]\n```\n\n(- is what I got, + what is expected)\n",
    ],
)
def test_a_diff_of_two_sides_shows_both(diff: str) -> None:
    assert shown(f"{CODE}\n{diff}") == [(["[1, 2]"], ["[2, 1]"])]


def test_another_diff_is_no_output() -> None:
    assert shown(f"{CODE}\n```diff\n--- a/rank.py\n+++ b/rank.py\n-[2, 1]\n+[1, 2]\n```\n") == [([], [])]


def test_an_output_that_is_quoted_above_the_own_script_is_a_reply() -> None:
    reply = "> For me it prints:\n>\n> ```\n> [2, 1]\n> ```\n"
    report = f"{reply}\nMy script:\n\n{CODE}\nand it prints\n\n{fenced('[1, 2]')}"
    assert shown(report) == [(["[1, 2]"], [])]
    # A report that is a quotation as a whole, as in a mail, stays.
    whole = f"{CODE}\nprints\n\n{fenced('[1, 2]')}"
    quoted = "\n".join(f"> {line}" for line in whole.split("\n"))
    assert shown(quoted) == [(["[1, 2]"], [])]


def test_an_object_below_a_caption_is_output() -> None:
    report = f"{CODE}\nOutput:\n\n{fenced('Rank(3, order=(1, 2))')}\nExpected:\n\n    Rank(3)\n"
    assert shown(report) == [(["Rank(3, order=(1, 2))"], ["Rank(3)"])]
    assert len(read(report).scripts) == 1


def test_the_expected_value_beside_a_picture_is_no_bug() -> None:
    report = f"{CODE}\nExpected output: `#ff0080`\n\nActual output:\n\n![image](https://example.org/1.png)\n"
    assert all(not bugs for bugs, _ in shown(report))


@pytest.mark.parametrize("caption", ["Case 1 (ok):", "With lists all is well:", "With a list ✅"])
def test_code_below_a_caption_that_it_works_is_a_control(caption: str) -> None:
    report = (
        f"{caption}\n\n```python\nprint(sum([1]))\n```\nprints `1`.\n\n"
        "Case 2 (bug):\n\n```python\nprint(sum((1,)))\n```\nprints `2`.\n"
    )
    reading = read(report)
    assert "(1,)" in reading.scripts[0].script
    assert [check.lines for check in reading.claim.having(Role.BUG)] == [("2",)]


def test_a_version_alone_is_no_output() -> None:
    report = f"### What happened?\n\n{CODE}\nOn 3.11:\n\nit is fine.\n"
    assert CheckKind.OUTPUT not in {check.kind for check in read(report).claim.checks}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("On numpy 1.26.4 this gave", "With 2.0.0:"),
        ("With 1.26.4:", "numpy 2.0.0"),
    ],
)
def test_only_one_of_two_versions_may_have_its_package(first: str, second: str) -> None:
    report = f"{CODE}\n{first}\n\n{fenced('[2, 1]')}\n{second}\n\n{fenced('[1, 2]')}"
    reading = read(report)
    assert shown(report) == [(["[1, 2]"], ["[2, 1]"])]
    assert reading.claim.checks[0].where.package == "numpy"


def test_what_an_older_version_returned_is_elsewhere() -> None:
    now = f"This currently returns\n\n{fenced('[1, 2]')}"
    report = f"{CODE}\n{now}\nwhile in ranks 1.2 it returned\n\n{fenced('[2, 1]')}"
    assert shown(report) == [(["[1, 2]"], ["[2, 1]"])]


@pytest.mark.parametrize("heading", ["## Works", "OK:", "**Good**"])
def test_code_below_a_heading_that_it_works_is_a_control(heading: str) -> None:
    bad = "## Doesn't work" if heading.startswith("#") else "Not OK:"
    session = "```pycon\n>>> rank({})\n{}\n```\n"
    report = f"{heading}\n\n{session.format('3', '3')}\n{bad}\n\n{session.format('4', '5')}"
    assert "rank(4)" in read(report).scripts[0].script
    assert shown(report)[0][0] == ["5"]


def test_a_session_may_hold_the_expected_value_below() -> None:
    assert shown("```\n>>> rank([3, 1])\n[1, 2]\n\nExpected:\n[2, 1]\n```\n") == [(["[1, 2]"], ["[2, 1]"])]


def test_a_string_below_the_code_may_hold_both_sides() -> None:
    code = '```python\nprint(rank([3, 1]))\n"""\nprints:\n[1, 2]\nexpected:\n[2, 1]\n"""\n```\n'
    assert shown(code) == [(["[1, 2]"], ["[2, 1]"])]


def test_a_table_in_a_block_may_have_a_column_for_each_side() -> None:
    table = fenced("n   got   expected\n1   10    10\n3   -24   1000")
    assert shown(f"{CODE}\n{table}") == [(["1 10", "3 -24"], ["1 10", "3 1000"])]
    # A script that prints this head prints the table.
    own = CODE.replace("print(rank", "print('n   got   expected'); print(rank")
    assert shown(f"{own}\n{table}")[0][1] == []


def test_the_output_of_a_labelled_script_belongs_to_it() -> None:
    report = (
        f"Script A:\n\n{SORTS}\nScript B:\n\n```python\nprint([2, 1])\n```\n\n"
        f"Output of A:\n\n{fenced('[1, 2]')}\nOutput of B:\n\n{fenced('[2, 1]')}"
    )
    assert shown(report) == [(["[1, 2]"], [])]


def test_a_value_alone_below_the_description_is_output() -> None:
    expected = '```python\nprint(float("nan"))\n# [2.0, 1.0]\n```\n'
    report = (
        f"### Example\n\n{SORTS}\n### Issue Description\n\n[1.0, 2.0]\n\n### Expected Behavior\n\n{expected}"
    )
    assert shown(report) == [(["[1.0, 2.0]"], ["[2.0, 1.0]"])]


def test_words_in_a_list_of_labelled_values() -> None:
    assert shown(f"{CODE}\n1. Actual: `bb`\n2. Expected: `bA`\n") == [(["bb"], ["bA"])]


@pytest.mark.parametrize(
    "rows",
    [
        "# numpy 1.26:\n# [2 1]\n# numpy 2.0:\n# [1 2]",
        "# numpy 2.0:\n# [1 2]\n# numpy 1.26:\n# [2 1]",
    ],
)
def test_captions_of_versions_in_comments(rows: str) -> None:
    assert shown(script_with(f"\n{rows}")) == [(["[1 2]"], ["[2 1]"])]


def test_the_main_branch_is_the_newest_version() -> None:
    assert shown(f"{CODE}\n0.20.0: `[2, 1]`\nmain: `[1, 2]`\n") == [(["[1, 2]"], ["[2, 1]"])]


@pytest.mark.parametrize(
    "outputs",
    [
        "| device | output |\n|---|---|\n| cpu | 0.75 |\n| cuda | 0.5 |\n",
        f"CPU:\n{fenced('0.75')}\nCUDA:\n{fenced('0.5')}",
    ],
)
def test_two_devices_in_rows_and_blocks(outputs: str) -> None:
    (bug,) = read(f"{CODE}\n{outputs}").claim.having(Role.BUG)
    assert (bug.kind, set(bug.sides)) == (CheckKind.DIFFERS, {"cpu", "cuda"})


def test_two_modes_in_blocks() -> None:
    report = f"{CODE}\nEager:\n{fenced('0.75')}\nCompiled:\n{fenced('0.5')}"
    (bug,) = read(report).claim.having(Role.BUG)
    assert (bug.kind, set(bug.sides)) == (CheckKind.DIFFERS, {"eager", "compiled"})


def test_a_start_with_a_setting_shows_what_happens_elsewhere() -> None:
    session = fenced("$ python t.py\n[1, 2]\n$ RANK_MODE=old python t.py\n[2, 1]")
    claim = read(f"{CODE}\n{session}").claim
    assert claim.having(Role.BUG)[0].lines == ("[1, 2]",)
    assert [check.where.mode for each in claim.further for check in each.having(Role.BUG)] == ["other code"]


def test_no_warning_is_expected() -> None:
    shown_warning = fenced("/tmp/t.py:2: RuntimeWarning: divide by zero\n  print(rank([3, 1]))\n-inf")
    claim = read(f"{CODE}\n{shown_warning}\nExpected: no warning.\n").claim
    assert claim.having(Role.BUG)[0].exception_type == "RuntimeWarning"


@pytest.mark.parametrize(
    ("seen", "right"),
    [
        ("### Comportamento atual", "### Comportamento esperado"),
        ("### 실제 결과", "### 예상 결과"),
        ("### Wynik", "### Oczekiwany wynik"),
        ("**Risultato ottenuto**", "**Risultato atteso**"),
    ],
)
def test_headings_in_other_languages(seen: str, right: str) -> None:
    seen_part, right_part = f"{seen}\n\n{fenced('[1, 2]')}\n", f"{right}\n\n{fenced('[2, 1]')}\n"
    for parts in (seen_part + right_part, right_part + seen_part):
        assert shown(f"{CODE}\n{parts}") == [(["[1, 2]"], ["[2, 1]"])]
