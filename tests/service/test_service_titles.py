"""The name of a report without a title in lists."""

from __future__ import annotations

from stage import Stage

from app.runs.lookup.reports import list_reports
from app.runs.submission.submit import Submission, submit


def title_of(stage: Stage, **wish: str) -> str:
    with stage.session() as session:
        submit(session, Submission(**wish), settings=stage.settings)
    with stage.session() as session:
        return list_reports(session).items[0].title


def test_a_script_is_known_by_what_it_claims(stage: Stage) -> None:
    assert (
        title_of(stage, script="raise RuntimeError('boom')\n", claim="RuntimeError: boom")
        == "RuntimeError: boom"
    )
    assert title_of(stage, script="# Claim: prints nan\nprint(1)\n") == "prints nan"


def test_a_title_that_was_given_stands(stage: Stage) -> None:
    assert (
        title_of(stage, script="raise RuntimeError('boom')\n", claim="RuntimeError: boom", title="Boom")
        == "Boom"
    )
    assert (
        title_of(stage, report="# logdet is wrong\n\n```python\nprint(1)\n```\n\nIt prints 2.\n")
        == "logdet is wrong"
    )


def test_what_claims_nothing_has_none_and_what_is_long_is_cut_to_one_line(stage: Stage) -> None:
    assert title_of(stage, script="print(1)\n") == ""
    title = title_of(stage, script="print(1)\n", claim=f"RuntimeError: {'very ' * 400}long")
    assert len(title) == 100
    assert "\n" not in title
