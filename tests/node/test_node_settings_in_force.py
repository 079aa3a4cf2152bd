"""Settings of a target are in force and the probe reports them; impossible ones are refused."""

from __future__ import annotations

import json
import os
import platform
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.contract import Attempt, Environment, Outcome, PassagePoint, Result
from worker.contract.names import SETTINGS
from worker.contract.target_settings import (
    CPU_ISA_VARIABLES,
    NOT_IN_FORCE,
    SettingError,
    apply_settings,
    check_in_force,
    effective_cpu_isa,
)
from worker.environment import EnvironmentRecorder
from worker.machine.hardware import read_cpu
from worker.machine.scrub import scrub
from worker.sandbox import Sandbox
from worker.toolchains import ToolchainStore

Execute = Callable[..., Result]
ASK = """
import random, torch
print(torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(),
      torch.utils.deterministic.fill_uninitialized_memory, torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
print(random.random(), torch.rand(1).item())
"""  # noqa: E501


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("settings", "expected", "found"),
    [
        (
            {"threads": "1"},
            "1 False False True False True",
            {"threads.torch": 1, "threads.omp": 1, "threads.mkl": 1},
        ),
        (
            {"deterministic": "on"},
            "True False False False True",
            {
                "deterministic.enabled": True,
                "deterministic.fill": False,
                "variable.CUBLAS_WORKSPACE_CONFIG": ":4096:8",
            },
        ),
        (
            {"fill": "nan"},
            "True True True False True",
            {"deterministic.enabled": True, "deterministic.warn_only": True, "deterministic.fill": True},
        ),
        ({"tf32": "on"}, "False False True True True", {"tf32.matmul": True, "tf32.cudnn": True}),
        (
            {"tf32": "off"},
            "False False True False False",
            {"tf32.matmul": False, "tf32.cudnn": False, "variable.NVIDIA_TF32_OVERRIDE": "0"},
        ),
    ],
)
def test_in_force_and_recorded(
    settings: dict[str, str], expected: str, found: dict[str, object], execute: Execute
) -> None:
    result = execute(ASK, settings=settings)
    assert result.observation.stderr == ""
    assert result.observation.stdout.splitlines()[0].endswith(expected)
    assert {name: result.environment.get(name) for name in found} == found


@pytest.mark.sandbox
def test_threads_that_are_not_in_force_are_not_measured(execute: Execute) -> None:
    """MKL takes no more threads than the machine has cores, whatever it is told."""
    in_force = execute(ASK).environment
    threads = 16 * (os.cpu_count() or 1)
    result = execute(ASK, settings={"threads": str(threads)})
    if result.outcome is not Outcome.SETUP_FAILED:
        assert result.environment["threads.torch"] == threads
        pytest.skip("this toolchain's torch has no MKL that caps the threads")
    assert result.reason is not None
    assert result.reason.code == NOT_IN_FORCE
    found = f"threads.torch was {in_force['threads.torch']} with it."
    assert result.reason.detail == f"threads={threads} was set, but on this machine {found}"
    assert result.observation.stdout == ""


@pytest.mark.parametrize(
    ("settings", "facts", "is_in_force"),
    [
        ({"threads": "4"}, {"threads.torch": 2}, False),
        ({"threads": "2"}, {"threads.torch": 2}, True),
        ({"threads": "2"}, {}, True),
        ({"deterministic": "on"}, {"deterministic.enabled": False}, False),
        ({"fill": "nan"}, {"deterministic.fill": False}, False),
        ({"tf32": "off"}, {"tf32.matmul": True}, False),
        ({"tf32": "on"}, {"tf32.matmul": True}, True),
        ({"seed": "7", "cpu-isa": "avx2"}, {"threads.torch": 2}, True),
    ],
)
def test_what_is_in_force_is_known_from_the_environment(
    settings: dict[str, str], facts: Environment, *, is_in_force: bool
) -> None:
    if is_in_force:
        check_in_force(settings, facts)
        return
    with pytest.raises(SettingError) as refused:
        check_in_force(settings, facts)
    assert refused.value.reason.code == NOT_IN_FORCE


@pytest.mark.sandbox
def test_a_seed_makes_runs_equal(execute: Execute) -> None:
    runs = {execute(ASK, settings={"seed": seed}).observation.stdout for seed in ("5", "5", "6")}
    assert len(runs) == 2


@pytest.mark.sandbox
def test_cpu_isa_changes_the_code_path(execute: Execute, toolchains: Path, toolchain: str) -> None:
    found = ToolchainStore(toolchains).find(toolchain)
    assert found is not None
    if not found.facts.cpu_isa:
        pytest.skip("this toolchain has no MKL")
    script = "import torch\nprint(torch.backends.cpu.get_cpu_capability())"
    plain = execute(script).environment
    for value in found.facts.cpu_isa:
        changed = execute(script, settings={"cpu-isa": value})
        assert changed.environment["blas.path"] != plain["blas.path"]
        assert changed.environment["blas.fingerprint"] != plain["blas.fingerprint"]
        assert changed.environment["torch.cpu_capability"] != plain["torch.cpu_capability"]
    for value in set(CPU_ISA_VARIABLES) - set(found.facts.cpu_isa):
        refused = execute(script, settings={"cpu-isa": value})
        assert refused.outcome is Outcome.SETUP_FAILED
        assert refused.reason is not None
        assert refused.reason.code == "setting_without_effect"


