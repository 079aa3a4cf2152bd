"""The results of the tools: small models whose every text of a stranger is an `StrangersText`."""

from __future__ import annotations

from pydantic import Field

from app.intake.reading import Ask
from app.judging.judgement import Defect, Scope, Verdict
from app.mcp.strangers_text import StrangersText, View
from app.states import JobState, RunState


class Result(View):
    """The base of all results."""

    caveats: list[str] = Field(
        default_factory=list, description="what the answer does not say; also in the text of the result"
    )
    shortened: bool = Field(
        default=False, description="whether texts or lists were cut so that the result fits a context"
    )


class ScriptView(View):
    """A script that was read from a report."""

    role: str
    digest: str
    code: StrangersText
    repairs: list[str] = Field(description="codes of the changes between the code as given and as run")
    needs: list[str] = Field(description="kinds of things that it can't run without")


class ReadView(Result):
    """The parts of a report, as they were read. Nothing was run."""

    verdict: Verdict | None = Field(description="`needs_info` if something is missing, else null")
    ask: list[Ask] = Field(description="questions to the reporter, in our words")
    title: StrangersText
    scripts: list[ScriptView]
    checks: int = Field(description="how many checks the claim has; without one, nothing can be judged")
    claim: StrangersText = Field(
        description="the JSON of the claim as data. Mend it and pass it to `submit` as `claim`"
    )
    environment: StrangersText = Field(description="the JSON of the environment that the reporter states")


class CheckView(View):
    """A check of the claim in a cell."""

    check: StrangersText
    role: str = Field(description="`bug`, `expected` or `detail`")
    number: StrangersText | None = Field(
        default=None, description="the number that it asks for, if another check has the same words"
    )
    result: str = Field(description="`met`, `absent`, `other` or `unreached`")
    observed: StrangersText


class CellView(View):
    """A script on a target."""

    job: str
    target: str
    state: JobState
    verdict: Verdict | None
    reason: str | None = Field(description="the code of the reason, such as `missing_package` or `no_gpu`")
    matched: int = Field(description="in so many attempts the claim was seen …")
    of: int = Field(description="… out of so many that reached its point")
    rate_upper_bound: float | None
    attempt: str | None = Field(description="the id of a counted attempt, for `compare`")
    exception: StrangersText | None
    output_end: StrangersText | None
    checks: list[CheckView]


class AnswerView(View):
    """The verdict in four sentences of ours, ready for a comment on the issue."""

    what: str
    where: str
    how_sure: str
    whose: str
    owner: str


class RunView(Result):
    """A run with its verdict."""

    run: str
    report: str | None
    url: str = Field(description="the page of the run")
    state: RunState
    verdict: Verdict | None = Field(description="null until the run has ended")
    so_far: Verdict | None
    overruled: Verdict | None = Field(description="a maintainer's verdict, which counts before `verdict`")
    seen: bool
    defect: Defect
    cause: str | None
    summary: str
    answer: AnswerView | None = Field(
        description="null for a contributed run, whose names of machines are a stranger's"
    )
    scope: Scope | None
    where: list[str]
    not_where: list[str]
    newest: str | None
    without_result: int
    contrast: str | None
    contrast_target: str | None = Field(
        default=None, description="the target that lacks it, or the one that was added to find such a target"
    )
    missing: list[str] = Field(description="what is missing to decide whether it is a defect")
    ask: list[Ask]
    cells: list[CellView]
    cells_left_out: int
    comparisons: list[str] = Field(description="ids `{baseline}-{candidate}` of compared attempts")
    withdraw_url: str | None = Field(
        default=None,
        description="only after `submit`: a secret link that erases the report. Store it; show it to nobody"
        " but the submitter",
    )
    seconds_at_most: float | None = Field(
        default=None, description="only for a plan: the estimate of the time until its end, if there is one"
    )


class ExplainView(Result):
    """The dossier of a report's numbers, or the run that makes it."""

    state: str = Field(description="`ready` with a dossier, `running` while it is made")
    run: str | None
    url: str | None
    cause: str | None
    defect: Defect | None
    numbers: int = Field(description="how many numbers are in question")
    dossier: StrangersText | None = Field(description="the dossier in Markdown; it names parts of the script")


class DifferenceView(View):
    """One difference of two attempts."""

    about: StrangersText
    baseline: StrangersText
    candidate: StrangersText
    note: StrangersText


class CompareView(Result):
    """A comparison of two attempts."""

    url: str
    result: str = Field(description="`identical`, `equivalent`, `different` or `incomparable`")
    cause: str
    same_script: bool
    targets: list[str]
    differences: list[DifferenceView]
    differences_left_out: int
    environment: list[str] = Field(description="names of the fields in which the environments differ")
    cannot_say: list[str]


class PointView(View):
    """One value of a series."""

    value: str
    seen: int
    of: int
    inconclusive: int


class BisectView(Result):
    """A bisection, with its answer so far."""

    bisection: str
    report: str | None
    url: str
    state: str
    axis: str
    kind: str | None
    last_good: str | None
    first_bad: str | None
    last_bad: str | None
    first_good: str | None
    exact: bool
    probability: float | None
    summary: str
    attempts: int
    points: list[PointView]


class FoundView(View):
    """A report that a search found."""

    report: str
    url: str
    title: StrangersText
    source_url: StrangersText | None
    verdict: Verdict | None = Field(description="the verdict of its latest run")
    overruled: Verdict | None
    summary: str
    run: str | None
    is_open: bool


class SearchView(Result):
    """A page of reports, newest first."""

    items: list[FoundView]
    next: str | None


class GateAnswerView(View):
    """The answer about one issue."""

    issue: StrangersText
    answer: str = Field(description="`still_happens`, `fixed`, `not_shown` or `unknown`")
    reason: str
    may_close: bool
    words: str
    on: list[str]
    untried: list[str]
    report: str | None
    run: str | None
    url: str | None


class GateView(Result):
    """The answers, in the order of the issues."""

    items: list[GateAnswerView]
