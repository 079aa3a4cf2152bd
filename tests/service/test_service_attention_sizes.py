"""The sizes of groups of reports are exact while they are few; many are counted again after a while."""

from __future__ import annotations

import pytest
from sqlalchemy import update
from stage import Stage

from app.judging.report.attention import Attention
from app.runs.lookup.attention import group
from app.storage.models import ReportRow
from app.storage.queries.reports import attention as module


def moved(stage: Stage, report: str | None, to: Attention | None) -> dict[Attention, int]:
    """The sizes after a report is moved to another group."""
    with stage.session() as session:
        session.execute(update(ReportRow).where(ReportRow.id == report).values(attention=to))
    with stage.session() as session:
        return dict(module.sizes(session))


def test_a_few_reports_are_counted_each_time(stage: Stage) -> None:
    report = stage.submit().document.report.id
    assert moved(stage, report, Attention.FIXED) == {Attention.FIXED: 1}
    assert moved(stage, report, Attention.NEEDS_HUMAN) == {Attention.NEEDS_HUMAN: 1}
    assert moved(stage, report, None) == {}


def test_many_reports_are_counted_again_after_a_while(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (stage.submit().document.report.id for _ in range(2))
    moved(stage, one, Attention.FIXED)
    monkeypatch.setattr(module, "MANY", 1)
    assert moved(stage, two, Attention.FIXED) == {Attention.FIXED: 2}
    assert moved(stage, two, Attention.NEEDS_HUMAN) == {Attention.FIXED: 2}
    monkeypatch.setattr(module, "MANY_SECONDS", 0.0)
    assert moved(stage, two, None) == {Attention.FIXED: 1}


def test_the_list_of_a_group_is_never_old(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MANY", 0)
    report = stage.submit().document.report.id
    with stage.session() as session:
        row = {"attention": Attention.FIXED, "verified_at": ReportRow.created_at}
        session.execute(update(ReportRow).where(ReportRow.id == report).values(**row))
    with stage.session() as session:
        assert [one.id for one in group(session, Attention.FIXED, cursor=None, limit=5).reports] == [report]
    moved(stage, report, None)
    with stage.session() as session:
        found = group(session, Attention.FIXED, cursor=None, limit=5)
    assert (found.size, found.reports) == (1, ())
