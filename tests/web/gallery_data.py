"""A service with a past: recorded reports over several versions, and the states that a page must bear."""

from __future__ import annotations

import json
from datetime import timedelta

from held_values import showing, tensor
from recorded_runs import NODE, Variation, recording, replay, says_hello
from sqlalchemy import text
from stage import Stage, result

from app.runs.exchange.contribute import contribute, export
from app.runs.run_object.storable import json_digest
from app.runs.submission.submit import Submission, submit
from app.targets.target import Target
from worker.contract import Device, ExceptionFacts, Observation, Outcome

ISSUES = "https://github.com/example/torch/issues/"
VERSIONS = ("2.9", "2.10", "2.11", "2.12", "2.13")
CPU = "torch-2.13-cuda"
COLOURS = "\x1b[1mstep\x1b[0m 1 \x1b[32mok\x1b[0m\n\x1b[31mstep 2 failed: 3.5 against 3.25\x1b[0m\n\x1b[33mwarning: slow\x1b[0m\n"  # noqa: E501
HEBREW = "הפונקציה מחזירה תוצאה שגויה עבור קלט ריק"
ARABIC = "النتيجة ليست نفسها على وحدة المعالجة"


def fill(stage: Stage) -> dict[str, str]:
    """Fill it, and say where everything is."""
    says_hello(stage, VERSIONS)
    paths = {
        "home": "/",
        "nodes": "/nodes",
        "reports": "/reports",
        "no such words": "/reports?q=zebra",
        "not there": "/reports/nothing",
    }
    paths |= _history(stage) | _recorded(stage) | _huge(stage) | _others(stage)
    return paths


def _history(stage: Stage) -> dict[str, str]:
    """One report that is mended in 2.12, and one that still happens; months apart."""
    logdet = recording("logdet_cpu_isa")
    title = "logdet is -inf on CPU, finite on GPU"
    first = replay(stage, logdet, Variation(version="2.9"), title=title, source_url=f"{ISSUES}180105")
    _back(stage, first.id, days=231)
    for version, days in (("2.10", 170), ("2.11", 104)):
        _back(stage, replay(stage, logdet, Variation(version=version), report=first.report.id).id, days=days)
    for version, days in (("2.12", 41), ("2.13", 1)):
        mended = Variation(version=version, replace=(("cpu -inf", "cpu -108.34196472167969"),))
        _back(stage, replay(stage, logdet, mended, report=first.report.id).id, days=days)
    broken = replay(
        stage,
        recording("uninitialised_quick"),
        Variation(version="2.12"),
        title="An empty tensor is summed",
        claim=None,
    )
    _back(stage, broken.id, days=30)
    last = replay(stage, recording("uninitialised_quick"), Variation(version="2.13"), report=broken.report.id)
    part = next(iter(first.comparisons), None)
    return {
        "report over versions": f"/reports/{first.report.id}",
        "report still broken": f"/reports/{broken.report.id}",
        "run": f"/runs/{last.id}",
        "cell": f"/jobs/{first.jobs[-1].id}",
        **(
            {}
            if part is None
            else {"compare": f"/compare?baseline={part.baseline}&candidate={part.candidate}"}
        ),
    }


def _recorded(stage: Stage) -> dict[str, str]:
    paths = {}
    for name, title in (
        ("sometimes.cuda", "Training loss is NaN, sometimes"),
        ("null_pointer.cuda", "Segmentation fault in a custom kernel"),
        ("svd_sign.cuda", "svd gives other signs on CUDA"),
        ("two_gpus.cuda", "all_reduce hangs with two cards"),
        ("weights_roundtrip.cuda", "Weights differ after a round trip"),
        ("tf32_matmul.cuda", "matmul is only right to three digits"),
        ("values", "What these values are"),
    ):
        run = replay(stage, recording(name), title=title)
        paths[title] = f"/reports/{run.report.id}"
    return {
        "report flaky": paths["Training loss is NaN, sometimes"],
        "report cannot show": paths["all_reduce hangs with two cards"],
    }


