"""The node on a real broker: it delivers what it was given, through outages and restarts."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery

from app.embedded.valkey import EmbeddedValkey
from worker.cards.nvml import find_gpus
from worker.contract import Outcome, Result
from worker.contract.names import (
    QUEUE_RECORDER,
    TASK_ATTEMPT,
    TASK_FROM_NODE,
    cancel_key,
    heartbeat_key,
    node_queue,
)
from worker.machine.broker import connect
from worker.node.spool import Spool
from worker.node.tasks import make_celery
from worker.toolchains import ToolchainStore

NODE = "lab-1"
StartNode = Callable[..., subprocess.Popen[bytes]]


class Service:
    """The trusted side's ends of the two queues."""

    def __init__(self, broker_url: str) -> None:
        self.client = connect(broker_url)
        self.celery = Celery("service", broker=broker_url, set_as_current=False)
        self.celery.conf.update(task_ignore_result=True, result_backend=None)

    def give(
        self, attempt_id: str, script: str, toolchain: str, *, expires: float | None = 60, **more: Any
    ) -> None:
        message = {
            "type": "attempt",
            "attempt_id": attempt_id,
            "script": script,
            "toolchain": toolchain,
            **more,
        }
        self.celery.send_task(
            TASK_ATTEMPT, args=[message], queue=node_queue(NODE), expires=expires, ignore_result=True
        )

    def hear(self, kind: str | None = None, *, seconds: float = 60) -> dict[str, Any]:
        """The next message (of a kind) on the recorder's queue."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                taken = self.client.brpop([QUEUE_RECORDER], timeout=1)
            except redis.RedisError:
                time.sleep(0.2)
                continue
            if taken is None:
                continue
            envelope = json.loads(taken[1])  # type: ignore[index]
            assert envelope["headers"]["task"] == TASK_FROM_NODE
            assert envelope["content-type"] == "application/json"
            message: dict[str, Any] = json.loads(base64.b64decode(envelope["body"]))[0][0]
            if kind is None or message["type"] == kind:
                return message
        pytest.fail(f"no {kind or 'message'} within {seconds} s")

    def close(self) -> None:
        self.client.close()
        self.celery.close()


@pytest.fixture
def service(broker_url: str) -> Iterator[Service]:
    service = Service(broker_url)
    yield service
    service.close()


@pytest.fixture
def start_node(tmp_path: Path, toolchains: Path, broker_url: str) -> Iterator[StartNode]:
    started: list[subprocess.Popen[bytes]] = []

    def start(**variables: str) -> subprocess.Popen[bytes]:
        base = {
            "SAMEHERE_HOME": str(tmp_path),
            "SAMEHERE_TOOLCHAINS": str(toolchains),
            "SAMEHERE_BROKER_URL": broker_url,
            "SAMEHERE_HEARTBEAT_SECONDS": "1",
        }
        command = [sys.executable, "-m", "worker", "node", "--name", NODE, "--slots", "1"]
        with (tmp_path / "node.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                env={**os.environ, **base, **variables},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.sandbox
def test_an_attempt_there_and_back_and_a_clean_end(
    service: Service, start_node: StartNode, toolchain: str
) -> None:
    node = start_node()
    hello = service.hear()
    assert (hello["type"], hello["node"], hello["slots"]) == ("hello", NODE, 1)
    assert toolchain in [facts["name"] for facts in hello["toolchains"]]
    service.give("a", "print('here')", toolchain, lease_no=3)
    assert (service.hear("started")["attempt_id"]) == "a"
    result = service.hear("result")
    assert (result["outcome"], result["observation"]["stdout"], result["lease_no"], result["instance"]) == (
        "completed",
        "here\n",
        3,
        hello["instance"],
    )
    beat = json.loads(str(service.client.get(heartbeat_key(NODE))))
    assert (beat["node"], beat["draining"], beat["instance"]) == (NODE, False, hello["instance"])
    assert 0 < int(str(service.client.ttl(heartbeat_key(NODE)))) <= 3
    node.send_signal(signal.SIGTERM)
    assert service.hear()["type"] == "draining"
    assert node.wait(20) == 0
    assert service.client.get(heartbeat_key(NODE)) is None


@pytest.mark.sandbox
def test_a_preview_has_a_place_beside_the_slots(
    service: Service, start_node: StartNode, toolchain: str
) -> None:
    start_node()
    assert service.hear("hello")["previews"] == 1
    torch = "import torch\nprint(torch.ones(2).sum().item())\n"
    service.give("first", torch, toolchain, kind="preview", start="warm", limits={"wall_seconds": 10})
    first = service.hear()
    # Made ready at the start, before anything was asked for; and nobody was told that it began.
    assert (first["type"], first["attempt_id"], first["start"], first["outcome"]) == (
        "result",
        "first",
        "warm",
        "completed",
    ), first
    service.give("long", "import time\ntime.sleep(8)\nprint('done')", toolchain)
    assert service.hear("started")["attempt_id"] == "long"
    for number in range(3):
        service.give(
            f"p{number}", torch, toolchain, kind="preview", start="warm", limits={"wall_seconds": 10}
        )
        shown = service.hear()
        assert (shown["attempt_id"], shown["kind"], shown["start"], shown["observation"]["stdout"]) == (
            f"p{number}",
            "preview",
            "warm",
            "2.0\n",
        )
    service.give("cold", "print(1)", toolchain, kind="preview", start="warm")
    sent_back = service.hear()
    assert (sent_back["attempt_id"], sent_back["start"], sent_back["outcome"]) == (
        "cold",
        "cold",
        "setup_failed",
    )
    assert sent_back["reason"]["code"] == "no_torch_import"
    counted = service.hear()
    assert (counted["attempt_id"], counted["start"], counted["observation"]["stdout"]) == (
        "long",
        "cold",
        "done\n",
    )


@pytest.mark.sandbox
def test_without_warm_starts_it_takes_no_previews(service: Service, start_node: StartNode) -> None:
    start_node(SAMEHERE_WARM="false")
    assert service.hear("hello")["previews"] == 0


@pytest.mark.sandbox
def test_cancel_by_the_brokers_set(service: Service, start_node: StartNode, toolchain: str) -> None:
    start_node()
    service.give("a", "import time; time.sleep(100)", toolchain)
    service.hear("started")
    service.client.sadd(cancel_key(NODE), "a")
    assert service.hear("result")["outcome"] == "cancelled"
    time.sleep(0.2)
    assert service.client.smembers(cancel_key(NODE)) == set()


@pytest.mark.sandbox
def test_a_drain_lets_what_runs_end(service: Service, start_node: StartNode, toolchain: str) -> None:
    node = start_node()
    service.give("a", "import time; time.sleep(4); print('done')", toolchain)
    service.hear("started")
    node.send_signal(signal.SIGTERM)
    service.hear("draining")
    heard = service.hear("result")
    assert heard["observation"]["stdout"] == "done\n", (
        heard["outcome"],
        heard["reason"],
        heard["observation"],
    )
    assert node.wait(20) == 0


@pytest.mark.sandbox
def test_after_the_grace_it_ends_without_a_word(
    service: Service, start_node: StartNode, toolchain: str
) -> None:
    node = start_node(SAMEHERE_DRAIN_SECONDS="2")
    service.give("a", "import time; time.sleep(100)", toolchain)
    service.hear("started")
    node.send_signal(signal.SIGTERM)
    assert node.wait(20) == 0
    heard = service.hear()
    assert heard["type"] == "draining", heard
    assert service.client.llen(QUEUE_RECORDER) == 0


@pytest.mark.sandbox
def test_what_expired_never_starts(service: Service, start_node: StartNode, toolchain: str) -> None:
    service.give("old", "print(1)", toolchain, expires=0.5)
    time.sleep(1)
    service.give("new", "print(2)", toolchain)
    start_node()
    assert service.hear("started")["attempt_id"] == "new"
    assert service.hear("result")["attempt_id"] == "new"


@pytest.mark.sandbox
def test_results_of_a_former_life_come_before_the_new_hello(
    service: Service, start_node: StartNode, tmp_path: Path
) -> None:
    spool = Spool(tmp_path / "nodes" / NODE / "spool")
    for number in range(3):
        spool.add(
            Result(
                node=NODE, instance="former", attempt_id=str(number), lease_no=1, outcome=Outcome.COMPLETED
            )
        )
    start_node()
    heard = [service.hear() for _ in range(4)]
    assert [message["type"] for message in heard] == ["result", "result", "result", "hello"]
    assert [message["attempt_id"] for message in heard[:3]] == ["0", "1", "2"]
    time.sleep(0.3)
    assert spool.pending() == []


@pytest.mark.sandbox
def test_a_killed_node_comes_back_and_takes_more(
    service: Service, start_node: StartNode, toolchain: str
) -> None:
    first = start_node()
    hello = service.hear("hello")
    service.give("a", "import time; time.sleep(100)", toolchain)
    service.hear("started")
    first.kill()
    first.wait()
    start_node()
    assert service.hear("hello")["instance"] != hello["instance"]
    service.give("b", "print('b')", toolchain)
    assert service.hear("result")["attempt_id"] == "b"


@pytest.mark.sandbox
def test_an_outage_of_the_broker_loses_no_result(
    session_home: Path, start_node: StartNode, toolchain: str
) -> None:
    # A second run starts with a folder of its own.
    folder = Path(tempfile.mkdtemp(prefix="outage-", dir=session_home))
    folder.chmod(0o711)
    server = EmbeddedValkey(folder)
    url = server.start()
    service = Service(url)
    node = start_node(SAMEHERE_BROKER_URL=url)
    service.hear("hello")
    service.give("a", "import time; time.sleep(3); print('a')", toolchain)
    service.hear("started")
    server.stop()
    time.sleep(5)
    server = EmbeddedValkey(folder)
    assert server.start() == url
    try:
        assert service.hear("result")["observation"]["stdout"] == "a\n"
        service.give("b", "print('b')", toolchain)
        assert service.hear("result")["observation"]["stdout"] == "b\n"
        assert node.poll() is None
    finally:
        service.close()
        server.stop()


def test_a_spool_survives_what_is_cut_off(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    kept = spool.add(Result(node="n", instance="i", attempt_id="a", lease_no=1, outcome=Outcome.COMPLETED))
    (tmp_path / "000000000009.result.writing").write_text("{")
    (tmp_path / "000000000008.result.json").write_text("{")
    again = Spool(tmp_path)
    pending = again.pending()
    assert pending[0] == kept
    read = [again.read(path) for path in pending]
    assert [result.attempt_id if result else None for result in read] == ["a", None]
    assert again.pending() == [kept]
    newer = again.add(Result(node="n", instance="i", attempt_id="b", lease_no=1, outcome=Outcome.COMPLETED))
    assert again.pending() == [kept, newer]


def test_the_node_knows_one_task_and_one_queue() -> None:
    app = make_celery("redis+unix:///run/v.sock?virtual_host=/2", "x")
    assert app.conf.broker_url == "redis+socket:///run/v.sock?virtual_host=2"
    assert [queue.name for queue in app.conf.task_queues] == ["node.x"]
    assert app.conf.accept_content == ["json"]
    assert app.conf.worker_enable_remote_control is False
    assert not app.conf.task_acks_late


def heartbeat(service: Service, *, draining: bool, seconds: float = 20) -> dict[str, Any]:
    """The next one that says so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        beat = json.loads(str(service.client.get(heartbeat_key(NODE)) or "{}"))
        if beat.get("draining") is draining:
            return dict(beat)
        time.sleep(0.1)
    pytest.fail(f"no heartbeat with draining={draining} within {seconds} s")


