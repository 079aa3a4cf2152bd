"""Why an attempt did not reach the point of a claim: what this target lacks, or what the reporter must supply."""

from __future__ import annotations

import re

from app.intake.reading import NeedKind, Script
from app.targets.target import Target
from worker.contract import Device, Outcome, Reason, Result, WhoCanAct


def _reason(code: str, detail: str, who: WhoCanAct = WhoCanAct.NOBODY) -> Reason:
    return Reason(code=code, detail=detail, who_can_act=who)


NO_GPU = _reason("no_gpu", "The script needs a GPU and this target grants none.", WhoCanAct.OPERATOR)
TOO_FEW_GPUS = _reason("too_few_gpus", "The script needs more GPUs than this target grants.", WhoCanAct.OPERATOR)
TIME_LIMIT = _reason("time_limit", "The script was stopped at the time limit.", WhoCanAct.OPERATOR)
OUTPUT_LIMIT = _reason("output_limit", "The script was stopped because it printed too much.", WhoCanAct.REPORTER)
MEMORY_LIMIT = _reason("memory_limit", "The script was stopped at the memory limit.", WhoCanAct.OPERATOR)
PATH_NOT_TAKEN = _reason("path_not_taken", "The script ran without using the GPU that this target grants.", WhoCanAct.REPORTER)
GAVE_UP = _reason("gave_up_politely", "The script saw that something is missing, said so and ended.", WhoCanAct.OPERATOR)
STALE = _reason("stale_reproducer", "The script uses a part of the library that this version no longer has.", WhoCanAct.REPORTER)
NOTHING_SHOWN = _reason("nothing_shown", "The script ended without showing anything of the claim.", WhoCanAct.REPORTER)
ONE_ONLY = _reason("too_few_attempts", "A claim about repeats needs at least two attempts that ended.")
NO_SIDES = _reason("no_sides", "The script prints no two sides that could be compared.", WhoCanAct.REPORTER)

# By what torch, CUDA and Python say; each with whether it counts when the script merely printed it.
_SAID: tuple[tuple[re.Pattern[str], Reason], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), reason)
    for pattern, reason in (
        (r"Torch not compiled with CUDA enabled", NO_GPU),
        (r"No CUDA GPUs are available", NO_GPU),
        (r"Found no NVIDIA driver on your system", NO_GPU),
        (r"no CUDA-capable device is detected", NO_GPU),
        (r"Cannot access accelerator device when none is available", NO_GPU),
        (r"on a CUDA device but torch\.cuda\.is_available\(\) is False", NO_GPU),
        (r"Distributed package doesn't have NCCL|NCCL backend.{0,40}not available|ProcessGroupNCCL is only supported with GPUs", NO_GPU),
        (r"Could not run '[^']+' with arguments from the 'CUDA' backend", NO_GPU),
        (r"invalid device ordinal|Duplicate GPU detected", TOO_FEW_GPUS),
        (
            r"no kernel image is available for execution on the device",
            _reason("no_kernels_for_card", "The toolchain's build has no kernels for this card.", WhoCanAct.OPERATOR),
        ),
        (
            r"does not have a deterministic implementation",
            _reason("no_deterministic_kernel", "The script uses an operation that has no deterministic form."),
        ),
        (
            r"name resolution|Name or service not known|Network is unreachable|URLError|ConnectionError|Max retries exceeded",
            _reason("no_network", "The script needs the network, and the sandbox has none.", WhoCanAct.REPORTER),
        ),
        (
            r"InvalidCxxCompiler|No working C\+\+ compiler found|CppCompileError",
            _reason("no_compiler", "The script needs a C++ compiler that works on the node.", WhoCanAct.OPERATOR),
        ),
        (
            r"the following arguments are required|EOFError: EOF when reading a line",
            _reason("needs_input", "The script needs arguments or input that are not in the report.", WhoCanAct.REPORTER),
        ),
    )
)
_MISSING_PACKAGE = re.compile(r"No module named")
_STALE = re.compile(r"module '[\w.]+' has no attribute|cannot import name '[^']*' from 'torch|No module named 'torch\.")
_GAVE_UP = re.compile(
    r"(?:cuda|gpu)s?\b.{0,40}\b(?:not|un|n't|no)\s*(?:be\s+)?(?:available|found|detected|enabled|supported)"
    r"|\bno\s+(?:cuda|gpu)\b|\b(?:requires?|needs?|need)\b.{0,30}\b(?:cuda|gpu)s?\b|(?:cuda|gpu)\s*(?:is\s+)?unavailable",
    re.IGNORECASE,
)
# Where reading stops: what a script says of a lack stands near the end or near the start.
_WINDOW = 20_000


def ended_by_limit(result: Result) -> Reason | None:
    """The limit of ours that ended the attempt."""
    match result.outcome:
        case Outcome.TIMED_OUT:
            return TIME_LIMIT
        case Outcome.OUTPUT_EXCEEDED:
            return OUTPUT_LIMIT
        case Outcome.OUT_OF_MEMORY:
            return MEMORY_LIMIT
        case _:
            return None


def _failure_text(result: Result) -> str:
    seen = result.observation
    said = "" if seen.exception is None else f"{seen.exception.type}: {seen.exception.message}\n"
    failed = result.outcome in {Outcome.RAISED, Outcome.EXITED, Outcome.CRASHED}
    return said + (seen.stderr[-_WINDOW:] if failed else "")


def lack_of(result: Result, script: Script, target: Target) -> Reason | None:
    """What this attempt lacked, by how it failed, or by how it ended without failing. None: nothing that we can see."""
    limit = ended_by_limit(result)
    if limit is not None:
        return limit
    failure = _failure_text(result)
    if failure:
        for pattern, reason in _SAID:
            if pattern.search(failure):
                return reason
        by_type = _lack_by_exception(result)
        if by_type is not None:
            return by_type
    return _lack_without_failure(result, script, target)


def _lack_by_exception(result: Result) -> Reason | None:
    raised = result.observation.exception
    if raised is None:
        return None
    name = raised.type.rsplit(".", 1)[-1]
    if name in {"AttributeError", "ImportError", "ModuleNotFoundError"} and _STALE.search(raised.message):
        return STALE
    if name in {"ImportError", "ModuleNotFoundError"} and _MISSING_PACKAGE.search(raised.message):
        return _reason("missing_package", "The script needs a package that the toolchain does not have.", WhoCanAct.OPERATOR)
    if name == "FileNotFoundError":
        return _reason("missing_file", "The script needs a file that is not in the report.", WhoCanAct.REPORTER)
    return None


def _lack_without_failure(result: Result, script: Script, target: Target) -> Reason | None:
    if result.outcome not in {Outcome.COMPLETED, Outcome.EXITED, Outcome.RAISED}:
        return None
    seen = result.observation
    used_gpu = any(device.startswith("cuda") for device in seen.devices_used)
    needs_gpu = max((need.count for need in script.needs if need.kind is NeedKind.GPU), default=0)
    granted = target.gpus if target.device is Device.CUDA else 0
    if not used_gpu and _GAVE_UP.search(seen.stdout[:_WINDOW] + seen.stderr[-_WINDOW:]) and result.outcome is not Outcome.RAISED:
        return NO_GPU if needs_gpu and not granted else GAVE_UP
    if result.outcome is Outcome.COMPLETED and needs_gpu and granted and seen.devices_used and not used_gpu:
        return PATH_NOT_TAKEN
    return None
