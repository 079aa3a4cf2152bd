"""Code that stands in tables, diffs, mails and bold type, at other prompts, and in commands."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Role, Trait
from app.intake.reading import Reading

DISPLAY = '__import__("sys").displayhook('


def _read(*lines: str) -> Reading:
    return read("\n".join(lines) + "\n", form="report")


def _bug(reading: Reading) -> tuple[str, ...]:
    return reading.claim.having(Role.BUG)[0].lines


def test_a_single_sign_is_a_prompt_where_something_is_imported() -> None:
    session = ("> from decimal import Decimal", "> Decimal('0.1') == Decimal(0.1)", "False")
    reading = _read("# Not equal", "", "```", *session, "```", "", "Expected True.")
    assert reading.scripts[0].script.rstrip().endswith(f"{DISPLAY}Decimal('0.1') == Decimal(0.1))")
    assert _bug(reading) == ("False",)
    other = _read(
        "# Not equal", "", "```", "> x = c(1, 2)", "> round(2.5)", "[1] 2", "```", "", "Expected 3."
    )
    assert not other.scripts


@pytest.mark.parametrize(
    "lines",
    [
        ('$ python -c "print(-7 // 2)"', "-4"),
        ("$ python3 - <<'EOF'", "print(-7 // 2)", "EOF", "-4"),
        ('python -c "print(-7 // 2)"', "-4"),
        ("```", 'PS C:\\Users\\me> python -c "print(-7 // 2)"', "-4", "PS C:\\Users\\me>", "```"),
        ("```", 'In [1]: !python -c "print(-7 // 2)"', "-4", "```"),
    ],
)
def test_a_command_holds_the_code(lines: tuple[str, ...]) -> None:
    reading = _read("# Rounds down", "", *lines, "", "I expect -3 as in C.")
    assert reading.scripts[0].script.strip() == "print(-7 // 2)"
    assert _bug(reading) == ("-4",)


def test_a_table_of_calls_is_a_session_of_those_that_are_wrong() -> None:
    rows = ("| `round(0.5)` | 0 | 1 |", "| `round(1.5)` | 2 | 2 |", "| `round(2.5)` | 2 | 3 |")
    reading = _read("# round", "", "| Expression | I get | Expected |", "|---|---|---|", *rows)
    assert reading.scripts[0].script.split() == [f"{DISPLAY}round(0.5))", f"{DISPLAY}round(2.5))"]
    assert _bug(reading) == ("0", "2")
    assert reading.claim.having(Role.EXPECTED)[0].lines == ("1", "3")


@pytest.mark.parametrize(
    "rows",
    [
        ("| `f(0.5)` | 0 | 1 |",),
        ("| `float('x')` | ValueError | 1 |", "| `round(2.5)` | 2 | 3 |"),
        ("| `-1` | 0 | 1 |",),
    ],
)
def test_a_table_of_unknown_names_errors_or_values_is_no_session(rows: tuple[str, ...]) -> None:
    assert not _read("# round", "", "| Expression | I get | Expected |", "|---|---|---|", *rows).scripts


def test_the_new_side_of_a_diff_is_a_script() -> None:
    diff = ("```diff", " import numpy as np", " a = np.array([3.0, np.nan])", "-print(np.nanmin(a))")
    lines = (*diff, "+print(np.min(a))", "```", "", "it prints `nan`. It should print `3.0`.")
    script = _read("# min with NaN", "", "If I change the example:", "", *lines).scripts[0].script
    assert "print(np.min(a))" in script
    assert "nanmin" not in script
    assert not _read("# min with NaN", "", "This fixes it:", "", *lines).scripts


def test_bold_type_and_tags_stand_for_backticks() -> None:
    bold = _read("# bool", "", "**sum([True, True])** gives **2**, but I would expect a **TypeError**.")
    tags = _read("# bool", "", "<p>Calling <code>sum([True, True])</code> gives <code>2</code>.</p>")
    arrow = _read("# bool", "", "`sum([True, True])` → `2`. I expected `True`.")
    for reading in (bold, tags, arrow):
        assert reading.scripts[0].script.strip() == f"{DISPLAY}sum([True, True]))"


def test_a_mail_quotes_a_session() -> None:
    reading = _read("On Monday somebody wrote:", "", "> >>> 7 // -2", "> -4", ">", "> I expect -3.")
    assert reading.scripts[0].script.strip() == f"{DISPLAY}7 // -2)"
    assert _bug(reading) == ("-4",)


@pytest.mark.parametrize(
    ("words", "trait"),
    [
        ("The result is all zeros. I'd expect the values.", Trait.NOT_ZEROS),
        ("I get nothing but zeros; expected [1 2].", Trait.NOT_ZEROS),
        ("It returns only NaN.", Trait.NOT_NAN),
    ],
)
def test_a_complaint_of_all_elements_is_no_claim_of_one(words: str, trait: Trait) -> None:
    code = ("```python", "import numpy as np", "print(np.zeros(2))", "```")
    reading = _read("# Values are lost", "", *code, "", words)
    (bug,) = reading.claim.having(Role.BUG)
    assert (bug.kind, bug.trait, bug.prints) == (CheckKind.LACKS, trait, 1)


def test_a_named_prompt_counts_where_something_is_imported() -> None:
    session = ("python> import math", "python> math.floor(-0.5)", "-1")
    reading = _read("# floor", "", "```", *session, "```", "", "I expect 0.")
    assert reading.scripts[0].script.rstrip().endswith(f"{DISPLAY}math.floor(-0.5))")


def test_entities_before_a_prompt_are_no_text() -> None:
    reading = _read("<pre>", "&gt;&gt;&gt; 0.1 + 0.2 == 0.3", "False", "</pre>", "", "It should be True.")
    assert reading.scripts[0].script.strip() == f"{DISPLAY}0.1 + 0.2 == 0.3)"


def test_a_mail_quotes_a_statement_twice() -> None:
    reading = _read(
        "Kim wrote:", ">> What do you get?", ">>", ">> print(round(1.005, 2))", ">", "> I get 1.0 here."
    )
    assert reading.scripts[0].script.strip() == "print(round(1.005, 2))"


def test_a_command_in_a_sentence_holds_the_code() -> None:
    command = '`python3 -c "import statistics; print(statistics.quantiles([1, 2, 3], n=2))"`'
    reading = _read("# quantiles", "", f"If I run {command} I get `[1.5]`, and expect `[2.0]`.")
    assert (
        reading.scripts[0].script.strip() == "import statistics; print(statistics.quantiles([1, 2, 3], n=2))"
    )
    version = '`python3 -c "import numpy; print(numpy.__version__)"`'
    assert not _read("# version", "", f"My {version} gives `2.4.6`.").scripts


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("The array comes back unchanged.", "a"),
        ("What I get is the same as the input. It should be reversed.", "a"),
        ("The array should come back unchanged, but it is sorted.", None),
        ("It is fine that the result is unchanged.", None),
    ],
)
def test_an_input_that_comes_back_is_printed_too(words: str, name: str | None) -> None:
    code = ("```python", "import numpy as np", "a = np.array([1, 2, 3])", "print(np.flip(a))", "```")
    reading = _read("# flip", "", *code, "", words)
    last = reading.scripts[0].script.rstrip().split("\n")[-1]
    assert last == ("print(np.flip(a))" if name is None else f"print({name}); print(np.flip(a))")
    bugs = reading.claim.having(Role.BUG)
    assert [(bug.trait, bug.among) for bug in bugs if bug.trait] == (
        [(Trait.DISTINCT, (1, 2))] if name else []
    )


def test_no_value_of_a_table_is_the_right_one_of_another_call() -> None:
    rows = ("| `np.degrees(np.pi)` | 3.14 | 180.0 |", "| `np.radians(180)` | 180.0 | 3.14159 |")
    reading = _read("# Trigonometry", "", "| Code | Got | Correct |", "|---|---|---|", *rows)
    assert _bug(reading) == ("3.14",)
    assert "radians" not in reading.scripts[0].script


def test_a_traceback_of_ipython_does_not_end_its_session() -> None:
    head = ("In [1]: import math", "", "In [2]: math.isqrt(2.0)", "-" * 75)
    title = "TypeError                                 Traceback (most recent call last)"
    frames = ("<ipython-input-2-ab12> in <module>", "----> 1 math.isqrt(2.0)", "")
    end = ("TypeError: 'float' object cannot be interpreted", "", "In [3]: math.isqrt(8)", "Out[3]: 3")
    lines = (*head, title, *frames, *end)
    reading = _read("# isqrt rounds up", "", *lines, "", "It should be `2`.")
    assert "math.isqrt(8)" in reading.scripts[0].script
    assert _bug(reading) == ("3",)
