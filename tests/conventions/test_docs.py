"""Every setting, verdict, outcome and state is documented; pages are readable, and what they name exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import get_args

import pytest
from settings_page import with_tables

from app.judging.judgement import CheckResult, ComparisonResult, Defect, DifferentKind, Scope, Verdict
from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.states import AttemptState, JobState, RunState
from worker.contract import Level, Outcome, WhoCanAct

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
MOST_COLUMNS = 110


def section(page: str, heading: str) -> str:
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE)
    assert match, heading
    return match[1]


def rows(text: str) -> dict[str, str]:
    return dict(re.findall(r"^\| `([^`]+)` \| (.+?) \|$", text, flags=re.MULTILINE))


@pytest.mark.parametrize(
    ("words", "heading"),
    [
        (Verdict, "Verdicts"),
        (DifferentKind, "Verdicts"),
        (Scope, "Verdicts"),
        (Defect, "Defect and cause"),
        (CheckResult, "Results of a check"),
        (Outcome, "Outcomes of an attempt"),
        (ComparisonResult, "Comparisons"),
        (ChangeKind, "Changes"),
        (Attention, "Attention"),
        (Level, "Isolation levels"),
        (WhoCanAct, "People who can act"),
    ],
)
def test_every_word_has_one_plain_sentence(words: type[StrEnum], heading: str) -> None:
    explained = rows(section((DOCS / "glossary.md").read_text(), heading))
    for word in words:
        assert word.value in explained
        assert explained[word.value].endswith(".")


def test_outcomes_stand_in_the_order_in_which_they_apply() -> None:
    explained = rows(section((DOCS / "glossary.md").read_text(), "Outcomes of an attempt"))
    assert list(explained) == [outcome.value for outcome in Outcome]


@pytest.mark.parametrize(
    ("states", "heading"), [(RunState, "Run"), (JobState, "Job"), (AttemptState, "Attempt")]
)
def test_every_state_is_explained_and_drawn(states: object, heading: str) -> None:
    text = section((DOCS / "states.md").read_text(), heading)
    assert set(rows(text)) == set(get_args(states))
    diagram = text.partition("```mermaid")[2].partition("```")[0]
    drawn = set(re.findall(r"\b[a-z_]+\b", re.sub(r":.*", "", diagram))) - {"stateDiagram", "v"}
    assert drawn == set(get_args(states))


def test_the_settings_page_is_up_to_date() -> None:
    page = (DOCS / "settings.md").read_text()
    assert with_tables(page) == page, "run: python tests/conventions/settings_page.py"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text()):
        if "://" not in target and not target.startswith("mailto:"):
            assert (path.parent / target).exists(), target


def module_paths(text: str) -> Iterator[str]:
    """The modules, packages and files of our own that a page names in code quotes."""
    yield from re.findall(r"`((?:app|worker|tests|bench|demo|migrations)(?:[./]\w+)+(?:\.py|\.json)?)`", text)


def without_left_columns(text: str) -> str:
    """The page without the first cell of each row: decision 21 has old names there."""
    return re.sub(r"^\|[^|]*\|", "|", text, flags=re.MULTILINE)


def is_path(name: str) -> bool:
    """Whether a module, a package or a file has this name."""
    if "/" in name:
        return (ROOT / name).exists()
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_modules_that_a_page_names_exist(path: Path) -> None:
    text = path.read_text()
    if path.name == "0021-rooms.md":
        text = without_left_columns(text).partition("Joined into neighbours")[0]
    assert [name for name in module_paths(text) if not is_path(name)] == []


def test_a_module_that_is_gone_is_seen() -> None:
    names = list(module_paths("`app.gone`, `app.cli`, `app/gone.py` and `app/cli.py`"))
    assert [name for name in names if not is_path(name)] == ["app.gone", "app/gone.py"]
    assert list(module_paths(without_left_columns("| `app.gone` | `app.cli` |"))) == ["app.cli"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_lines_of_a_page_are_short(path: Path) -> None:
    """Tables and lines with a link may be longer."""
    text = path.read_text()
    long_lines = [line for line in text.splitlines() if len(line) > MOST_COLUMNS]
    assert [line for line in long_lines if not line.startswith("|") and "](" not in line] == []


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((DOCS / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("path", sorted((DOCS / "decisions").glob("*.md")), ids=lambda path: path.name)
def test_a_decision_has_a_number_a_title_and_a_date(path: Path) -> None:
    assert re.match(
        rf"# {int(path.name[:4])}\. .+\n\n\*\*Decided\*\*: \d+ [A-Z][a-z]+ \d{{4}}\.\n", path.read_text()
    )