@pytest.mark.sandbox
def test_a_machine_is_had_back_and_lent_again(
    service: Service, start_node: StartNode, toolchain: str, tmp_path: Path
) -> None:
    pause = tmp_path / "pause"
    start_node(SAMEHERE_PAUSE_FILE=str(pause))
    service.hear("hello")
    service.give("long", "import time; time.sleep(250)", toolchain)
    assert service.hear("started")["attempt_id"] == "long"
    # What runs may end, and nothing new begins.
    pause.touch()
    assert heartbeat(service, draining=True)["free_slots"] == 0
    service.give("later", "print(1)", toolchain)
    time.sleep(2)
    assert heartbeat(service, draining=True)["running"] == ["long"]
    # Now it is given back whole, without a word: its lease runs out, and others run it.
    pause.write_text("now")
    end = time.monotonic() + 10
    while heartbeat(service, draining=True)["running"] and time.monotonic() < end:
        time.sleep(0.1)
    assert heartbeat(service, draining=True)["running"] == []
    pause.unlink()
    assert heartbeat(service, draining=False)["free_slots"] == 1
    service.give("again", "print('again')", toolchain)
    result = service.hear("result")
    assert (result["attempt_id"], result["observation"]["stdout"]) == ("again", "again\n")


@pytest.mark.sandbox
def test_outside_its_hours_a_node_takes_nothing(service: Service, start_node: StartNode) -> None:
    hour = (time.localtime().tm_hour + 12) % 24
    start_node(SAMEHERE_HOURS=f"{hour:02d}:00-{hour:02d}:01")
    service.hear("hello")
    assert heartbeat(service, draining=True)["free_slots"] == 0


