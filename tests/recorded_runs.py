"""Recordings of real hardware, played into a stage: their fleet, their reports, and the result of each
attempt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stage import Stage

from app.runs.run_object.document import RunDocument
from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import Submission, submit
from app.targets.parse import make_target
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import Attempt, CardState, Gpu, Hello, Level, Observation, Result, ToolchainFacts

NODE = "lab-h200"
RECORDINGS = Path(__file__).parent / "recordings" / "h200"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """The differences of a replay from its recording: another version, other printed text, another ending."""

    version: str = ""
    replace: tuple[tuple[str, str], ...] = ()
    facts: tuple[tuple[str, Any], ...] = ()


def recording(name: str) -> dict[str, Any]:
    """A run object as it was recorded."""
    return {**json.loads((RECORDINGS / f"{name}.json").read_text()), "name": name}


def versioned(toolchain: str, version: str) -> str:
    """The recorded toolchain's name with another version."""
    return toolchain.replace("2.11", version) if version else toolchain


def says_hello(stage: Stage, versions: tuple[str, ...] = ("2.11",), *, cards: int = 8) -> None:
    """The machine of the recordings, with the toolchain in these versions."""
    chains = [
        ToolchainFacts(
            name=versioned("torch-2.11-cuda", version),
            state="ready",
            packages={"torch": f"{version}.0+cu130", "numpy": "2.5.2"},
            torch=f"{version}.0+cu130",
            cuda_build="13.0",
            kernels=["sm_90"],
            mkl=True,
            cpu_isa=["avx2", "sse4.2", "compatible"],
        )
        for version in versions
    ]
    card = Gpu(
        index=0,
        model="NVIDIA H200",
        memory_bytes=150109880320,
        capability="9.0",
        driver="580.159.04",
        state=CardState.SOUND,
    )
    gpus = [card.model_copy(update={"index": number}) for number in range(cards)]
    stage.say(
        Hello(
            node=NODE,
            instance="one",
            slots=64,
            level=Level.NAMESPACES_CGROUP,
            toolchains=chains,
            gpus=gpus,
            cpu_flags=["avx2", "avx512f", "sse4_2"],
            cpu_model="Intel(R) Xeon(R) Processor",
            cpu_vendor="GenuineIntel",
            cores=16,
        )
    )
    stage.beat(NODE)


def replay(
    stage: Stage,
    recorded: Mapping[str, Any],
    variation: Variation = Variation(),
    *,
    report: str | None = None,
    source_url: str | None = None,
    title: str = "",
    claim: str | None = None,
    most: int = 10**6,
) -> RunDocument:
    """Submit the recorded script on the recorded targets, or rerun a report; answer each attempt as
    recorded.
    """
    targets = tuple(_target(job, variation) for job in recorded["jobs"])
    repeats = max(len([one for one in job["attempts"] if one["counted"]]) for job in recorded["jobs"])
    with stage.session() as session:
        if report is None:
            given = RECORDINGS / "reports" / f"{recorded.get('name', '')}.md"
            script = None if given.exists() else recorded["report"]["scripts"][0]["as_given"]
            text = given.read_text() if given.exists() else None
            request = Submission(
                script=script,
                report=text,
                targets=targets,
                repeats=repeats,
                title=title,
                source_url=source_url,
                claim=claim,
            )
            document = submit(session, request, settings=stage.settings).document
        else:
            document = relaunch(
                session, report, RunRequest(targets=targets, repeats=repeats), settings=stage.settings
            )
    by_label = {target.label(): job for target, job in zip(targets, recorded["jobs"], strict=True)}
    answer(stage, by_label, recorded["environments"], variation, most=most)
    return stage.run(document.id)


def answer(
    stage: Stage,
    by_label: Mapping[str, Any],
    environments: Mapping[str, Any],
    variation: Variation = Variation(),
    *,
    most: int = 10**6,
) -> None:
    """Send the recorded results of all waiting attempts, in recorded order; beyond `most` they stay
    running.
    """
    given: dict[str, int] = {}
    done = 0
    while attempts := stage.dispatch():
        for attempt in attempts:
            stage.start(attempt, node=NODE)
            if done >= most:
                continue
            done += 1
            label = _label_of(attempt)
            shown = [one for one in by_label[label]["attempts"] if one["counted"] and one["outcome"]]
            given[label] = given.get(label, -1) + 1
            stage.say(_result(attempt, shown[given[label] % len(shown)], environments, variation))


def _label_of(attempt: Attempt) -> str:
    return Target(
        device=attempt.device, gpus=attempt.gpus, toolchain=attempt.toolchain, settings=attempt.settings
    ).label()


def _target(job: Mapping[str, Any], variation: Variation) -> Target:
    target = job["target"]
    return make_target({**target, "toolchain": versioned(target["toolchain"], variation.version)})


def _result(
    attempt: Attempt, one: Mapping[str, Any], environments: Mapping[str, Any], variation: Variation
) -> Result:
    texts = {name: _varied(one[name], variation) for name in ("stdout", "stderr")}
    seen = Observation.model_validate(
        {
            **texts,
            **{f"{name}_bytes": len(text.encode()) for name, text in texts.items()},
            **{
                f"{name}_digest": "sha256:" + hashlib.sha256(text.encode()).hexdigest()
                for name, text in texts.items()
            },
            **{
                name: one[name]
                for name in (
                    "exit_status",
                    "signal",
                    "exception",
                    "truncated",
                    "devices_used",
                    "flags_changed",
                )
            },
            "wall_seconds": one["wall_seconds"] or 0.0,
            "peak_memory_bytes": one["peak_memory_bytes"] or 0,
            "stacks": one.get("stacks") or "",
        }
    )
    environment = dict(environments.get(one["environment"] or "", {}))
    if variation.version and environment:
        environment["torch.version"] = f"{variation.version}.0+cu130"
    environment |= dict(variation.facts)
    return Result(
        node=NODE,
        instance="one",
        attempt_id=attempt.attempt_id,
        lease_no=attempt.lease_no,
        level=Level.NAMESPACES_CGROUP,
        outcome=one["outcome"],
        reason=one["reason"],
        observation=seen,
        environment=environment,
    )


def _varied(text: str, variation: Variation) -> str:
    for before, after in variation.replace:
        text = text.replace(before, after)
    return text