def test_which_cpu_isa_can_be_had() -> None:
    flags = frozenset({"avx2", "sse4_2"})
    assert effective_cpu_isa(mkl=True, vendor="GenuineIntel", flags=flags) == ["avx2", "sse4.2", "compatible"]
    assert effective_cpu_isa(mkl=True, vendor="GenuineIntel", flags=frozenset({"sse4_2"})) == [
        "sse4.2",
        "compatible",
    ]
    assert effective_cpu_isa(mkl=True, vendor="AuthenticAMD", flags=flags) == ["compatible"]
    assert effective_cpu_isa(mkl=False, vendor="GenuineIntel", flags=flags) == []


def test_the_table_of_variables_is_that_of_the_cases() -> None:
    cases = Path("/work/shared/cases/expected.json")
    if not cases.exists():
        pytest.skip("the shared cases are not on this machine")
    assert json.loads(cases.read_text())["_cpu_isa"] == CPU_ISA_VARIABLES


@pytest.mark.parametrize(
    "settings",
    [
        {"bogus": "1"},
        {"threads": "0"},
        {"threads": "-1"},
        {"threads": "²"},
        {"threads": "9" * 30},
        {"seed": "1.5"},
        {"tf32": "maybe"},
        {"cpu-isa": "avx9"},
        {"fill": "0"},
    ],
)
def test_what_is_no_setting_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(SettingError) as refused:
        apply_settings(settings, cpu_isa=["avx2"])
    assert refused.value.reason.code == "unknown_setting"
    assert "bogus" not in str(refused.value)


def test_every_setting_of_the_contract_does_something() -> None:
    for name, values in SETTINGS.items():
        for value in values or ("1",):
            applied = apply_settings({name: value}, cpu_isa=list(CPU_ISA_VARIABLES))
            assert applied.variables or applied.harness


@pytest.mark.sandbox
def test_the_probe_tells_nothing_about_whose_machine_it_is(
    execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_SCHEDULE", "planted-secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    environment = execute("print(1)").environment
    text = json.dumps(environment)
    for forbidden in ("planted-secret", "/root", "/home", "/tmp", str(Path.home())):
        assert forbidden not in text
    # A name as short as "vm" is part of other words.
    assert not re.search(rf"\b{re.escape(platform.node())}\b", text)
    for needed in (
        "os.name",
        "os.kernel",
        "os.libc",
        "python.version",
        "torch.version",
        "torch.git",
        "cpu.model",
        "cpu.affinity",
        "blas.path",
        "threads.torch",
        "package.numpy",
    ):
        assert needed in environment
    assert environment["cpu.model"] == read_cpu().model
    assert not [name for name in environment if name.startswith("probe.failed")]


def test_scrubbing_drops_paths_and_identities() -> None:
    dirty = {
        "package.mine": "1.0 @ file:///home/alice/mine",
        "gpu.0.id": "GPU-8a4f1d0e-0000-4000-8000-5f3c1d2e3f40",
        "tool.gcc": "gcc (Debian 12.2.0-14) 12.2.0",
        "cuda.arch_list": ["sm_90", "/root/x"],
        "threads.torch": 2,
    }
    assert scrub(dirty) == {"tool.gcc": "gcc (Debian 12.2.0-14) 12.2.0", "threads.torch": 2}


@pytest.mark.sandbox
def test_equal_machines_give_equal_environments(
    sandbox: Sandbox, toolchains: Path, toolchain: str, tmp_path: Path
) -> None:
    found = []
    for number in range(2):
        recorder = EnvironmentRecorder(tmp_path / str(number), probe_seconds=120)
        executor = Executor(Identity("n", "i"), ToolchainStore(toolchains), recorder)
        attempt = Attempt(attempt_id="a", script="print(1)", toolchain=toolchain)
        found.append(executor.execute(attempt, sandbox, granted=[], cancelled=threading.Event()).environment)
    assert found[0] == found[1] != {}


@pytest.mark.sandbox
def test_the_probe_runs_once_and_is_kept_across_processes(
    sandbox: Sandbox, toolchains: Path, toolchain: str, tmp_path: Path
) -> None:
    def once(*points: PassagePoint, **settings: str) -> dict[str, int]:
        """The files that hold environments then, with the times at which they were written."""
        recorder = EnvironmentRecorder(tmp_path, probe_seconds=120)
        executor = Executor(Identity("n", "i"), ToolchainStore(toolchains), recorder)
        attempt = Attempt(
            attempt_id="a", script="print(1)", toolchain=toolchain, settings=settings, passage=list(points)
        )
        result = executor.execute(attempt, sandbox, granted=[], cancelled=threading.Event())
        assert result.environment["blas.path"]
        return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "environments").glob("*.json")}

    first = once()
    assert len(first) == 1
    assert once() == first
    # Nor does a passage check ask again, whatever it observes.
    assert once(PassagePoint(span=(1, 0, 1, 8), code="a]}")) == first
    # Anyone may ask for any seed; each would cost a probe and a file for good.
    seeded = [once(seed=str(seed)) for seed in range(3)]
    assert seeded == [seeded[0]] * 3
    assert len(seeded[0]) == 2
