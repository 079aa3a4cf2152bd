"""A run in brief, for programs and models: the verdict, four sentences, the next step. Only our own words."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from app.judging.judgement import Defect, Verdict
from app.judging.verdict.contrast import ContrastKind
from app.runs.run_object.answer.contrast_sentence import ContrastSentence, contrast_sentence
from app.runs.run_object.answer.sentences import obstacle_of
from app.runs.run_object.answer.silent_parts import varies_elsewhere
from app.runs.run_object.document import RunDocument
from app.runs.run_object.parts.estimates import STAGES_IN_ORDER, Stage
from app.states import OPEN_STATES, RunState
from worker.contract import Reason, WhoCanAct

# The whole answer in JSON, with its addresses, stays below 2 kB: so many bytes are for the rest.
MOST_BYTES = 1_350
# The sentences are cut to the first of these lengths, in bytes, with which all of it fits.
_LENGTHS = (400, 300, 240, 200, 160, 120, 80)
MOST_QUESTIONS = 4
_CUT = " …"


class Step(StrEnum):
    """The next step for whoever acts on a run."""

    WAIT = "wait"  # the run goes on
    ASK = "ask"  # the report lacks something, or one must ask what it means
    BISECT = "bisect"  # find the version that broke it
    TELL = "tell"  # it happens, and there is nothing to bisect
    EXPLAIN = "explain"  # find out whether it is a defect or rounding
    COMPARE = "compare"  # something else happens
    MORE_TARGETS = "more_targets"  # look at more targets before saying that it is gone
    OTHER_MACHINE = "other_machine"  # what it needs is missing here
    CLAIM = "claim"  # say what is claimed
    RERUN = "rerun"  # it failed on our side, or was stopped at a limit
    NOTHING = "nothing"  # the run was cancelled or withdrawn, or nothing else can be tried


_STEPS: Mapping[Verdict, tuple[Step, str]] = {
    Verdict.NEEDS_INFO: (Step.ASK, "Ask the reporter what `ask` asks, then submit the mended report."),
    Verdict.REPRODUCED: (
        Step.BISECT,
        "Find the version that broke it: POST to bisections of the report.",
    ),
    Verdict.FLAKY: (Step.BISECT, "Find the version that broke it: POST to bisections of the report."),
    Verdict.DIFFERENT: (Step.COMPARE, "Look at the run: something else happens than what is claimed."),
    Verdict.NOT_REPRODUCED: (
        Step.MORE_TARGETS,
        "Before you close anything: add the reporter's hardware and versions as cells.",
    ),
    Verdict.CANNOT_SHOW: (Step.OTHER_MACHINE, "Run it where it can be shown; `what` says what hinders it."),
    Verdict.OBSERVED: (Step.CLAIM, "Say what is claimed: PUT a claim to the report; nothing is run again."),
    Verdict.NO_RESULT: (Step.RERUN, "Rerun the failed cells: POST `{which: failed}` to rerun."),
}
_NOTHING_TO_BISECT = (
    Step.TELL,
    "Tell its maintainers that it happens. This service has one version, so it can't say which one broke it.",
)
_LIMITS = frozenset({"time_limit", "memory_limit"})
_STEPS_BEHIND_AN_OBSTACLE: Mapping[WhoCanAct, tuple[Step, str]] = {
    WhoCanAct.REPORTER: (
        Step.ASK,
        "Tell the reporter what hinders it, see `what`, and submit a mended report.",
    ),
    WhoCanAct.SERVICE: (Step.RERUN, "Rerun the undecided cells: POST `{which: undecided}` to rerun."),
    WhoCanAct.NOBODY: (Step.NOTHING, "This claim can't be shown by a run; `what` says why."),
}
_NOTHING_VARIES = (
    Step.ASK,
    "Ask the reporter which results vary, and between what: nothing varied here.",
)
_OUTPUT_ALONE = "The output is as reported; that does not say that it is a bug."
_CAVEATS: Mapping[Verdict, str] = {
    Verdict.NEEDS_INFO: "Nothing was run. This is no `not_reproduced`.",
    Verdict.REPRODUCED: "It happens; that does not say that it is a bug.",
    Verdict.FLAKY: "It does not happen every time: a single run without it proves nothing.",
    Verdict.DIFFERENT: "Something else happens than what is claimed. This is no `not_reproduced`.",
    Verdict.NOT_REPRODUCED: "It was not seen on the targets that were tried; others were not tried.",
    Verdict.CANNOT_SHOW: "It could not be shown here. This is no `not_reproduced`.",
    Verdict.OBSERVED: "Nothing is claimed that can be checked. This is no `not_reproduced`.",
    Verdict.NO_RESULT: "It failed on our side. This says nothing about the report.",
}


class NextStep(BaseModel):
    """The next step: its name for programs, and a sentence."""

    model_config = ConfigDict(frozen=True)

    code: Step = Field(description="stable name of the step")
    text: str = Field(description="the step in a sentence")


class BriefProgress(BaseModel):
    """How far an open run is."""

    model_config = ConfigDict(frozen=True)

    stage: Stage = Field(description="the furthest stage of a cell; `waits_for_place`: a node has it")
    cells: int = Field(description="number of cells")
    cells_judged: int = Field(description="number of cells that have a verdict")
    attempts_ended: int = Field(description="number of attempts that have ended; more may be added")


class BriefPart(BaseModel):
    """A run in brief. All of it is our own words: no text of the report, the script or its output."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="id of the run")
    state: RunState = Field(description="`queued` and `running` are open")
    verdict: Verdict | None = Field(description="the measured verdict; null until the run has finished")
    overruled: Verdict | None = Field(description="the verdict of a maintainer; it counts. Null without one")
    defect: Defect = Field(description="whether it is a defect")
    what: str = Field(description="what happens, in a sentence")
    where: str = Field(description="where it happens, in a sentence")
    how_sure: str = Field(description="how sure that is: counts of attempts, with bounds")
    whose: str = Field(description="to whom the behaviour belongs, in a sentence")
    of_report: str = Field(
        default="", description="the answer of the report, if it knows more than this run; mostly empty"
    )
    caveat: str = Field(description="what the verdict does not say; empty if there is nothing to add")
    progress: BriefProgress | None = Field(description="how far it is; null if the run is not open")
    next: NextStep = Field(description="what to do next")
    ask: list[str] = Field(description="questions to the reporter, in our own words; mostly empty")
    contributed: bool = Field(description="true: run elsewhere; it decides nothing about the report")


