"""The lists from which two results of a report are chosen to be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from app.judging.judgement import SIGHTINGS, Verdict
from app.runs.lookup.history import Point
from app.targets.target import label_without_toolchain
from app.web.text.labels import look
from app.web.text.short_texts import one_line
from app.web.views.grid.merging import version_name, version_order
from app.web.views.grid.table import package_name

# Options of one list. Older results are on the pages of their runs.
MOST_CHOICES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A result: its first attempt, and its place, its verdict and its day in words."""

    attempt: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceGroup:
    """The results with one version."""

    name: str
    choices: Sequence[Choice]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareChoices:
    """All choices, newest version first, and the two that are chosen to begin with, both empty without two.

    `left_out` counts older results that have no place in the lists.
    """

    groups: Sequence[ChoiceGroup]
    baseline: str
    candidate: str
    left_out: int


def compare_choices(
    points: Sequence[Point], scripts: Sequence[str], *, baseline: str = "", candidate: str = ""
) -> CompareChoices:
    """The results of a report that can be compared; `points` are newest first.

    `baseline` and `candidate` are attempts that are chosen already; they need not be among the points.
    """
    newest: dict[tuple[object, ...], Point] = {}
    for point in points:
        if point.attempt is not None:
            place = (point.script, label_without_toolchain(point.target), _version(point), point.hardware)
            newest.setdefault((*place, point.contributed_by, point.verdict), point)
    listed = list(newest.values())[:MOST_CHOICES]
    numbers = {digest: at for at, digest in enumerate(dict.fromkeys(scripts), 1)}
    by_version = sorted(listed, key=lambda point: version_order(version_name(point)), reverse=True)
    words = Counter(_words(point, numbers) for point in listed)
    groups = [
        ChoiceGroup(name=one_line(name, 60), choices=[_choice(point, numbers, words) for point in part])
        for name, part in groupby(by_version, key=_version)
    ]
    known = {point.attempt for point in listed}
    given = [attempt for attempt in dict.fromkeys((baseline, candidate)) if attempt and attempt not in known]
    if given:
        extra = [Choice(attempt=attempt, words=f"attempt {attempt[-8:]}") for attempt in given]
        groups = [ChoiceGroup(name="chosen before", choices=extra), *groups]
    older, newer = _pair(listed)
    if baseline or candidate:
        # The other side is the first one that is not chosen already.
        others = [each for each in (older, newer, *sorted(filter(None, known))) if each]
        baseline = baseline or next((each for each in others if each != candidate), "")
        candidate = candidate or next((each for each in reversed(others) if each != baseline), "")
        older, newer = baseline, candidate
    return CompareChoices(groups=groups, baseline=older, candidate=newer, left_out=len(newest) - len(listed))


def _version(point: Point) -> str:
    return package_name(point.package, (version_name(point),))


def _choice(point: Point, numbers: Mapping[str, int], same: Mapping[str, int]) -> Choice:
    """The result as an option; `same` counts the options with the same words, which then name the node."""
    words = _words(point, numbers)
    node = f", node {one_line(point.node, 40)}" if same[words] > 1 and point.node else ""
    return Choice(attempt=point.attempt or "", words=words + node)


def _words(point: Point, numbers: Mapping[str, int]) -> str:
    parts = (
        label_without_toolchain(point.target),
        point.hardware,
        f"script {numbers.get(point.script, '?')}" if len(numbers) > 1 else "",
        f"contributed by {point.contributed_by}" if point.contributed_by is not None else "",
    )
    verdict = look(point.verdict).name if point.verdict is not None else "not judged"
    place = ", ".join(one_line(part, 40) for part in parts if part)
    return f"{_version(point)}: {verdict}, {place}, {point.at:%-d %b %Y}"


def _pair(points: Sequence[Point]) -> tuple[str, str]:
    """Two results to begin with: where it was not seen, best in the same place, and where it was seen.

    Only if there are no others, one says nothing about the claim.
    """
    if len(points) < 2:
        return "", ""
    ran = next((point for point in points if _shows(point)), points[0])
    candidate = next((point for point in points if point.verdict in SIGHTINGS), ran)
    others = [point for point in points if point is not candidate]
    place = label_without_toolchain(candidate.target)

    def rank(point: Point) -> tuple[bool, bool, bool]:
        is_same = point.verdict == candidate.verdict
        return not _shows(point), is_same, label_without_toolchain(point.target) != place

    return min(others, key=rank).attempt or "", candidate.attempt or ""


def _shows(point: Point) -> bool:
    """Whether the script ran there so far that its result can be compared."""
    return point.verdict not in {None, Verdict.CANNOT_SHOW, Verdict.NO_RESULT}
