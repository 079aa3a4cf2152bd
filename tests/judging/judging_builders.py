"""Short ways to make what judging reads: results, scripts, claims, targets."""

from __future__ import annotations

from typing import Any

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.reading import Need, NeedKind, Script
from app.targets.target import Target
from worker.contract import AttemptKind, Device, ExceptionFacts, Observation, Outcome, Result, Start

CPU = Target(device=Device.CPU, toolchain="torch-2.13-cpu")
CUDA = Target(device=Device.CUDA, gpus=1, toolchain="torch-2.13-cu130")
# A report whose comment and whose error name two bugs.
COMMENT_AND_ERROR = """# wrong scale

```python
import torch
print(torch.tensor(2.0) * 3)  # tensor(5.)
```

The first call raises

```
RuntimeError: scale is not set
```
"""
NO_CUDA = "Torch not compiled with CUDA enabled"


def script(
    text: str = "print(1)", *, gpus: int = 0, unseeded: bool = False, digest: str = "d1", **fields: Any
) -> Script:
    needs = (Need(kind=NeedKind.GPU, count=gpus),) if gpus else ()
    return Script(as_given=text, script=text, digest=digest, needs=needs, unseeded=unseeded, **fields)


def result(
    stdout: str = "",
    *,
    outcome: Outcome | None = None,
    raised: tuple[str, str] | None = None,
    status: int | None = None,
    signal: str | None = None,
    stderr: str = "",
    start: Start = Start.COLD,
    kind: AttemptKind = AttemptKind.REPEAT,
    attempt: str = "a1",
    environment: dict[str, Any] | None = None,
    **seen: Any,
) -> Result:
    """A result; its outcome follows from the rest unless given."""
    if outcome is None:
        outcome = (
            Outcome.CRASHED
            if signal
            else Outcome.RAISED
            if raised
            else Outcome.EXITED
            if status
            else Outcome.COMPLETED
        )
    if status is None and signal is None and outcome in {Outcome.COMPLETED, Outcome.RAISED}:
        status = 1 if raised else 0
    exception = None if raised is None else ExceptionFacts(type=raised[0], message=raised[1])
    return Result(
        node="n1",
        instance="i1",
        attempt_id=attempt,
        lease_no=1,
        kind=kind,
        start=start,
        outcome=outcome,
        observation=Observation(
            stdout=stdout, stderr=stderr, exit_status=status, signal=signal, exception=exception, **seen
        ),
        environment=environment or {},
    )


def several(count: int, *args: Any, **fields: Any) -> list[Result]:
    """The same result several times, under ids of their own."""
    return [result(*args, attempt=f"a{number}", **fields) for number in range(1, count + 1)]


def check(kind: CheckKind, text: str = "claimed", *, role: Role = Role.BUG, **fields: Any) -> Check:
    return Check(text=text, kind=kind, role=role, **fields)


def claim(*checks: Check, text: str = "") -> Claim:
    return Claim(checks=checks, text=text)


def raises(type_name: str, message: str | None = None) -> Check:
    return check(CheckKind.EXCEPTION, f"{type_name}: {message}", exception_type=type_name, message=message)


def prints(*lines: str, role: Role = Role.BUG) -> Check:
    return check(CheckKind.OUTPUT, "\n".join(lines), role=role, lines=lines)


def differs(*lines: str) -> Check:
    return check(CheckKind.DIFFERS, "CPU and GPU results differ", sides=("cpu", "cuda"), side_lines=lines)
