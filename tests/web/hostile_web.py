"""A web in which everything that strangers may write is hostile."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass

import httpx2
from held_values import showing, tensor
from stage import Stage, result

from app.runs.exchange.contribute import contribute, export
from app.runs.lookup.runs import run_document
from app.runs.run_object.bisection_state import BisectionRequest
from app.runs.run_object.document import RunDocument
from app.runs.run_object.storable import json_digest
from app.runs.submission.bisections import start_bisection
from app.runs.submission.submit import Submission, submit
from app.targets.target import Target
from worker.contract import CapturedValue, Device, ExceptionFacts, Observation, Outcome, Reason

# Whatever a stranger may write anywhere, in one string: tags, attributes, comments, bidi, colours, a long
# line.
EVIL = '</pre></textarea><script>alert(1)</script><img src=x onerror=alert(1)>\'" onload="x '
EVIL += "\u202eevil\u2066 \x1b[31mred\x1b[0m {{7*7}} <!-- -->"
TARGETS = (Target(device=Device.CPU), Target(device=Device.CPU, settings={"threads": "1"}))
REPORT = f"""# {EVIL}

It prints:

```python
import sys  # {EVIL}
print("hello")
raise RuntimeError("boom")
```

Expected: no error. But: RuntimeError: boom {EVIL}

samehere-probe 1
environment cpu.model = {json.dumps(EVIL)}
outcome exit_status = 1
outcome exception.type = "RuntimeError"
outcome exception.message = {json.dumps(EVIL)}
stdout 1 = {json.dumps(EVIL)}
value 1 = {json.dumps({"name": EVIL, "of": "number", "dtype": EVIL, "device": EVIL, "shape": [-1] * 9})}
end 6
"""
NAME = "</span><script>alert(1)</script>"


def observation() -> Observation:
    long = "L" * 100_000 + "\n"
    return Observation(
        exit_status=1,
        signal="<b>SIGSEGV</b>",
        exception=ExceptionFacts(type=f"Runtime{EVIL}", message=EVIL),
        stdout=f"{EVIL}\n{long}",
        stdout_bytes=60 * 2**20,
        stderr=f"{EVIL}\ufffd\n",
        stderr_bytes=300,
        stacks=EVIL,
        truncated=True,
        devices_used=[EVIL],
        flags_changed={EVIL: EVIL},
        hash_seed=EVIL,
        values=held(2.0, evil=4.0),
        values_omitted=10**9,
    )


def held(number: float, *, evil: float) -> list[CapturedValue]:
    """Values under hostile names, with hostile facts."""
    odd = {"dtype": EVIL, "shape": [2**62] * 64, "device": EVIL, "digest": EVIL, "data": ""}
    return [
        tensor("x" * 200, number, 1.0),
        tensor(EVIL, evil, origin="printed"),
        tensor(f"odd {EVIL}", number).model_copy(update={**odd, "digest": f"{EVIL}{number}"}),
        tensor("same", 1.0),
    ]


def contributed(stage: Stage, run_id: str) -> RunDocument:
    """The run once more, as one that others made, brought by someone with a hostile name."""
    with stage.session() as session:
        bundle = export(session, run_id)
        for job in bundle["jobs"]:
            for attempt in job["attempts"]:
                attempt["result"]["node"] = "lab-of-others"
        content = {name: value for name, value in bundle.items() if name != "digest"}
        data = json.dumps({**content, "digest": json_digest(content)}).encode()
        return contribute(session, data, by=NAME, settings=stage.settings).document


@dataclass(frozen=True)
class Hostile:
    """A web in which everything that strangers may write is hostile."""

    url: str
    client: httpx2.Client
    paths: dict[str, str]

    def page(self, name: str) -> str:
        answer = self.client.get(self.paths[name])
        assert answer.status_code == 200, answer.text
        return answer.text


def fill(stage: Stage) -> dict[str, str]:
    """Submit, play a hostile node, and say where everything is."""
    stage.node("n")
    with stage.session() as session:
        request = Submission(
            report=REPORT,
            claim=f"RuntimeError: boom {EVIL}",
            targets=TARGETS,
            repeats=2,
            title=EVIL,
            source_url="https://x/?<b>'\"",
        )
        run_id = submit(session, request, settings=stage.settings).document.id
    for number, attempt in enumerate(stage.dispatch()):
        reason = Reason(code="x", detail=EVIL, who_can_act="operator")
        more = (
            {"observation": observation(), "reason": reason}
            if number % 2
            else {"observation": showing(EVIL, *held(1.0, evil=3.0))}
        )
        stage.say(
            result(
                attempt,
                node="n",
                outcome=Outcome.CRASHED if number % 2 else Outcome.COMPLETED,
                cpu=EVIL,
                **more,
            )
        )
    with stage.session() as session:
        run = run_document(session, run_id)
    other = contributed(stage, run_id)
    with stage.session() as session:
        asked = BisectionRequest(axis="threads", base=Target(device=Device.CPU))
        bisection = start_bisection(session, str(run.report.id), asked, settings=stage.settings).id
    attempts = sorted(
        (attempt for job in run.jobs for attempt in job.attempts),
        key=lambda attempt: attempt.outcome == Outcome.CRASHED,
    )
    return {
        "home": "/",
        "attention": "/attention/still_broken",
        "cell": f"/jobs/{run.jobs[0].id}",
        "contributed cell": f"/jobs/{other.jobs[0].id}",
        "run": f"/runs/{run.id}",
        "reports": "/reports",
        "search": f"/reports?q={html.escape(EVIL[:20])}",
        "report": f"/reports/{run.report.id}",
        "map": f"/reports/{run.report.id}/map",
        "nodes": "/nodes",
        "changes": "/changes?kind=",
        "judge again": f"/reports/{run.report.id}/judge-again",
        "bisection": f"/bisections/{bisection}",
        "compare": f"/compare?id={run.comparisons[0].id}",
        "compare completed": f"/compare?baseline={attempts[0].id}&candidate={attempts[1].id}",
        "compare crashed": f"/compare?baseline={attempts[0].id}&candidate={attempts[-1].id}",
        "compare form": "/compare",
        "compare lists": f"/compare?report={run.report.id}",
        "contributed": f"/runs/{other.id}",
        "compare contributed": f"/compare?baseline={attempts[0].id}&candidate={other.jobs[0].attempts[0].id}",
        "contributed attempt": f"/attempts/{other.jobs[0].attempts[0].id}",
        "completed": f"/attempts/{attempts[0].id}",
        "crashed": f"/attempts/{attempts[-1].id}",
    }
