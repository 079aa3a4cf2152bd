"""The operator's variables reach every attempt and its record. Secrets and reserved names are refused."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pydantic import ValidationError

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.contract import Attempt
from worker.environment import EnvironmentRecorder
from worker.machine.attempt_variables import MOST, MOST_CHARACTERS
from worker.machine.settings import NodeSettings
from worker.sandbox import Sandbox
from worker.toolchains import ToolchainStore


def test_they_are_read_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    assert NodeSettings().variables == {}
    monkeypatch.setenv("SAMEHERE_VARIABLES", '{"NCCL_NVLS_ENABLE": "0", "OMP_NUM_THREADS": "4"}')
    assert NodeSettings().variables == {"NCCL_NVLS_ENABLE": "0", "OMP_NUM_THREADS": "4"}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("HF_TOKEN", "x", "secret"),
        ("AWS_SECRET_ACCESS_KEY", "x", "secret"),
        ("DB_PASSWORD", "x", "secret"),
        ("OPENAI_APIKEY", "x", "secret"),
        ("SSH_PRIVATE", "x", "secret"),
        ("PATH", "x", "which program runs"),
        ("LD_PRELOAD", "x.so", "which program runs"),
        ("PYTHONHASHSEED", "0", "which program runs"),
        ("SAMEHERE_LEVEL", "x", "which program runs"),
        ("lower", "x", "no name"),
        ("X=Y", "x", "no name"),
        ("X", "a\nb", "printable"),
        ("X", "x" * (MOST_CHARACTERS + 1), "characters"),
        ("X", "/home/someone/cache", "path"),
        ("X", "GPU-01234567-89ab-cdef-0123-456789abcdef", "identity"),
    ],
)
def test_what_is_refused(name: str, value: str, why: str) -> None:
    with pytest.raises(ValidationError) as refused:
        NodeSettings(variables={name: value})
    message = refused.value.errors()[0]["msg"]
    assert why in message
    assert value not in message or value == "x"


def test_what_is_no_secret() -> None:
    assert NodeSettings(
        variables={"KEYBOARD": "us", "NCCL_SOCKET_IFNAME": "lo", "CUDA_MODULE_LOADING": "LAZY"}
    ).variables


def test_there_are_not_many() -> None:
    with pytest.raises(ValidationError, match="at most"):
        NodeSettings(variables={f"X{number}": "x" for number in range(MOST + 1)})


@pytest.mark.sandbox
def test_they_arrive_and_are_recorded_and_a_target_wins(
    sandbox: Sandbox, toolchains: Path, toolchain: str, tmp_path: Path
) -> None:
    recorder = EnvironmentRecorder(tmp_path / "cache", probe_seconds=60)
    variables = {"NCCL_NVLS_ENABLE": "0", "OMP_NUM_THREADS": "7"}
    executor = Executor(Identity("n", "i"), ToolchainStore(toolchains), recorder, variables=variables)
    script = "import os; print(os.environ['NCCL_NVLS_ENABLE'], os.environ['OMP_NUM_THREADS'])"

    def run(**settings: str) -> tuple[str, object, object]:
        attempt = Attempt(attempt_id="a", toolchain=toolchain, script=script, settings=settings)
        result = executor.execute(attempt, sandbox, granted=[], cancelled=threading.Event())
        environment = result.environment
        return (
            result.observation.stdout,
            environment["variable.NCCL_NVLS_ENABLE"],
            environment["variable.OMP_NUM_THREADS"],
        )

    assert run() == ("0 7\n", "0", "7")
    assert run(threads="2") == ("0 2\n", "0", "2")
