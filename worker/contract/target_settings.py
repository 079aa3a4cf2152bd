"""The effect of each setting of a target: variables, and actions of the harness after `import torch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from worker.contract import Environment, Reason, Scalar, WhoCanAct
from worker.contract.names import SETTINGS

# MKL and torch read these variables when they start, so a running process can't change them.
CPU_ISA_VARIABLES: dict[str, dict[str, str]] = {
    "avx2": {
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "sse4.2": {
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OPENBLAS_CORETYPE": "Nehalem",
    },
    "compatible": {"MKL_CBWR": "COMPATIBLE", "ATEN_CPU_CAPABILITY": "default"},
}
# The flag of the CPU that each value needs.
_CPU_ISA_FLAG = {"avx2": "avx2", "sse4.2": "sse4_2", "compatible": ""}
# MKL obeys MKL_ENABLE_INSTRUCTIONS on Intel CPUs only. Elsewhere it ignores the variable (measured on AMD
# EPYC).
_INTEL_ONLY = frozenset({"avx2", "sse4.2"})
_HARNESS_SETTINGS = frozenset({"deterministic", "fill", "tf32", "seed", "trace", "fix", "compile"})
HASH_SEED = "PYTHONHASHSEED"
# The code of the reason if a setting was applied and has another value all the same.
NOT_IN_FORCE = "setting_not_in_force"
MAX_THREADS = 4096
MAX_SEED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class AppliedSettings:
    """Variables for the process, and actions for the harness."""

    variables: dict[str, str] = field(default_factory=dict)
    harness: dict[str, str] = field(default_factory=dict)


class SettingError(ValueError):
    """A setting that this node doesn't know or can't apply. `reason` says why."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = Reason(code=code, detail=detail, who_can_act=WhoCanAct.OPERATOR)


def effective_cpu_isa(*, mkl: bool, vendor: str, flags: frozenset[str]) -> list[str]:
    """The values of `cpu-isa` that change anything for a toolchain on this CPU."""
    if not mkl:
        return []
    return [
        value
        for value, flag in _CPU_ISA_FLAG.items()
        if (not flag or flag in flags) and (vendor == "GenuineIntel" or value not in _INTEL_ONLY)
    ]


def apply_settings(settings: Mapping[str, str], *, cpu_isa: list[str]) -> AppliedSettings:
    """Variables and actions for these settings. Raises SettingError for one that can't be applied."""
    applied = AppliedSettings()
    for name, value in settings.items():
        if name not in SETTINGS:
            raise SettingError("unknown_setting", "The target names a setting that this node does not know.")
        _check_value(name, value)
        if name == "cpu-isa" and value not in cpu_isa:
            raise SettingError(
                "setting_without_effect", f"cpu-isa={value} changes nothing on this CPU with this toolchain."
            )
        applied.variables.update(_variables(name, value))
        if name in _HARNESS_SETTINGS and (name, value) != ("fix", "hash"):
            applied.harness[name] = value
    return applied


# The fact of an environment that shows whether a setting is in force, and its value then.
_IN_FORCE: dict[str, tuple[str, Callable[[str], Scalar]]] = {
    "threads": ("threads.torch", int),
    "deterministic": ("deterministic.enabled", lambda _value: True),
    "fill": ("deterministic.fill", lambda _value: True),
    "tf32": ("tf32.matmul", lambda value: value == "on"),
}


def check_in_force(settings: Mapping[str, str], environment: Environment) -> None:
    """Check that each setting is in force in the environment that the probe recorded with it.

    A setting that the probe can't see is taken to be. Raises SettingError, which says what was in force.
    """
    for name, value in settings.items():
        fact, expected_for = _IN_FORCE.get(name, ("", str))
        present = environment.get(fact)
        if present is not None and present != expected_for(value):
            raise SettingError(
                NOT_IN_FORCE, f"{name}={value} was set, but on this machine {fact} was {present} with it."
            )


def _check_value(name: str, value: str) -> None:
    allowed = SETTINGS[name]
    if allowed is not None:
        if value not in allowed:
            raise SettingError("unknown_setting", f"{name} takes {', '.join(allowed)}.")
        return
    lowest, highest = (1, MAX_THREADS) if name == "threads" else (0, MAX_SEED)
    if not (value.isascii() and value.isdecimal() and len(value) < 20 and lowest <= int(value) <= highest):
        raise SettingError("unknown_setting", f"{name} takes a whole number from {lowest} to {highest}.")


_UNCOMPILED = {"TORCHDYNAMO_DISABLE": "1", "TORCH_COMPILE_DISABLE": "1"}
# The variables of a setting with one value.
_VARIABLES = {
    # This acts below torch's own switch, so it also holds for a script that switches TF32 on.
    ("tf32", "off"): {"NVIDIA_TF32_OVERRIDE": "0"},
    ("fix", "hash"): {HASH_SEED: "0"},
    ("compile", "off"): _UNCOMPILED,
    # Under a trace nothing compiles, but torch would try to compile the trace's own functions.
    ("trace", "on"): _UNCOMPILED,
}


def _variables(name: str, value: str) -> dict[str, str]:
    match name:
        case "cpu-isa":
            return CPU_ISA_VARIABLES[value]
        case "threads":
            return dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), value)
        case "deterministic" | "fill":
            return {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "TORCHINDUCTOR_DETERMINISTIC": "1"}
        case _:
            return _VARIABLES.get((name, value), {})
