"""States that make pages heavy: 400 cells that all differ, 400 rows, heavy text anywhere, many runs, nodes,
points and acts.
"""

from __future__ import annotations

from collections.abc import Callable

from held_values import showing, tensor
from sqlalchemy import text, update
from stage import Stage, result

from app.runs.maintenance.triage import label_report
from app.runs.run_object.bisection_state import BisectionRequest
from app.runs.run_object.document import RunDocument
from app.runs.submission.bisections import start_bisection
from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import Submission, submit
from app.storage.models import RunRow
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import (
    Attempt,
    Device,
    ExceptionFacts,
    Hello,
    Level,
    Observation,
    Outcome,
    Reason,
    ToolchainFacts,
)

NODE = "lab-with-a-long-name-1"
VERSIONS, SETTINGS = 40, 10
# What weighs most for its length: hidden characters are spelled out in twelve bytes, quotation marks are
# escaped, colours are elements.
HEAVY = (
    "\u202e\u2066\u200b" * 40 + "\"'<&>" * 20 + "\x1b[31mx\x1b[0my" * 20 + "\U0001f600" * 20 + "\n"
) * 900
SCRIPT = "import torch\nprint(torch.ones(1))\n" + f"# {HEAVY[:270]}\n" * 250
REPORT = "# {title}\n\nIt prints 2.\n\n" + "\n\n".join(
    f"```python\n{SCRIPT[:30_000]}# {number}\n```" for number in range(5)
)


def fill(stage: Stage) -> dict[str, str]:
    """Fill it, and say where everything is."""
    _fleet(stage)
    wide = _run(
        stage,
        "wide",
        [_target(version, threads) for version in range(VERSIONS) for threads in range(SETTINGS)],
        _by_place,
    )
    tall = _run(stage, "tall", [_target(1, threads) for threads in range(400)], _by_place)
    heavy = _run(
        stage,
        "heavy",
        [_target(version, 1) for version in range(12)],
        _heavily,
        report=REPORT.format(title=HEAVY[:280].strip()),
    )
    many = _run(stage, "many", [_target(1, 1)], _alike, repeats=50)
    long = _run(
        stage,
        "long",
        [_target(1, 1)],
        _long,
        script="".join(f"print('line {number} of many')\n" for number in range(2000)),
    )
    waits = _run(
        stage,
        "waits",
        [_target(version, threads) for version in range(VERSIONS) for threads in range(SETTINGS)],
        None,
    )
    # It was heard of long ago where the machine is slow.
    stage.say(_hello(0))
    bisection = _bisected(stage, str(tall.report.id))
    _busy(stage, str(many.report.id))
    for number in range(40):
        _run(stage, f"{number} {HEAVY[:270].strip()}", [_target(1, 1)], None)
    shown = [attempt.id for job in stage.run(heavy.id).jobs for attempt in job.attempts]
    with stage.session() as session:
        session.execute(text("UPDATE job SET verdict = 'observed' WHERE run_id = :run"), {"run": wide.id})
        session.execute(
            update(RunRow)
            .where(RunRow.id == wide.id)
            .values(verdict="observed", rules=None, withdrawn_record=None)
        )
    reports = {
        name: f"/reports/{run.report.id}" for name, run in _named(wide, tall, heavy, many, long, waits)
    }
    return {
        **{f"report {name}": path for name, path in reports.items()},
        **{f"run {name}": f"/runs/{run.id}" for name, run in _named(wide, tall, heavy, many, long, waits)},
        **{f"fragment {name}": f"/runs/{run.id}/fragment" for name, run in _named(wide, heavy, waits)},
        "each row": f"{reports['tall']}?rows=each",
        "last rows": f"{reports['tall']}?rows=each&from=360",
        "oldest versions": f"{reports['wide']}?older=24",
        "picture": f"{reports['tall']}.svg",
        "map of a report": f"{reports['tall']}/map",
        "map of a run": f"/runs/{wide.id}/map",
        "judge again": f"{reports['wide']}/judge-again",
        "cell heavy": f"/jobs/{heavy.jobs[0].id}",
        "cell many": f"/jobs/{many.jobs[0].id}",
        "attempt heavy": f"/attempts/{shown[0]}",
        "compare heavy": f"/compare?baseline={shown[0]}&candidate={shown[-1]}",
        "bisection": f"/bisections/{bisection}",
        "bisection fragment": f"/bisections/{bisection}/fragment",
        "changes": "/changes?kind=",
        "home": "/",
        "nodes": "/nodes",
        "last nodes": "/nodes?from=120",
        "reports": "/reports",
    }


def _named(*runs: RunDocument) -> list[tuple[str, RunDocument]]:
    names = ("wide", "tall", "heavy", "many", "long", "waits")
    titles = [(run.report.title or "", run) for run in runs]
    return [(next((name for name in names if title.startswith(name)), "heavy"), run) for title, run in titles]


def _target(version: int, threads: int) -> Target:
    return Target(device=Device.CPU, toolchain=f"torch-2.{version}", settings={"threads": str(threads + 1)})


