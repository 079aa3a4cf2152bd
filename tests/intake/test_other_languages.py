"""Claims in other languages are read like English ones, and are shown in the reporter's own words."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.words.languages import in_english

SCRIPT = "```python\nprint(2 + 2)\n```\n\n"


@pytest.mark.parametrize(
    "sentence",
    [
        "Das liefert `4` statt `5`.",
        "Es kommt `4`, richtig wäre `5`.",
        "Cela affiche `4` au lieu de `5`.",
        "On obtient `4`, j'attendais `5`.",
        "Imprime `4` en lugar de `5`.",
        "Devuelve `4`, debería ser `5`.",
        "Retorna `4` em vez de `5`.",
        "Stampa `4` invece di `5`.",
        "Выводит `4` вместо `5`.",
        "打印 `4`，应该是 `5`。",
        "输出 `4` 而不是 `5`。",
    ],
)
def test_a_value_and_the_one_in_its_place(sentence: str) -> None:
    checks = read(SCRIPT + sentence, form="report").claim.checks
    assert [(check.role.value, check.number or check.lines[0]) for check in checks] == [
        ("bug", "4"),
        ("expected", "5"),
    ]
    assert {check.text for check in checks} <= {sentence, "4", "5"}


@pytest.mark.parametrize(
    "text",
    [
        "It prints 3, and the error is wrong: the sale of item 4 should be 5.",
        "MIT licence, et al., et cetera; falls back to CPU",
        'run `gibt` and "statt"',
    ],
)
def test_english_and_quoted_words_stay(text: str) -> None:
    assert in_english(text) == text
