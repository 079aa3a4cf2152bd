"""The values for the second step of a submission: what was read, each thing with its correction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.intake.text.corrected_environment import FIELDS, PACKAGE, field_words
from app.runs.estimates.wording import about_how_long
from app.runs.run_object.claim_part import CheckPart
from app.runs.run_object.document import ReportPart, RunDocument
from app.runs.submission.preview import Preview
from app.targets.packages import packages_among
from app.web.parts import lazily
from app.web.views.exhibits import marked_posts
from app.web.views.reports import claim_json

# The two answers that everyone can choose: the preset, and the words on its button.
ANSWERS: Mapping[str, str] = {"quick": "Quick answer", "version": "Which versions?"}
MOST_FIELDS = 60
# The version of torch has a field of its own.
_OF_TORCH = frozenset({"torch"})


# Kinds of needs in words; the names stand behind them.
_NEEDS: Mapping[str, str] = {
    "package": "packages",
    "gpu": "a GPU",
    "device": "a device",
    "file": "files",
    "network": "a network",
    "memory": "memory",
    "arguments": "arguments",
    "input": "input from a keyboard",
    "os": "an operating system",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedField:
    """A field of the reporter's environment: its value now, and what was read; empty if there is none."""

    name: str
    words: str
    value: str
    as_read: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedRow:
    """A kind of need, the kind and its needs in words, and whether the submitter says that there is none."""

    kind: str
    kind_words: str
    words: str
    is_ignored: bool


def submission_values(
    text: str, seen: Preview | None, *, is_script: bool, given_fields: Sequence[tuple[str, str, str]]
) -> dict[str, Any]:
    """The reading and the plans for the template; nothing of them if the text can't be read.

    `given_fields` are the fields of the environment as the form had them: name, value, and what was read.
    """
    if seen is None:
        unread: dict[str, Any] = {
            "read": None,
            "checks": (),
            "plan": None,
            "choices": {},
            "posts": (),
            "needs": (),
            "claim_json": "",
        }
        given = [
            StatedField(name=name, words=field_words(name), value=value, as_read=as_read)
            for name, value, as_read in given_fields
        ]
        return {**unread, "stated": given, "addable": {}, "answers": ANSWERS}
    form = "script" if is_script else "report"
    return {
        "read": seen.report,
        "checks": _checks(seen.report),
        "plan": seen.plan,
        "choices": seen.choices,
        "posts": lazily(marked_posts, text, seen.report.exhibits, form=form),
        "needs": _need_rows(seen.report),
        "stated": (stated := _stated_fields(seen.report)),
        "addable": _addable_fields(seen.report, {field.name for field in stated}),
        "claim_json": claim_json(seen.report.claim),
        "answers": ANSWERS,
        "tries_older": tries_older,
        "about_how_long": about_how_long,
    }


def tries_older(plan: RunDocument) -> bool:
    """Whether a plan of the newest versions also has the one that is nearest to the reporter's.

    A CPU and a GPU may have builds of their own, so a second toolchain on one device tells.
    """
    toolchains: dict[str, set[str]] = {}
    for job in plan.jobs:
        toolchains.setdefault(job.target.device, set()).add(job.target.toolchain)
    return any(len(names) > 1 for names in toolchains.values())


def _checks(report: ReportPart) -> list[CheckPart]:
    """The checks of the claim without details that only repeat a part of what happens."""
    bugs = [check.text for check in report.claim.checks if check.role == "bug"]
    return [
        check
        for check in report.claim.checks
        if check.role != "detail" or not any(check.text in text for text in bugs)
    ]


def _need_rows(report: ReportPart) -> list[NeedRow]:
    rows: dict[str, list[str]] = {}
    for script in report.scripts:
        for need in script.needs:
            rows.setdefault(str(need.kind), []).append(need.name)
    ignored: dict[str, list[str]] = {}
    for need in report.ignored_needs:
        ignored.setdefault(str(need.kind), []).append(need.name)
    return [
        NeedRow(
            kind=kind,
            kind_words=_NEEDS.get(kind, kind),
            words=", ".join(dict.fromkeys(filter(None, names))),
            is_ignored=is_ignored,
        )
        for group, is_ignored in ((rows, False), (ignored, True))
        for kind, names in group.items()
    ]


def _stated_fields(report: ReportPart) -> list[StatedField]:
    """The environment as it is now. A field that was taken away stays in sight, with an empty value."""
    as_read = {**report.environment, **report.environment_as_read}
    return [
        StatedField(
            name=name,
            words=field_words(name),
            value=str(report.environment.get(name, "")),
            as_read=str(as_read[name]),
        )
        for name in sorted(as_read)[:MOST_FIELDS]
    ]


def _addable_fields(report: ReportPart, stated: Collection[str]) -> dict[str, str]:
    """The fields that were not read and can be added, with their words: first the packages of the scripts."""
    packages = sorted({name for script in report.scripts for name in packages_among(script.needs)})
    fields = {**{f"{PACKAGE}{name}": name for name in packages if name not in _OF_TORCH}, **FIELDS}
    return {name: words for name, words in fields.items() if name not in stated}
