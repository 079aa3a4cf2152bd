"""A page that can't draw one part draws the rest and says so: each part of the templates, and each value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import hostile_web
import pytest
import recorded_runs
from planted_faults import PARTS, Faults, drawn_pages
from recorded_runs import Variation
from running_web import web_of
from stage import Stage

from app.errors import NotFoundError
from app.web import parts

VERSIONS = ("2.12", "2.13")
LOGDET = recorded_runs.recording("logdet_cpu_isa")
BROKEN: tuple[tuple[str, str], ...] = ()
MENDED = (("cpu -inf", "cpu -108.34196472167969"),)

PLANNED = "On Windows 11:\n\n```python\nimport numpy\nprint(5)\n```\n\nOutput:\n\n```\n6\n```\n"
BUNDLES = Path(__file__).parents[1] / "recordings" / "bundles"


@pytest.fixture(scope="module")
def faults(stage_of_module: Stage) -> Iterator[Faults]:
    """Pages of a filled service, to be drawn again with faults."""
    stage = stage_of_module
    recorded_runs.says_hello(stage, VERSIONS)
    fixed = [(VERSIONS[0], BROKEN), (VERSIONS[1], MENDED)]
    regressed = [(VERSIONS[0], MENDED), (VERSIONS[1], BROKEN)]
    paths = {}
    for name, history in (("fixed", fixed), ("regressed", regressed)):
        report = None
        for version, change in history:
            run = recorded_runs.replay(
                stage, LOGDET, Variation(version=version, replace=change), title=name, report=report
            )
            report = run.report.id
        paths |= {f"{name} report": f"/reports/{report}", f"{name} run": f"/runs/{run.id}"}
    part = run.comparisons[0]
    paths["compare"] = f"/compare?baseline={part.baseline}&candidate={part.candidate}"
    paths |= {f"hostile {name}": path for name, path in hostile_web.fill(stage).items()}
    with web_of(stage) as web:
        bundle = (BUNDLES / "h100" / "logdet_singular.trace.json").read_bytes()
        headers = {"Content-Type": "application/json"}
        traced = web.client.post("/api/v1/bundles", content=bundle, headers=headers, params={"by": "H100"})
        paths["dossier"] = f"/reports/{traced.json()['report']['id']}/explain"
        drawn = drawn_pages(web, [*paths.values(), "/changes?kind="], planned=PLANNED)
    return Faults(drawn)


@pytest.mark.parametrize(
    "number", range(len(PARTS)), ids=lambda number: f"{PARTS[number].template}: {PARTS[number].name}"
)
def test_a_fault_in_a_part_spoils_this_part_only(
    faults: Faults, number: int, broken_parts: list[str]
) -> None:
    page, whole = faults.page_with(number)
    broken, _ = faults.draw(page, number)
    assert set(broken_parts) == {PARTS[number].name}
    broken_parts.clear()
    assert PARTS[number].placeholder in broken
    around = faults.plants.around
    for other, drawn in whole.items():
        if other not in {number, *around[number]} and number not in around[other]:
            assert all(text in broken for text in drawn), PARTS[other]


def test_a_fault_in_a_value_spoils_only_parts(faults: Faults, broken_parts: list[str]) -> None:
    def fail() -> None:
        raise ZeroDivisionError("planted")

    # Whether no page shows the fault.
    unseen: dict[tuple[str, str], bool] = {}
    for page, whole in zip(faults.drawn, faults.whole, strict=True):
        for name in (name for name, value in page.values.items() if isinstance(value, parts.Lazy)):
            broken, drawn = faults.draw(page, None, **{name: parts.Lazy(fail)})
            assert "</footer>" in broken or page.template == "run_body.html", (page.template, name)
            assert len(drawn) >= min(2, len(whole) - 1), (page.template, name)
            unseen.setdefault((page.template, name), True)
            if broken_parts:
                unseen[page.template, name] = False
                broken_parts.clear()
    assert [name for name, is_unseen in unseen.items() if is_unseen] == []


def test_what_is_an_answer_is_no_fault_of_a_part() -> None:
    def refuse() -> str:
        raise NotFoundError("There is no run with this id.")

    with pytest.raises(NotFoundError):
        parts.draw_part("the claim", refuse, placeholder=str)