def _submit(stage: Stage, script: str, **more: object) -> tuple[str, str]:
    # Filling takes minutes on a busy machine, and a node that is silent gets no work.
    stage.beat(NODE)
    with stage.session() as session:
        document = submit(session, Submission(script=script, **more), settings=stage.settings).document
    return document.id, str(document.report.id)


def _play(stage: Stage, observation: Observation, outcome: Outcome, *, most: int = 10**6) -> None:
    done = 0
    # Reading a long script takes a while, too.
    stage.beat(NODE)
    while attempts := stage.dispatch():
        for attempt in attempts:
            stage.start(attempt, node=NODE)
            if done < most:
                stage.say(result(attempt, node=NODE, outcome=outcome, observation=observation))
            done += 1


def _huge(stage: Stage) -> dict[str, str]:
    """400 cells; 50 attempts; 3 MB of output; a script of 2 000 lines; writing from right to left."""
    boom = Observation(
        exit_status=1,
        exception=ExceptionFacts(type="RuntimeError", message="boom"),
        stderr="RuntimeError: boom\n",
        stderr_bytes=19,
    )
    targets = tuple(
        Target(device=Device.CPU, toolchain=CPU, settings={"threads": str(number)})
        for number in range(1, 401)
    )
    cells, cells_report = _submit(
        stage,
        "raise RuntimeError('boom')\n",
        claim="RuntimeError: boom",
        title="400 cells",
        targets=targets,
        repeats=1,
    )
    _play(stage, boom, Outcome.RAISED)
    one = (Target(device=Device.CPU, toolchain=CPU),)
    map_, map_report = _many_cells(stage)
    many, many_report = _submit(
        stage,
        "import random\nassert random.random() > 0.5\n",
        claim="AssertionError",
        title="50 attempts",
        targets=one,
        repeats=50,
    )
    _play(
        stage,
        Observation(
            exit_status=1,
            exception=ExceptionFacts(type="AssertionError", message=""),
            stderr="AssertionError\n",
            stderr_bytes=15,
        ),
        Outcome.RAISED,
    )
    texts = [f"line {number} of the output, with a number {number / 7:.9f}" for number in range(4500)]
    lines = "".join(f"print('{line}')\n" for line in texts[:2000])
    printed = "".join(f"{line}\n" for line in texts)[: 255 * 1024]
    long, long_report = _submit(
        stage,
        lines,
        claim="prints 2",
        title="A script of 2 000 lines that prints 3 MB",
        targets=one,
        repeats=3,
    )
    _play(
        stage,
        Observation(exit_status=0, stdout=printed, stdout_bytes=3 * 2**20, truncated=True),
        Outcome.COMPLETED,
    )
    hebrew = f"# {ARABIC}\nprint('{HEBREW}')\nprint('{ARABIC}: 1.5')\n"
    right, right_report = _submit(
        stage, hebrew, claim=f"prints {HEBREW}", title=HEBREW, targets=one, repeats=2
    )
    _play(stage, showing(f"{HEBREW}\n{ARABIC}: 1.5\n", tensor("x", 1.5, 2.5)), Outcome.COMPLETED)
    with stage.session() as session:
        attempt = session.execute(
            text("SELECT id FROM attempt WHERE run_id = :run ORDER BY id LIMIT 1"), {"run": long}
        ).scalar_one()
    return {
        "heat map": f"/reports/{map_report}/map",
        "heat map report": f"/reports/{map_report}",
        "heat map run": f"/runs/{map_}",
        "400 cells run": f"/runs/{cells}",
        "400 cells report": f"/reports/{cells_report}",
        "50 attempts run": f"/runs/{many}",
        "50 attempts report": f"/reports/{many_report}",
        "2 000 lines run": f"/runs/{long}",
        "2 000 lines report": f"/reports/{long_report}",
        "3 MB attempt": f"/attempts/{attempt}",
        "right to left run": f"/runs/{right}",
        "right to left report": f"/reports/{right_report}",
    }