def brief_of(run: RunDocument, *, can_bisect: bool = True, of_report: str = "") -> BriefPart:
    """The run in brief. `can_bisect` is False where there is one version of what the script uses.

    `of_report` is what its report knows beyond it.
    """
    for most in _LENGTHS:
        brief = _brief(run, most, can_bisect=can_bisect, of_report=of_report)
        if len(brief.model_dump_json().encode()) <= MOST_BYTES:
            break
    return brief


def _brief(run: RunDocument, most: int, *, can_bisect: bool, of_report: str) -> BriefPart:
    """The run in brief, each sentence with at most so many bytes."""
    verdict = None if run.state in OPEN_STATES else run.verdict
    step, text = _next_step(run, verdict)
    if step is Step.BISECT and not can_bisect:
        step, text = _NOTHING_TO_BISECT
    return BriefPart(
        id=run.id,
        state=run.state,
        verdict=verdict,
        overruled=None if run.overruled is None else run.overruled.verdict,
        defect=run.defect,
        what=cut(run.answer.what, most),
        where=cut(run.answer.where, most),
        how_sure=cut(run.answer.how_sure, most),
        whose=cut(run.answer.whose, most),
        of_report=cut(of_report, most),
        caveat="" if verdict is None else _caveat(run, verdict),
        progress=_progress(run) if run.state in OPEN_STATES else None,
        next=NextStep(code=step, text=text),
        ask=[cut(question.text, most) for question in run.ask[:MOST_QUESTIONS]],
        contributed=run.contributed is not None,
    )


def _progress(run: RunDocument) -> BriefProgress:
    stages = {job.progress.stage for job in run.jobs if job.progress is not None}
    return BriefProgress(
        stage=max(stages, key=STAGES_IN_ORDER.index, default=STAGES_IN_ORDER[0]),
        cells=len(run.jobs),
        cells_judged=sum(job.verdict is not None for job in run.jobs),
        attempts_ended=sum(one.outcome is not None for job in run.jobs for one in job.attempts),
    )


def _caveat(run: RunDocument, verdict: Verdict) -> str:
    if verdict is not Verdict.REPRODUCED:
        return _CAVEATS.get(verdict, "")
    undecided = _OUTPUT_ALONE if varies_elsewhere(run) else _CAVEATS[verdict]
    words = {Defect.YES: "", Defect.NO: "It happens, and it is no defect."}.get(run.defect, undecided)
    contrast = ""
    if run.contrast is not None and run.contrast.kind is ContrastKind.NONE:
        contrast = _contrast(contrast_sentence(run))
    return " ".join(filter(None, (words, contrast)))


def _contrast(sentence: ContrastSentence) -> str:
    return f"{sentence.words} {sentence.label}." if sentence.label else sentence.words


def _next_step(run: RunDocument, verdict: Verdict | None) -> tuple[Step, str]:
    if run.state in OPEN_STATES:
        return Step.WAIT, "The run goes on: ask again with `Prefer: wait=30`, or follow its events."
    if run.withdrawn_at is not None:
        return Step.NOTHING, "The report was withdrawn."
    if verdict is None:
        return Step.NOTHING, "The run was cancelled. Run the report again if you need an answer."
    if verdict is Verdict.REPRODUCED and varies_elsewhere(run):
        return _NOTHING_VARIES
    if verdict is Verdict.REPRODUCED and run.defect is Defect.UNDECIDED and run.comparisons:
        return Step.EXPLAIN, "Find out whether it is a defect or rounding: POST to explain of the report."
    obstacle = obstacle_of(run) if verdict is Verdict.CANNOT_SHOW else None
    return _STEPS[verdict] if obstacle is None else _step_behind(obstacle)


def _step_behind(obstacle: Reason) -> tuple[Step, str]:
    """The step when a claim could not be shown for this reason."""
    if obstacle.code in _LIMITS:
        words = "Rerun it when the service is less busy: POST `{which: undecided}` to rerun."
        return Step.RERUN, f"{words} If it is stopped again, ask for a smaller script."
    return _STEPS_BEHIND_AN_OBSTACLE.get(obstacle.who_can_act, _STEPS[Verdict.CANNOT_SHOW])


def cut(text: str, most: int) -> str:
    """A text that has at most so many bytes, cut between words."""
    if len(text.encode()) <= most:
        return text
    start = text.encode()[: most - len(_CUT.encode())].decode(errors="ignore")
    return f"{start.rpartition(' ')[0] or start}{_CUT}"
