"""Short reports in fifteen languages. Their right reading was written down first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from default_limits import read

from app.intake.claim.claims import Check, CheckKind
from app.intake.words.languages import in_english
from app.intake.words.phrases_by_language import replacements_of

REPORTS = Path(__file__).parents[1] / "reports" / "languages"
_HEAD = re.compile(r"<!-- (?P<name>[\w-]+): (?P<right>.*) -->\n")


def _reports() -> list[tuple[str, str, str]]:
    """The name, the right reading and the text of each report."""
    texts = [
        text for file in sorted(REPORTS.glob("*.md")) for text in file.read_text("utf-8").split("=====\n")
    ]
    heads = [_HEAD.match(text) for text in texts]
    return [
        (head["name"], head["right"], text[head.end() :])
        for head, text in zip(heads, texts, strict=True)
        if head is not None
    ]


def _shown(check: Check) -> str:
    match check.kind:
        case CheckKind.EXCEPTION:
            value = str(check.exception_type)
        case CheckKind.NO_ERROR:
            value = "no error"
        case _:
            value = check.number or "|".join(check.lines) or str(check.kind.value)
    return f"{check.role.value} {value}"


@pytest.mark.parametrize(
    ("right", "text"), [pytest.param(right, text, id=name) for name, right, text in _reports()]
)
def test_a_report_is_read_as_it_is_meant(right: str, text: str) -> None:
    claim = read(text, form="report").claim
    checks = {_shown(check) for each in (claim, *claim.further) for check in each.checks}
    assert checks - {"expected no error"} == set(right.split(" | ")) - {"none"}


@pytest.mark.parametrize(
    "text",
    [
        "The sale of item 4: it prints 5 real values, and the hat is on sale. Real: 3. Die 4.",
        "We met on a `x` machine, and Dan, AMA member, has NA 4 in two of the mats; sort `x` it.",
        "Run `Obtido: 3` and “Gekregen: 4” and «Получено: 5» and 「期待 6」 there.",
    ],
)
def test_english_and_quoted_words_have_no_phrase(text: str) -> None:
    assert in_english(text) == text


def test_the_longest_phrase_counts_and_its_signs_matter() -> None:
    line = "Il n'y a aucune erreur, au-lieu de `3`; ça donne `4`"
    assert [each.english for each in replacements_of(line)] == ["there is no error", "prints"]