def _many_cells(stage: Stage) -> tuple[str, str]:
    """20 settings in 5 versions: it begins with 2.11, for many threads only, and 2.12 is not sure."""
    targets = tuple(
        Target(device=Device.CPU, toolchain=f"torch-{version}-cuda", settings={"threads": str(number)})
        for number in range(1, 21)
        for version in VERSIONS
    )
    script = "import torch\nassert torch.ones(3).sum() == 3\n"
    ids = _submit(stage, script, claim="AssertionError", title="Wrong sum", targets=targets, repeats=2)
    bad = Observation(
        exit_status=1, exception=ExceptionFacts(type="AssertionError", message=""), stderr="AssertionError\n"
    )
    turn = 0
    while attempts := stage.dispatch():
        for attempt in attempts:
            turn += 1
            threads, version = int(attempt.settings["threads"]), VERSIONS.index(attempt.toolchain[6:-5])
            happens = version >= 2 and threads > 4 * version - 7 and (version != 3 or turn % 3 > 0)
            seen, outcome = (
                (bad, Outcome.RAISED) if happens else (Observation(exit_status=0), Outcome.COMPLETED)
            )
            stage.start(attempt, node=NODE)
            facts = {"cpu.model": "AMD EPYC", "torch.version": f"{VERSIONS[version]}.0+cu130"}
            said = result(attempt, node=NODE, outcome=outcome, observation=seen)
            stage.say(said.model_copy(update={"environment": facts}))
    return ids


def _others(stage: Stage) -> dict[str, str]:
    """Colours and values side by side; evidence from elsewhere; nothing to run; a run that goes on."""
    pair = (
        Target(device=Device.CPU, toolchain=CPU),
        Target(device=Device.CPU, toolchain=CPU, settings={"threads": "1"}),
    )
    colours, colours_report = _submit(
        stage, "x = 1.5\nprint(x)\n", claim="prints 2", title="Colours and values", targets=pair, repeats=2
    )
    while attempts := stage.dispatch():
        for attempt in attempts:
            one = bool(attempt.settings)
            value = tensor("x", 1.0, 1.5 + one * 2**-23, 2.0)
            printed = f"{COLOURS}x = {'1.5000001' if one else '1.5'}\n"
            seen = showing(printed, value, tensor("same", 1.0), stderr="warning: slow\n" if one else "")
            stage.say(
                result(attempt, node=NODE, outcome=Outcome.COMPLETED, observation=seen, cpu=f"Xeon {one:d}")
            )
    shown = stage.run(colours)
    ids = [attempt.id for job in shown.jobs for attempt in job.attempts]
    with stage.session() as session:
        bundle = export(session, colours)
        bundle["jobs"] = bundle["jobs"][:1]
    content = {name: value for name, value in bundle.items() if name != "digest"}
    with stage.session() as session:
        contribute(
            session,
            json.dumps({**content, "digest": json_digest(content)}).encode(),
            by="Ada, who has the card",
            settings=stage.settings,
        )
    with stage.session() as session:
        asked = submit(
            session,
            Submission(report="# It crashes\n\nIt crashes when I train.\n", source_url=f"{ISSUES}7"),
            settings=stage.settings,
        ).document
    live = replay(
        stage, recording("logdet_cpu_isa"), Variation(version="2.13"), title="A run that goes on", most=9
    )
    return {
        "compare colours": f"/compare?baseline={ids[0]}&candidate={ids[-1]}",
        "attempt colours": f"/attempts/{ids[0]}",
        "report contributed": f"/reports/{colours_report}",
        "needs info run": f"/runs/{asked.id}",
        "needs info report": f"/reports/{asked.report.id}",
        "run live": f"/runs/{live.id}",
    }


def _back(stage: Stage, run_id: str, *, days: int) -> None:
    """Let a run have been so many days ago."""
    with stage.session() as session:
        values = {"run": run_id, "by": timedelta(days=days)}
        session.execute(
            text(
                "UPDATE run SET created_at = created_at - :by, finished_at = finished_at - :by WHERE id = :run"  # noqa: E501
            ),
            values,
        )
        session.execute(
            text(
                "UPDATE report SET created_at = least(created_at, (SELECT min(created_at) FROM run WHERE report_id = report.id))"  # noqa: E501
            )
        )
        newest = "(SELECT max(finished_at) FROM run WHERE report_id = report.id)"
        session.execute(text(f"UPDATE report SET verified_at = {newest} WHERE verified_at > {newest}"))  # noqa: S608 - words of our own
