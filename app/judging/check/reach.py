"""The reasons why an attempt did not reach the point of a claim, such as a missing GPU or package."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from app.intake.reading import NeedKind, Script
from app.intake.words.distributions import DISTRIBUTIONS, WELL_KNOWN
from app.judging.output.failure_signature import says_it_is_removed
from app.targets.target import Target
from worker.contract import Device, Outcome, Reason, Result, WhoCanAct
from worker.contract.target_settings import NOT_IN_FORCE


def _reason(code: str, detail: str, who: WhoCanAct = WhoCanAct.NOBODY) -> Reason:
    return Reason(code=code, detail=detail, who_can_act=who)


_OPERATOR, _REPORTER = WhoCanAct.OPERATOR, WhoCanAct.REPORTER
NO_GPU = _reason("no_gpu", "The script needs a GPU, and this target has none.", _OPERATOR)
TOO_FEW_GPUS = _reason("too_few_gpus", "The script needs more GPUs than this target has.", _OPERATOR)
TIME_LIMIT = _reason("time_limit", "The script was stopped at the time limit.", _OPERATOR)
OUTPUT_LIMIT = _reason("output_limit", "The script was stopped because it printed too much.", _REPORTER)
MEMORY_LIMIT = _reason("memory_limit", "The script was stopped at the memory limit.", _OPERATOR)
SANDBOX_LIMIT = _reason(
    "sandbox_limit", "The script needs something that the sandbox does not allow.", _OPERATOR
)
MISSING_PACKAGE = _reason(
    "missing_package", "The script needs a package that the toolchain does not have.", _OPERATOR
)
NOT_ADDED = _reason(
    "missing_package", "Packages that the script needs could not be added to the toolchain.", _OPERATOR
)
SETTING_NOT_IN_FORCE = _reason(
    NOT_IN_FORCE,
    "A setting of the target has another value on the machine; the attempt says which.",
    _OPERATOR,
)
MISSING_FILE = _reason("missing_file", "The script needs a file that is not in the report.", _REPORTER)
NEEDS_INPUT = _reason(
    "needs_input", "The script needs arguments or input that are not in the report.", _REPORTER
)
NO_NETWORK = _reason(
    "no_network", "The script needs the network, which the sandbox does not have.", _REPORTER
)
NO_KERNELS = _reason("no_kernels_for_card", "The toolchain's build has no kernels for this card.", _OPERATOR)
NO_DETERMINISTIC = _reason(
    "no_deterministic_kernel", "The script uses an operation that has no deterministic form."
)
NO_COMPILER = _reason("no_compiler", "The script needs a working compiler on the node.", _OPERATOR)
OTHER_OS = _reason("other_os", "The script or the claim is about another operating system.", _OPERATOR)
OTHER_VERSION = _reason(
    "other_version", "The claim is about another version than the one of this target.", _OPERATOR
)
OTHER_DEVICE = _reason("other_device", "The claim is about another device than the one used here.", _OPERATOR)
OTHER_MODE = _reason(
    "other_mode", "The claim is about another way to start the script than the one used here."
)
ABSOLUTE_TIME = _reason(
    "absolute_time", "The claim is a duration. Durations from two machines can't be compared."
)
STALE = _reason(
    "stale_reproducer",
    "The script uses a part of the library that this version does not have any more.",
    _REPORTER,
)
PATH_NOT_TAKEN = _reason("path_not_taken", "The script ran without using the GPU of this target.", _REPORTER)
GAVE_UP = _reason(
    "gave_up_politely", "The script noticed that something is missing, printed that, and ended.", _OPERATOR
)
NOTHING_SHOWN = _reason(
    "nothing_shown", "The script ended without showing anything about the claim.", _REPORTER
)
ENDED_EARLIER = _reason(
    "ended_earlier", "The script failed before it reached the point of the claim.", _REPORTER
)
TWO_READINGS = _reason(
    "two_readings",
    "The report can be read in two ways. The script shows one of them, and not the other.",
    _REPORTER,
)
MODEL_READING = _reason(
    "model_reading",
    "Only a model found a claim in this report. The output beside it is in sight, but it gives no verdict.",
    _REPORTER,
)
RANDOM_NUMBERS = _reason(
    "random_numbers",
    "The claim shows nothing but numbers that the script draws at random, without a seed.",
    _REPORTER,
)
POINT_NOT_SEEN = _reason(
    "point_not_seen", "It was not seen that the script passed the point of the claim.", WhoCanAct.SERVICE
)
POINT_UNKNOWN = _reason(
    "point_not_seen",
    "The report does not show at which statement of this script it fails, and nothing of it was seen.",
    _REPORTER,
)
TOO_MANY_READINGS = _reason(
    "too_many_readings", "The report can be read in more ways than are judged.", _REPORTER
)
POINT_PASSED = _reason(
    "point_passed",
    "The statement that failed in the report was executed, and no exception was seen to go through it.",
)
NOT_COMPILED = _reason(
    "not_compiled", "The script compiles code, and when it was observed, torch's compiler compiled none."
)
MET_WHEN_OBSERVED = _reason(
    "met_when_observed",
    "The bug came only in the attempt whose statements were observed, which makes the script slower.",
)
TOO_FEW_ATTEMPTS = _reason("too_few_attempts", "Too few attempts gave a usable result.", WhoCanAct.SERVICE)
UNSEEN_IN_FEW = _reason(
    TOO_FEW_ATTEMPTS.code,
    "Not seen, but in too few attempts to be sure.",
    WhoCanAct.SERVICE,
)
TOO_NOISY = _reason(
    "too_noisy", "The two times are too close to each other, or vary too much, to compare them."
)
NO_TIMES = _reason("no_times", "The script does not print two times that can be compared.", _REPORTER)
NO_SIDES = _reason("no_sides", "The script does not print two sides that can be compared.", _REPORTER)

# Messages of torch, CUDA and Python about a lack. The first match in the failure of an attempt gives the
# reason.
_LACK_MESSAGES: tuple[tuple[re.Pattern[str], Reason], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), reason)
    for pattern, reason in (
        (r"Torch not compiled with CUDA enabled", NO_GPU),
        (r"No CUDA GPUs are available", NO_GPU),
        (r"Found no NVIDIA driver on your system", NO_GPU),
        (r"no CUDA-capable device is detected", NO_GPU),
        (r"Cannot access accelerator device when none is available", NO_GPU),
        (r"on a CUDA device but torch\.cuda\.is_available\(\) is False", NO_GPU),
        (r"not linked with support for cuda devices", NO_GPU),
        (
            (
                r"Distributed package doesn't have NCCL"
                r"|NCCL backend.{0,40}not available"
                r"|ProcessGroupNCCL is only supported with GPUs"
            ),
            NO_GPU,
        ),
        (r"Could not run '[^']{1,80}' with arguments from the 'CUDA' backend", NO_GPU),
        # Libraries in other languages raise their own errors about files.
        (r"No such file or directory \(os error 2\)|\[Errno 2\] No such file", MISSING_FILE),
        (r"invalid device ordinal|Duplicate GPU detected", TOO_FEW_GPUS),
        (r"no kernel image is available for execution on the device", NO_KERNELS),
        (r"does not have a deterministic implementation", NO_DETERMINISTIC),
        (
            (
                r"Temporary failure in name resolution|Name or service not known"
                r"|Network is unreachable|Max retries exceeded|[Cc]ould not resolve host"
                r"|(?:HTTP|http) client error|error sending request for url|\bdns error\b"
            ),
            NO_NETWORK,
        ),
        (r"InvalidCxxCompiler|No working C\+\+ compiler found|Failed to find C compiler", NO_COMPILER),
        (r"error: the following arguments are required|EOFError: EOF when reading a line", NEEDS_INPUT),
        (r"has no attribute 'windll'|No module named '(?:winreg|msvcrt|_winapi)'", OTHER_OS),
    )
)
# These count even if the script caught the error, printed it and ended well.
_COUNT_WHEN_PRINTED = {"no_gpu", "too_few_gpus"}
_STALE = re.compile(
    r"module '[\w.]{1,200}' has no attribute"
    r"|cannot import name '[^']{1,200}' from '"
    r"|No module named 'torch\."
    r"|got an unexpected keyword argument"
    r"|'(?:Tensor|Parameter|ndarray|Generator|_OpNamespace)'(?: '\w{1,80}')? object has no attribute"
)
# Classes of libraries begin with a capital letter, those of Python itself do not.
_NO_ATTRIBUTE = re.compile(
    r"'(?:\w{1,60}\.){0,6}(?P<owner>(?!NoneType)[A-Z]\w{0,80})' object has no attribute '(?P<name>\w{1,80})'"
)
_NAME_ERRORS = {"AttributeError", "ImportError", "ModuleNotFoundError", "TypeError"}
_BY_TYPE: dict[str, Reason] = {
    "ImportError": MISSING_PACKAGE,
    "ModuleNotFoundError": MISSING_PACKAGE,
    "FileNotFoundError": MISSING_FILE,
    "EOFError": NEEDS_INPUT,
    "ConnectionError": NO_NETWORK,
    "ConnectTimeout": NO_NETWORK,
    "gaierror": NO_NETWORK,
    "URLError": NO_NETWORK,
    "LocalEntryNotFoundError": NO_NETWORK,
    "OfflineModeIsEnabled": NO_NETWORK,
    "PermissionError": SANDBOX_LIMIT,
    "OutOfMemoryError": MEMORY_LIMIT,
    "MemoryError": MEMORY_LIMIT,
}
_NO_MODULE = re.compile(r"^No module named '([A-Za-z_]\w{0,60})")
_MEMORY = re.compile(r"CUDA out of memory|DefaultCPUAllocator: (?:not enough|can't allocate) memory")
_SANDBOX = re.compile(r"\[Errno (?:28|30)\]|can't start new thread")
# The codes of the node for limits that a script meets as an error.
_LIMIT_CODES = {"scratch_limit", "process_limit", "file_size_limit"}
_GAVE_UP = re.compile(
    r"(?:cuda|gpu)s?\b.{0,40}\b(?:not|n't|un|no)\s*(?:be\s+)?(?:available|found|detected|enabled|supported)"
    r"|\bno\s+(?:cuda|gpus?|nvidia)\b|\b(?:requires?|needs?)\b.{0,30}\b(?:cuda|gpus?)\b",
    re.IGNORECASE,
)
_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_SKIPPED = re.compile(r"^OK \(skipped=(\d+)\)$", re.MULTILINE)
_ONLY_SKIPPED = re.compile(r"^(?:=+ )?\d+ skipped(?:, \d+ warnings?)? in [\d.]+s", re.MULTILINE)
_GOES_ON = re.compile(
    r"\b(?:using|use|on|to|with)\s+(?:the\s+)?cpu\b|fall(?:ing)?\s*back|instead", re.IGNORECASE
)
# Only the last part of the output is read, in characters. A message about a lack is near the end.
_WINDOW = 20_000
_GIVES_UP_WITHIN = 300


def ended_by_limit(result: Result) -> Reason | None:
    """The limit at which the node stopped the attempt; None if it did not."""
    match result.outcome:
        case Outcome.TIMED_OUT:
            return TIME_LIMIT
        case Outcome.OUTPUT_EXCEEDED:
            return OUTPUT_LIMIT
        case Outcome.OUT_OF_MEMORY:
            return MEMORY_LIMIT
        case _:
            return None


# The line of the script that a traceback shows: `assert torch.__version__ == "2.1"`.
_VERSION_GUARD = re.compile(r"line \d+, in <module>\n[ \t]{1,8}assert\b[^\n]{0,200}__version__")


def lack_of(result: Result, script: Script, target: Target) -> Reason | None:
    """The lack that made an attempt fail, or end early without a failure. None if none is visible."""
    limit = ended_by_limit(result)
    if limit is not None:
        return limit
    if result.outcome in {Outcome.RAISED, Outcome.EXITED, Outcome.CRASHED}:
        if any(need.kind is NeedKind.DEVICE for need in script.needs):
            # The error without such a device has many forms.
            return OTHER_DEVICE
        if _refuses_version(result):
            return OTHER_VERSION
        lack = (
            _lack_by_exception(result)
            or _printed_lack(result.observation.stderr[-_WINDOW:])
            or _lack_of_attribute(result, script)
        )
        if lack is not None:
            return lack
    return _lack_without_failure(result, script, target)


def _refuses_version(result: Result) -> bool:
    """Whether an assertion of the script about a version ended it."""
    raised = result.observation.exception
    return (
        raised is not None
        and raised.type == AssertionError.__name__
        and _VERSION_GUARD.search(result.observation.stderr[-_WINDOW:]) is not None
    )


def _lack_of_attribute(result: Result, script: Script) -> Reason | None:
    """STALE if the script asks an object of a library for an attribute that its class does not have."""
    raised = result.observation.exception
    match = (
        _NO_ATTRIBUTE.search(raised.message[:_WINDOW]) if raised and raised.type == "AttributeError" else None
    )
    if match is None or f"class {match['owner']}" in script.script:
        return None
    return STALE if re.search(rf"\.{match['name']}\b", script.script) else None


def _printed_lack(text: str) -> Reason | None:
    return next((reason for pattern, reason in _LACK_MESSAGES if pattern.search(text)), None)


def _lack_by_exception(result: Result) -> Reason | None:
    raised = result.observation.exception
    if raised is None:
        return None
    name, message = raised.type.rsplit(".", 1)[-1], raised.message[:_WINDOW]
    known = (
        _printed_lack(f"{name}: {message}")
        or _lack_by_message(name, message, result.reason)
        or _BY_TYPE.get(name)
    )
    return _naming_the_package(message) if known is MISSING_PACKAGE else known


def _naming_the_package(message: str) -> Reason:
    """The reason with the name of the package, if it is a well-known one.

    The name comes from the script, and language models read our reasons. So an unknown name is not repeated.
    """
    match = _NO_MODULE.search(message)
    package = match and DISTRIBUTIONS.get(match[1], match[1].replace("_", "-").lower())
    if package not in WELL_KNOWN:
        return MISSING_PACKAGE
    return MISSING_PACKAGE.model_copy(
        update={"detail": f"The script needs {package}, which the toolchain does not have."}
    )


def _lack_by_message(name: str, message: str, reason: Reason | None) -> Reason | None:
    if (name in _NAME_ERRORS and _STALE.search(message)) or says_it_is_removed(message):
        return STALE
    if _MEMORY.search(message):
        return MEMORY_LIMIT
    limited = reason is not None and reason.code in _LIMIT_CODES
    return SANDBOX_LIMIT if limited or _SANDBOX.search(message) else None


def _lack_without_failure(result: Result, script: Script, target: Target) -> Reason | None:
    if result.outcome not in {Outcome.COMPLETED, Outcome.EXITED}:
        return None
    printed = _printed_lack(result.observation.stdout[-_WINDOW:])
    if printed is not None and printed.code in _COUNT_WHEN_PRINTED:
        return printed
    needs_gpu = any(need.kind is NeedKind.GPU for need in script.needs)
    used_gpu = uses_gpu(result)
    if not used_gpu and _gives_up(result):
        return NO_GPU if needs_gpu and target.device is Device.CPU else GAVE_UP
    if (
        result.outcome is Outcome.COMPLETED
        and needs_gpu
        and target.device is Device.CUDA
        and result.observation.devices_used
        and not used_gpu
    ):
        return PATH_NOT_TAKEN
    return None


def uses_gpu(result: Result) -> bool:
    """Whether the attempt used a GPU.

    The driver's answer counts. Without it, a GPU in the report of the harness or an opened device file
    counts. Both are weaker: a child process has no harness, a script that only lists GPUs opens their files
    too, and a script can fake the report of the harness.
    """
    seen = result.observation
    if seen.devices_computed is not None:
        return bool(seen.devices_computed)
    return any(device.startswith("cuda") for device in seen.devices_used) or any(
        re.fullmatch(r"/dev/nvidia\d+", device) for device in seen.devices_opened
    )


def _gives_up(result: Result) -> bool:
    """Whether the script ended because there is no GPU: all tests were skipped, or the last line says so."""
    seen = result.observation
    if _all_skipped(seen.stderr[-_WINDOW:]) or _all_skipped(seen.stdout[-_WINDOW:]):
        return True
    lines = [
        line.strip()
        for line in (seen.stdout if seen.stdout.strip() else seen.stderr)[-_WINDOW:].splitlines()
        if line.strip()
    ]
    last = "\n".join(lines if len(lines) <= 3 else lines[-1:])
    return (
        len(last) <= _GIVES_UP_WITHIN and _GAVE_UP.search(last) is not None and _GOES_ON.search(last) is None
    )


def _all_skipped(text: str) -> bool:
    """Whether unittest or pytest skipped every test."""
    ran, skipped = _RAN.search(text), _SKIPPED.search(text)
    return (ran is not None and skipped is not None and ran[1] == skipped[1]) or _ONLY_SKIPPED.search(
        text
    ) is not None


def commonest(reasons: Sequence[Reason]) -> Reason | None:
    """The most frequent reason. Ties are decided by the code, since the order of attempts means nothing."""
    counts = Counter(reason.code for reason in reasons)
    if not counts:
        return None
    code = min(counts, key=lambda code: (-counts[code], code))
    return min((reason for reason in reasons if reason.code == code), key=lambda reason: reason.detail)
