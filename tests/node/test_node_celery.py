"""The node on a real broker: it delivers what it was given, through outages and restarts."""

from __future__ import annotations

import json
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from broker_service import NODE, Service, StartNode

from app.embedded.valkey import EmbeddedValkey
from worker.contract import Outcome, Result
from worker.contract.names import (
    QUEUE_RECORDER,
    cancel_key,
    heartbeat_key,
)
from worker.node.spool import Spool
from worker.node.tasks import make_celery


@pytest.mark.sandbox
def test_an_attempt_there_and_back_and_a_clean_end(
    service: Service, start_node: StartNode, toolchain: str
) -> None:
    node = start_node(SAMEHERE_WARM="true")
    hello = service.hear("hello")
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
    start_node(SAMEHERE_WARM="true")
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
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_after_a_restart_the_lease_of_the_new_start_is_run(
    service: Service, start_node: StartNode, toolchain: str, number: signal.Signals
) -> None:
    """The message of the older lease still lies in the queue; the hello of the new start ends that lease."""
    node = start_node()
    instance = service.hear("hello")["instance"]
    node.send_signal(number)
    node.wait(20)
    service.give("a", "import time; time.sleep(2); print('a')", toolchain, instance=instance)
    start_node()
    instance = service.hear("hello")["instance"]
    service.give("a", "import time; time.sleep(2); print('a')", toolchain, lease_no=2, instance=instance)
    assert service.hear("started")["lease_no"] == 2
    heard = service.hear("result")
    assert (heard["lease_no"], heard["observation"]["stdout"]) == (2, "a\n")
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
    heard: list[dict[str, Any]] = []
    end = time.monotonic() + 60
    while len(heard) < 4 and time.monotonic() < end:
        heard += filter(None, [service.next_message()])
    assert [message["type"] for message in heard] == ["result", "result", "result", "hello"]
    assert [message["attempt_id"] for message in heard[:3]] == ["0", "1", "2"]
    time.sleep(0.3)
    assert spool.pending() == []


@pytest.mark.sandbox
def test_a_killed_node_comes_back_and_takes_more(
    service: Service, start_node: StartNode, toolchain: str
) -> None:
    first = start_node(SAMEHERE_WARM="true")
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


def test_the_node_knows_one_task_and_one_queue() -> None:
    app = make_celery("redis+unix:///run/v.sock?virtual_host=/2", "x")
    assert app.conf.broker_url == "redis+socket:///run/v.sock?virtual_host=2"
    assert [queue.name for queue in app.conf.task_queues] == ["node.x"]
    assert app.conf.accept_content == ["json"]
    assert app.conf.worker_enable_remote_control is False
    assert not app.conf.task_acks_late
