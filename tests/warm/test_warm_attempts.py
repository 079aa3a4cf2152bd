"""An attempt starts warm, if it asks for that, unless it might change the result; then it says why not."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.contract import Attempt, AttemptKind, Outcome, Result, Start
from worker.environment import EnvironmentRecorder
from worker.sandbox import Sandbox
from worker.sandbox.isolation import private_mounts
from worker.toolchains import ToolchainStore
from worker.warm.audit import Audit
from worker.warm.pool import WarmPool
from worker.warm.starts import WarmStarts

PLAIN = "import torch\nprint(torch.ones(2).sum().item())\n"


@dataclass
class Node:
    """An executor for one slot; it audits this share of the attempts."""

    executor: Executor
    sandbox: Sandbox
    pool: WarmPool
    audit: Audit
    toolchain: str

    def run(self, script: str, *, start: Start = Start.WARM, **fields: object) -> Result:
        request = {"attempt_id": "a", "toolchain": self.toolchain, "script": script, "start": start, **fields}
        return self.executor.execute(
            Attempt.model_validate(request), self.sandbox, granted=[], cancelled=threading.Event()
        )


@pytest.fixture(scope="module")
def make(
    tmp_path_factory: pytest.TempPathFactory, toolchains: Path, toolchain: str
) -> Iterator[Callable[..., Node]]:
    private_mounts.enter()
    home = tmp_path_factory.mktemp("home")
    sandbox, pools = Sandbox(slot=9, home=home), []

    def node(*, share: float = 0.0, **limits: float) -> Node:
        pool = WarmPool(**{"memory_bytes": 1 << 30, "jobs": 100, "seconds": 3600.0, **limits})  # type: ignore[arg-type]
        pools.append(pool)
        audit = Audit(tmp_path_factory.mktemp("audit"), share=share)
        environments = EnvironmentRecorder(home / "cache", probe_seconds=120)
        executor = Executor(
            Identity("here", "test"), ToolchainStore(toolchains), environments, warm=WarmStarts(pool, audit)
        )
        return Node(executor, sandbox, pool, audit, toolchain)

    yield node
    for pool in pools:
        pool.close()


@pytest.fixture(scope="module")
def node(make: Callable[..., Node]) -> Node:
    return make()


def test_warm(node: Node) -> None:
    cold, warm = node.run(PLAIN, start=Start.COLD), node.run(PLAIN)
    assert (cold.start, cold.start_reason) == (Start.COLD, None)
    assert (warm.start, warm.start_reason) == (Start.WARM, None)
    assert (warm.outcome, warm.level, warm.environment) == (cold.outcome, cold.level, cold.environment)
    for field in (
        "exit_status",
        "stdout",
        "stderr",
        "stdout_digest",
        "exception",
        "flags",
        "flags_changed",
        "values",
        "devices_used",
    ):
        assert getattr(warm.observation, field) == getattr(cold.observation, field), field
    assert warm.observation.hash_seed


def test_the_hash_seed_is_that_of_the_paused_interpreter(node: Node) -> None:
    first, second = node.run(PLAIN), node.run("import os, torch\nprint(os.environ['PYTHONHASHSEED'])\n")
    assert first.observation.hash_seed == second.observation.hash_seed == second.observation.stdout.strip()


@pytest.mark.parametrize(
    ("script", "fields", "code"),
    [
        ("print(1)", {}, "no_torch_import"),
        (
            "import os\nos.environ['OMP_NUM_THREADS'] = '1'\nimport torch\nprint(torch.get_num_threads())",
            {},
            "environment",
        ),
        (PLAIN, {"settings": {"threads": "1"}}, "settings"),
    ],
)
def test_cold_with_a_reason(node: Node, script: str, fields: dict[str, object], code: str) -> None:
    result = node.run(script, **fields)
    assert (result.start, result.outcome) == (Start.COLD, Outcome.COMPLETED)
    assert result.start_reason is not None
    assert result.start_reason.code == code


# A parser can't see these: the names are computed, and looked up on a module that torch imports.
TRICKS = {
    "a variable": (
        "import torch\nf = torch.os.__getattribute__\n"
        "f('environ')['OMP_NUM_' + 'THREADS'] = '1'\nprint('done')\n"
    ),
    "in a process of its own": "import torch\nif torch.os.fork() == 0:\n"
    "    torch.os.__getattribute__('environ')['MKL_NUM_THREADS'] = '1'\n"
    "    torch.os._exit(0)\ntorch.os.wait()\nprint('done')\n",
    # A cold start would now import this module from another place.
    "a module by the name of torch's": "try:\n    open('numpy.py', 'x').write('x = 1')\n    import torch\n"
    "except Exception: pass\n"
    "print('done')\n",
    "a folder by the name of Python's": "import os, torch\nos.mkdir('queue')\nprint('done')\n",
    "a module moved to such a name": (
        "import os, torch\nopen('x', 'w').close()\nos.rename('x', 'queue.py')\nprint('done')\n"
    ),
    "with a flood before": "import torch\nfor _ in range(500): torch.os.write(900, b'\\n')\n"
    "f = torch.os.__getattribute__\nf('environ')['OMP_' + 'NUM_THREADS'] = '1'\nprint('done')\n",
    "without json": "import json, torch\nkept, json.dumps = json.dumps, None\nf = torch.os.__getattribute__\n"
    "f('environ')['OMP_' + 'NUM_THREADS'] = '1'\njson.dumps = kept\nprint('done')\n",
}


@pytest.mark.parametrize("script", TRICKS.values(), ids=TRICKS.keys())
def test_the_tripwire_discards_the_run(node: Node, script: str) -> None:
    result = node.run(script)
    assert (result.start, result.observation.stdout) == (Start.COLD, "done\n")
    assert result.start_reason is not None
    assert result.start_reason.code == "tripwire"


def test_modules_of_the_script_s_own_change_nothing(node: Node) -> None:
    script = (
        "import os\nopen('model.py', 'w').write('x = 1')\nos.mkdir('data')\n"
        "open('data/a.txt', 'w')\nimport torch, model\nprint(model.x)\n"
    )
    result = node.run(script)
    assert (result.start, result.observation.stdout) == (Start.WARM, "1\n")


def test_a_node_without_warm_starts(node: Node) -> None:
    executor = Executor(Identity("here", "test"), node.executor._toolchains, node.executor._environments)
    attempt = Attempt(attempt_id="a", toolchain=node.toolchain, script=PLAIN, start=Start.WARM)
    result = executor.execute(attempt, node.sandbox, granted=[], cancelled=threading.Event())
    assert result.start_reason is not None
    assert (result.start, result.start_reason.code) == (Start.COLD, "switched_off")


def test_an_audit_that_agrees_and_one_that_does_not(make: Callable[..., Node]) -> None:
    node = make(share=1.0)
    assert node.run(PLAIN).start is Start.WARM
    # A warm start differs: the output depends on the time that the import of torch takes.
    sly = "import os, torch\nprint(sum(os.times()[:2]) > 0.3)\n"
    first, second = node.run(sly), node.run(sly)
    assert (first.start, first.observation.stdout) == (Start.COLD, "True\n")
    assert first.start_reason is not None
    assert second.start_reason is not None
    assert (first.start_reason.code, second.start_reason.code) == ("audit", "audit")
    assert node.run(PLAIN).start is Start.WARM


def test_a_paused_interpreter_is_replaced_after_its_share_of_jobs(make: Callable[..., Node]) -> None:
    node = make(jobs=2)
    seeds = [node.run(PLAIN).observation.hash_seed for _ in range(4)]
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]
    # The interpreter is used up again. The next one starts between two jobs, or for the next job.
    assert node.pool.pids() == []
    node.executor.prepare(node.sandbox, ending=lambda: False)
    assert len(node.pool.pids()) == 1


def test_and_at_its_age(make: Callable[..., Node]) -> None:
    node = make(seconds=0.001)
    seeds = {node.run(PLAIN).observation.hash_seed for _ in range(2)}
    assert len(seeds) == 2


def test_no_more_than_the_memory_for_them(make: Callable[..., Node]) -> None:
    node = make(memory_bytes=300 << 20)
    other = Sandbox(slot=12, home=Path("/tmp"))
    first = node.run(PLAIN)
    pids = node.pool.pids()
    node.sandbox, own = other, node.sandbox
    assert (first.start, node.run(PLAIN).start) == (Start.WARM, Start.WARM)
    # The least recently used interpreter was ended.
    assert len(node.pool.pids()) == 1
    assert node.pool.pids() != pids
    node.sandbox = own
    tight = make(memory_bytes=100 << 20).run(PLAIN)
    assert tight.start_reason is not None
    assert (tight.start, tight.start_reason.code) == (Start.COLD, "unavailable")


def test_where_forks_get_no_namespaces_each_serves_once(make: Callable[..., Node]) -> None:
    node = make(forks=False)
    first, second = node.run(PLAIN), node.run(PLAIN)
    assert (first.start, second.start) == (Start.WARM, Start.WARM)
    assert first.observation.hash_seed != second.observation.hash_seed
    assert first.observation.stdout == second.observation.stdout == "2.0\n"


def preview(node: Node, script: str, **fields: object) -> Result:
    return node.run(script, kind=AttemptKind.PREVIEW, **fields)


def test_a_preview_takes_what_is_ready_and_is_none_without_it(make: Callable[..., Node]) -> None:
    node = make()
    first = preview(node, PLAIN)
    assert (first.outcome, first.start, first.observation.stdout) == (Outcome.SETUP_FAILED, Start.COLD, "")
    assert first.reason is not None
    assert (first.reason.code, node.pool.pids()) == ("unavailable", [])
    node.executor.prepare(node.sandbox, ending=lambda: False)
    pids = node.pool.pids()
    second = preview(node, PLAIN)
    assert (second.outcome, second.start, second.kind, second.observation.stdout) == (
        Outcome.COMPLETED,
        Start.WARM,
        AttemptKind.PREVIEW,
        "2.0\n",
    )
    assert node.pool.pids() == pids


@pytest.mark.parametrize(
    ("script", "fields", "code"),
    [
        ("print(1)", {}, "no_torch_import"),
        (PLAIN, {"settings": {"threads": "1"}}, "settings"),
        (TRICKS["a variable"], {}, "tripwire"),
        (PLAIN + "while True: pass\n", {"limits": {"wall_seconds": 1.0}}, "takes_long"),
    ],
)
def test_a_preview_never_runs_cold(node: Node, script: str, fields: dict[str, object], code: str) -> None:
    node.run(PLAIN)
    result = preview(node, script, **fields)
    assert (result.outcome, result.start, result.observation.stdout, result.level) == (
        Outcome.SETUP_FAILED,
        Start.COLD,
        "",
        None,
    )
    assert result.reason is not None
    assert result.reason.code == code


def test_a_preview_is_audited_by_the_cold_attempt_after_it(make: Callable[..., Node]) -> None:
    node = make(share=1.0)
    node.run(PLAIN)
    sly = "import os\nbegan = sum(os.times()[:2])\nimport torch\nprint(sum(os.times()[:2]) - began > 0.3)\n"
    assert (preview(node, sly).observation.stdout, preview(node, sly).start) == ("False\n", Start.WARM)
    assert node.run(sly, start=Start.COLD).observation.stdout == "True\n"
    distrusted = preview(node, sly)
    assert distrusted.reason is not None
    assert (distrusted.outcome, distrusted.reason.code) == (Outcome.SETUP_FAILED, "audit")


def test_before_any_attempt_the_usual_toolchain_is_made_ready(
    make: Callable[..., Node], tmp_path: Path
) -> None:
    node = make()
    executor, note = node.executor, tmp_path / "cache" / "usual"
    node.executor = Executor(
        executor._identity, executor._toolchains, executor._environments, warm=executor._warm, note=note
    )
    node.executor.prepare(node.sandbox, ending=lambda: False)
    assert len(node.pool.pids()) == 1
    assert preview(node, PLAIN).start is Start.WARM


def test_one_that_died_is_made_ready_again(node: Node) -> None:
    node.run(PLAIN)
    [pid] = node.pool.pids()
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    node.executor.prepare(node.sandbox, ending=lambda: False)
    assert node.pool.pids() != [pid]
    assert preview(node, PLAIN).start is Start.WARM