def _fleet(stage: Stage) -> None:
    """One node with 300 toolchains, and 150 others."""
    for number in range(151):
        stage.say(_hello(number))
    stage.beat(NODE)


def _hello(number: int) -> Hello:
    """The first node has all toolchains, and the slots of them all."""
    chains = [
        ToolchainFacts(
            name=f"torch-2.{minor}",
            state="ready",
            packages={"torch": f"2.{minor}.0", "numpy": "2.4.6"},
            torch=f"2.{minor}.0",
        )
        for minor in range(300 if number == 0 else 3)
    ]
    if number:
        chains = [one.model_copy(update={"detail": f"{HEAVY[:50]} {number}"}) for one in chains]
    return Hello(
        node=NODE if number == 0 else f"lab-with-a-long-name-{number + 1}",
        instance="one",
        slots=512 if number == 0 else 0,
        level=Level.NAMESPACES_CGROUP,
        cores=64,
        toolchains=chains,
        cpu_model=HEAVY[:200],
        level_detail=HEAVY[:200],
    )


def _run(
    stage: Stage,
    title: str,
    targets: list[Target],
    seen: Callable[[Attempt, int], tuple[Outcome, Observation]] | None,
    *,
    script: str = "print(5)\n",
    report: str | None = None,
    repeats: int = 1,
) -> RunDocument:
    """A run on these targets, and what each attempt shows; without that it waits."""
    with stage.session() as session:
        given = (
            {"report": report}
            if report
            else {"script": f"{script}# {title[:9]}\n", "claim": "prints 2", "title": title}
        )
        request = Submission(**given, targets=tuple(targets), repeats=repeats)  # type: ignore[arg-type]
        made = submit(session, request, settings=stage.settings).document
    number = 0
    while seen is not None and (attempts := stage.dispatch()):
        for attempt in attempts:
            number += 1
            outcome, observation = seen(attempt, number)
            reason = (
                Reason(code="x", detail=HEAVY[:400], who_can_act="operator")
                if outcome is Outcome.CRASHED
                else None
            )
            told = result(attempt, node=NODE, outcome=outcome, observation=observation, reason=reason)
            facts = (
                {f"fact.{number}.{one}": HEAVY[:200] for one in range(150)}
                if outcome is Outcome.CRASHED
                else {}
            )
            version = f"{attempt.toolchain.removeprefix('torch-')}.0"
            stage.say(
                told.model_copy(
                    update={"environment": {**told.environment, **facts, "torch.version": version}}
                )
            )
    return made


def _by_place(attempt: Attempt, _number: int) -> tuple[Outcome, Observation]:
    """Another result in each cell than in its neighbours."""
    place = int(attempt.toolchain.rpartition(".")[2]) + int(attempt.settings["threads"])
    return Outcome.COMPLETED, showing(
        f"{2 if place % 2 else f'{attempt.toolchain} gave {place}.{HEAVY[:40]}'}\n"
    )


def _heavily(_attempt: Attempt, number: int) -> tuple[Outcome, Observation]:
    values = [tensor(f"{HEAVY[:190]} {one}", float(number), 1.0) for one in range(100)]
    printed = f"{number} {HEAVY[:120_000]}\n"
    seen = showing(printed, *values, stderr=f"{HEAVY[:60_000]} {number}")
    more = {
        "exception": ExceptionFacts(type="Error", message=HEAVY[:1000]),
        "devices_used": [HEAVY[:200]],
        "stacks": HEAVY[:20_000],
    }
    return Outcome.CRASHED, seen.model_copy(
        update={**more, "signal": "SIGSEGV", "flags_changed": {HEAVY[:200]: HEAVY[:200]}}
    )


def _alike(_attempt: Attempt, _number: int) -> tuple[Outcome, Observation]:
    return Outcome.COMPLETED, showing("2\n")


def _long(_attempt: Attempt, _number: int) -> tuple[Outcome, Observation]:
    printed = "".join(f"line {number} of what was printed\n" for number in range(9000))[: 255 * 1024]
    return Outcome.COMPLETED, showing(printed).model_copy(
        update={"stdout_bytes": 3 * 2**20, "truncated": True}
    )


def _bisected(stage: Stage, report_id: str) -> str:
    with stage.session() as session:
        return start_bisection(
            session, report_id, BisectionRequest(axis="torch", base=Target()), settings=stage.settings
        ).id


def _busy(stage: Stage, report_id: str) -> None:
    """Forty more runs, and sixty acts of maintainers."""
    for number in range(40):
        with stage.session() as session:
            relaunch(
                session,
                report_id,
                RunRequest(targets=(_target(number, 0),), repeats=1),
                settings=stage.settings,
            )
    for number in range(60):
        with stage.session() as session:
            label_report(
                session,
                report_id,
                add=[f"l{number}"],
                remove=[f"l{number - 1}"],
                reason=HEAVY[:1500],
                who="ada",
            )