def test_hours_that_are_none_end_the_start(start_node: StartNode, tmp_path: Path) -> None:
    node = start_node(SAMEHERE_HOURS="at night")
    assert node.wait(30) == 2
    assert "22:00-07:00" in (tmp_path / "node.log").read_text()


ON_CARD = (
    "import torch\nprint((torch.ones(8, 8, device='cuda') @ torch.ones(8, 8, device='cuda')).sum().item())\n"
)
HOLDS_CARD = (
    "import time, torch\nx = torch.ones(1, device='cuda')\nprint('held', flush=True)\ntime.sleep(60)\n"
)


@pytest.mark.sandbox
def test_a_card_is_checked_before_it_gives_evidence(
    service: Service, start_node: StartNode, toolchains: Path, toolchain: str
) -> None:
    if not find_gpus():
        pytest.skip("no NVIDIA card here")
    start_node(SAMEHERE_CARD_CHECK_MEMORY_BYTES=str(1 << 28))
    until_card(service, "unchecked")
    checked = until_card(service, "sound")
    service.give("a", ON_CARD, toolchain, device="cuda", gpus=1)
    result = service.hear("result", seconds=90)
    assert result["observation"]["stdout"] == "512.0\n", result
    (reading,) = result["observation"]["cards"]
    assert (reading["ecc_uncorrected"], reading["xids"], reading["sound_at"]) == (0, [], checked["sound_at"])
    assert 10 < reading["temperature"] < 110
    # Somebody else computes on it: the attempt is given back, without a result.
    found = ToolchainStore(toolchains).find(toolchain)
    assert found is not None
    with subprocess.Popen([found.python, "-c", HOLDS_CARD], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            service.give("b", ON_CARD, toolchain, device="cuda", gpus=1)
            until_card(service, "in_use")
        finally:
            other.kill()
    until_card(service, "sound")


def until_card(service: Service, state: str) -> dict[str, Any]:
    """What the node says of its first card once it is in this state."""
    for _ in range(20):
        card: dict[str, Any] = service.hear("hello")["gpus"][0]
        if card["state"] == state:
            return card
    pytest.fail(f"the card is {card}")
