"""The values for the second step of a submission: what was read, each thing with its correction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.runs.run_object.document import ReportPart
from app.runs.submission.preview import Preview
from app.web.parts import lazily
from app.web.views.exhibits import marked_posts
from app.web.views.reports import claim_json

# The two answers that everyone can choose: the preset, and the words on its button.
ANSWERS: Mapping[str, str] = {"quick": "Quick answer", "version": "Which versions?"}
MOST_FIELDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedRow:
    """A kind of need, its needs in words, and whether the submitter says that there is none."""

    kind: str
    words: str
    is_ignored: bool


def submission_values(
    text: str, seen: Preview | None, *, is_script: bool, given_fields: Mapping[str, str]
) -> dict[str, Any]:
    """The reading and the plans for the template; nothing of them if the text can't be read.

    `given_fields` is the environment as the form had it.
    """
    if seen is None:
        unread: dict[str, Any] = {
            "read": None,
            "plan": None,
            "choices": {},
            "posts": (),
            "needs": (),
            "claim_json": "",
        }
        return {**unread, "stated": given_fields, "answers": ANSWERS}
    form = "script" if is_script else "report"
    return {
        "read": seen.report,
        "plan": seen.plan,
        "choices": seen.choices,
        "posts": lazily(marked_posts, text, seen.report.exhibits, form=form),
        "needs": _need_rows(seen.report),
        "stated": _stated_fields(seen.report, given_fields),
        "claim_json": claim_json(seen.report.claim),
        "answers": ANSWERS,
    }


def _need_rows(report: ReportPart) -> list[NeedRow]:
    rows: dict[str, list[str]] = {}
    for script in report.scripts:
        for need in script.needs:
            rows.setdefault(str(need.kind), []).append(need.name)
    ignored: dict[str, list[str]] = {}
    for need in report.ignored_needs:
        ignored.setdefault(str(need.kind), []).append(need.name)
    return [
        NeedRow(kind=kind, words=", ".join(dict.fromkeys(filter(None, names))), is_ignored=is_ignored)
        for group, is_ignored in ((rows, False), (ignored, True))
        for kind, names in group.items()
    ]


def _stated_fields(report: ReportPart, given: Mapping[str, str]) -> dict[str, str]:
    """The environment as it stands now. A field that was taken away stays in sight, with an empty value."""
    read = {name: str(value) for name, value in list(report.environment.items())[:MOST_FIELDS]}
    gone = {name: "" for name in list(given)[:MOST_FIELDS] if name not in report.environment}
    return dict(sorted({**gone, **read}.items()))
