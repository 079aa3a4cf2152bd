"""Words that say how often a bug comes, and loops by which a script repeats its own check."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.code.own_loops import repeats_by_itself
from app.intake.words.frequency_words import says_sometimes, with_frequency

SCRIPT = "```python\nimport random\nassert random.random() < 0.5\n```\n\nAssertionError\n\n"


@pytest.mark.parametrize(
    "words",
    [
        "You might have to execute the script several times.",
        "Please run this a few times, one run is not enough.",
        "It needs a couple of tries.",
        "The assertion doesn't always fail.",
        "It crashes from time to time.",
        "Man muss es mehrmals starten.",
        "Il faut lancer le script plusieurs fois.",
        "Hay que ejecutar el programa varias veces.",
        "Скрипт надо запустить несколько раз.",
        "可能要多跑几次才能看到。",
    ],
)
def test_one_run_may_not_show_it(words: str) -> None:
    assert says_sometimes(words)
    assert says_sometimes(read(f"# A check fails\n\n{SCRIPT}{words}\n", form="report").claim.text)


@pytest.mark.parametrize(
    "words",
    [
        "I ran it several times and it fails every time.",
        "To run this 100 times takes 3 seconds.",
        "The docs are not always clear, and sometimes wrong.",
        "Je ne comprends pas toujours la doc.",
        "It always fails.",
    ],
)
def test_other_words_of_a_report_say_nothing_about_its_runs(words: str) -> None:
    assert with_frequency("A check fails", [words]) == "A check fails"


@pytest.mark.parametrize(
    "title",
    ["argmax isn't deterministic", "nicht immer richtig", "Not always sorted", "nondeterministic sum"],
)
def test_a_title_says_sometimes_in_more_words(title: str) -> None:
    assert says_sometimes(title)
    assert with_frequency(title, []) == title


@pytest.mark.parametrize(
    "title",
    [
        "np.random.normal is wrong",
        "random_state is ignored",
        "A random seed of 0",
        "cumsum stays within 0 and 1 in 1.22rc0",
        "index 1 in 5.0 is lost",
    ],
)
def test_a_name_with_random_is_no_word_of_chance(title: str) -> None:
    assert not says_sometimes(title)
    assert says_sometimes(f"{title}, at random")


LOOP = "import numpy as np\nfor i in range({rounds}):\n    x = make()\n    assert x.all()\n"


@pytest.mark.parametrize(
    ("text", "line", "repeats"),
    [
        pytest.param(LOOP.format(rounds="59"), 4, True, id="enough rounds"),
        pytest.param(LOOP.format(rounds="0, 590, 10"), 4, True, id="steps"),
        pytest.param(LOOP.format(rounds="58"), 4, False, id="too few"),
        pytest.param(LOOP.format(rounds="n"), 4, False, id="an unknown number"),
        pytest.param(LOOP.format(rounds="99"), 1, False, id="outside"),
        pytest.param(
            "for i in range(8):\n    for j in range(8):\n        check(i)\n", 3, True, id="a loop in a loop"
        ),
        pytest.param("for i in range(99):\n    if i:\n        check(i)\n", 3, False, id="a condition"),
        pytest.param("for i in range(99):\n    check(i)\n    break\n", 2, False, id="a break"),
        pytest.param("for i in range(99):\n    try:\n        f()\n    except E: 1\n", 3, False, id="a try"),
        pytest.param("def f():\n    for i in range(99):\n        g()\n", 3, False, id="a function"),
    ],
)
def test_a_statement_in_a_loop_repeats_by_itself(text: str, line: int, *, repeats: bool) -> None:
    assert repeats_by_itself(text, line, 59, unseeded=False) is repeats


def test_draws_outside_of_the_loop_are_the_same_in_each_round() -> None:
    inside = "import random\nfor i in range(99):\n    assert random.random() < 1\n"
    outside = "import random\nx = random.random()\nfor i in range(99):\n    assert x < 1\n"
    assert repeats_by_itself(inside, 3, 59, unseeded=True)
    assert not repeats_by_itself(outside, 4, 59, unseeded=True)
