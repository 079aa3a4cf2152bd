"""The machines of recorded runs, as nodes that are offline. Their facts come from their results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from app.runs.exchange.bundle import Bundle
from app.storage.queries.queue import nodes as queries
from app.storage.queries.rerun import store_toolchains
from worker.contract import CardState, Environment, Gpu, Hello, Result, ToolchainFacts
from worker.contract.names import CAPABILITY, card_name

_PACKAGE = "package."


def store_nodes(session: Session, recorded: Sequence[tuple[str, Bundle, datetime]]) -> None:
    """Store each machine as a node, with its toolchains and the times of its first and last run.

    None takes work.
    """
    for machine in sorted({name for name, _, _ in recorded}):
        ran = [(bundle, moment) for name, bundle, moment in recorded if name == machine]
        results = [
            (job.target.toolchain, attempt.result, moment)
            for bundle, moment in ran
            for job in bundle.jobs
            for attempt in job.attempts
        ]
        evidence = [
            (toolchain, result, moment)
            for toolchain, result, moment in results
            if result is not None and result.environment and toolchain
        ]
        if not evidence:
            continue
        hello = _hello(machine, [(toolchain, result) for toolchain, result, _ in evidence])
        last = max(moment for _, _, moment in evidence)
        queries.store_hello(
            session, name=machine, instance=hello.instance, hello=hello.model_dump(mode="json"), moment=last
        )
        # The machine will not come back, so no run may wait for it.
        queries.set_draining(session, name=machine, instance=hello.instance)
        since: dict[str, datetime] = {}
        for toolchain, _, moment in evidence:
            since[toolchain] = min(moment, since.get(toolchain, moment))
        store_toolchains(session, {facts.name: since[facts.name] for facts in hello.toolchains})


def _hello(machine: str, evidence: Sequence[tuple[str, Result]]) -> Hello:
    """The first message that the machine would send as a node.

    Results do not tell its slots, so it has one.
    """
    _, last = evidence[-1]
    environments = [result.environment for _, result in evidence]
    cards = max((_cards(environment) for environment in environments), key=len)
    toolchains = {toolchain: _toolchain(toolchain, result.environment) for toolchain, result in evidence}
    return Hello(
        node=machine,
        instance=last.instance,
        slots=1,
        level=last.level,
        gpus=cards,
        toolchains=list(toolchains.values()),
        cpu_model=str(last.environment.get("cpu.model", "")),
        cpu_vendor=str(last.environment.get("cpu.vendor", "")),
        cpu_flags=_words(last.environment, "cpu.flags"),
        cores=_number(last.environment, "cpu.cores") or 1,
    )


def _toolchain(name: str, environment: Environment) -> ToolchainFacts:
    build = environment.get("torch.cuda_build")
    torch = environment.get("torch.version")
    return ToolchainFacts(
        name=name,
        state="ready",
        packages={
            field.removeprefix(_PACKAGE): str(value)
            for field, value in environment.items()
            if field.startswith(_PACKAGE)
        },
        torch=None if torch is None else str(torch),
        cuda_build=None if build is None else str(build),
        kernels=_words(environment, "cuda.arch_list"),
        mkl=environment.get("torch.mkl") is True,
    )


def _cards(environment: Environment) -> list[Gpu]:
    return [
        Gpu(
            index=index,
            model=card_name(str(environment.get(f"gpu.{index}.model", ""))),
            memory_bytes=_number(environment, f"gpu.{index}.memory_bytes"),
            capability=_capability(environment.get(f"gpu.{index}.capability")),
            driver=str(environment.get("gpu.driver", "")),
            state=CardState.UNCHECKED,
        )
        for index in range(_number(environment, "gpu.count"))
    ]


def _capability(value: object) -> str:
    return value if isinstance(value, str) and CAPABILITY.fullmatch(value) else ""


def _number(environment: Environment, field: str) -> int:
    value = environment.get(field)
    return value if isinstance(value, int) else 0


def _words(environment: Environment, field: str) -> list[str]:
    value = environment.get(field)
    return [str(word) for word in value] if isinstance(value, list) else []
