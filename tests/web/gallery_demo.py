"""Pictures of the demo: its recorded history, acts of maintainers, and a bisection."""

from __future__ import annotations

from numpy_versions import UNSEEN, say_hello
from stage import Stage, result

from app.judging.judgement import Verdict
from app.runs.exchange.replay import replay
from app.runs.lookup.reports import list_reports
from app.runs.maintenance.overrule import overrule_report
from app.runs.maintenance.quarantine import quarantine
from app.runs.maintenance.triage import close_report, label_report
from app.runs.maintenance.withdraw import withdraw
from app.runs.run_object.bisection_state import BisectionRequest
from app.runs.submission.bisections import start_bisection
from app.serve.demo import HISTORY
from app.targets.target import Target
from worker.contract import ExceptionFacts, Observation, Outcome

WHO = "ada"
PLAYED = "lab-cpu-2"
GONE = Observation(
    exit_status=1,
    exception=ExceptionFacts(type="AttributeError", message="module 'numpy' has no attribute 'in1d'"),
)
VERSIONS = ("1.26.4", "2.0.2", "2.1.3", "2.2.6", "2.3.5", "2.4.0")


def fill(stage: Stage) -> dict[str, str]:
    """Fill it, and say where everything is."""
    with stage.session() as session:
        replay(session, HISTORY)
    trapz, in1d = _report(stage, "trapz"), _report(stage, "in1d")
    paths = {
        "demo home": "/",
        "demo changes": "/changes",
        "demo changes of all kinds": "/changes?kind=",
        "demo nodes": "/nodes",
        "search": "/reports?q=verdict%3Areproduced+changed%3Aregressed",
        "group": "/attention/still_broken",
        "report that regressed": f"/reports/{trapz}",
        "report that was fixed": f"/reports/{_report(stage, 'masked')}",
        "report of two devices": f"/reports/{_report(stage, 'logdet')}",
        "bisection": f"/bisections/{_bisected(stage, in1d)}",
        "judge again": f"/reports/{trapz}/judge-again",
        "report that is unexplained": f"/reports/{_report(stage, 'flat')}",
        "numbers of a report": f"/reports/{_report(stage, 'logdet')}/explain",
        "report with rates": f"/reports/{_report(stage, 'sometimes')}",
        "search for hardware": "/reports?q=h200",
        "compare form": "/compare",
        "compare lists": f"/compare?report={trapz}",
        "report with a wrong kernel": f"/reports/{_report(stage, 'torch.cos')}",
        "sign in": "/sign-in",
        "submit, step 2": "/plan",
    }
    overruled, withdrawn = _report(stage, "newshape"), _report(stage, "median")
    closed = _report(stage, "generator")
    with stage.session() as session:
        close_report(session, closed, disposition="announced", reason="Since numpy 1.15.", who=WHO)
        overrule_report(
            session,
            overruled,
            Verdict.NOT_REPRODUCED,
            reason="Deprecated since 2.1, removed as announced.",
            who=WHO,
        )
        label_report(
            session, overruled, add=["as announced"], remove=[], reason="For the release notes.", who=WHO
        )
        withdraw(session, withdrawn, reason="Holds a private path.", who=WHO)
        quarantine(
            session,
            "toolchain",
            "numpy-2.1.3",
            reason="Built with another BLAS.",
            who=WHO,
            settings=stage.settings,
        )
    return {
        **paths,
        "report overruled": f"/reports/{overruled}",
        "report closed": f"/reports/{closed}",
        "report withdrawn": f"/reports/{withdrawn}",
    }


def _report(stage: Stage, words: str) -> str:
    with stage.session() as session:
        return list_reports(session, query=words, limit=1).items[0].id


def _bisected(stage: Stage, report_id: str) -> str:
    """Over all versions, by a node that is played: `in1d` is gone from 2.4 on."""
    say_hello(stage, *VERSIONS, node=PLAYED)
    with stage.session() as session:
        made = start_bisection(
            session, report_id, BisectionRequest(axis="numpy", base=Target()), settings=stage.settings
        ).id
    while attempts := stage.dispatch():
        for attempt in attempts:
            version = attempt.toolchain.removeprefix("numpy-")
            seen, outcome = (GONE, Outcome.RAISED) if version >= "2.4" else (UNSEEN, Outcome.COMPLETED)
            found = {"cpu.model": "AMD EPYC", "python.version": "3.11.7", "package.numpy": version}
            stage.say(
                result(attempt, node=PLAYED, outcome=outcome, observation=seen).model_copy(
                    update={"environment": found}
                )
            )
    return made
