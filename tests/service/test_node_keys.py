"""A node key takes jobs of its own queue and sends to its own list, and does nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery
from kombu import Connection, Queue
from stage import Stage, result
from test_service_processes import Processes, known, wait_for

from app.embedded.valkey import EmbeddedValkey
from app.errors import ConflictError, InputError, NotFoundError
from app.runs.lifecycle.record import receive
from app.storage import node_keys
from app.storage.broker_basics import TASK_RERUN, TASKS
from worker.contract.broker.transport import use_careful_transport
from worker.contract.broker.url import celery_url, redis_url
from worker.contract.names import TASK_FROM_NODE, heartbeat_key, results_queue
from worker.node.tasks import ForeignKeyError, results_list

pytestmark = pytest.mark.service
# Commands that say who one is or that one is here, and touch no key.
HARMLESS = {"auth", "hello", "quit", "reset", "ping", "select", "client|setinfo", "client|setname"}


@pytest.fixture
def broker(broker_url: str) -> Iterator[redis.Redis]:
    """The broker as the service sees it. All node keys are revoked at the end."""
    with redis.Redis.from_url(redis_url(broker_url)) as client:
        yield client
        for node in node_keys.keyed_nodes(client):
            node_keys.revoke(client, node)


def url_of(broker_url: str, key: node_keys.NewKey) -> str:
    return broker_url.replace("://", f"://node.{key.node}:{key.secret}@")


def client_of(broker_url: str, key: node_keys.NewKey) -> redis.Redis:
    return redis.Redis.from_url(redis_url(url_of(broker_url, key)))


def test_a_key_does_what_its_node_needs(broker: redis.Redis, broker_url: str) -> None:
    key = node_keys.create(broker, "a")
    broker.lpush("node.a", "job")
    broker.sadd("samehere:cancel:a", "x")
    with client_of(broker_url, key) as node:
        assert node.brpop(["node.a"], timeout=1) == (b"node.a", b"job")
        assert node.lpush("recorder.a", "result") == 1
        assert node.set("samehere:heartbeat:a", "beat", ex=5)
        assert node.get("samehere:heartbeat:a") == b"beat"
        assert node.delete("samehere:heartbeat:a") == 1
        assert node.smembers("samehere:cancel:a") == {b"x"}
        assert node.srem("samehere:cancel:a", "x") == 1


@pytest.mark.parametrize(
    "words",
    [
        # Jobs of others, and results of anybody, its own among them.
        *("BRPOP node.b 1", "RPOP node.b", "LRANGE node.b 0 -1", "LPUSH node.b x", "LRANGE node.a 0 -1"),
        *("LRANGE recorder.a 0 -1", "BRPOP recorder.a 1", "DEL recorder.a", "LPUSH recorder.b x"),
        *("LPUSH recorder x", "BRPOP recorder 1", "LRANGE recorder 0 -1", "LPUSH dispatcher x"),
        "BRPOP node.a node.b 1",
        # Signs of life and requests to stop, of others or the other way round.
        *("SET samehere:heartbeat:b x", "GET samehere:heartbeat:b", "SMEMBERS samehere:cancel:b"),
        *("SADD samehere:cancel:a x", "SREM samehere:cancel:b x", "DEL samehere:recorder-since"),
        # Keys that Celery shares between its users.
        *("SADD _kombu.binding.node.b x", "SMEMBERS _kombu.binding.recorder", "HGETALL samehere.unacked"),
        *("HGETALL unacked", "PUBLISH samehere:run:x 1", "SUBSCRIBE samehere:run:x", "PSUBSCRIBE *"),
        *("LPUSH _kombu.binding.reply.celery.pidbox x", "SET unacked_mutex x"),
        # The server itself.
        *("FLUSHALL", "FLUSHDB", "KEYS *", "SCAN 0", "DBSIZE", "RANDOMKEY", "INFO", "CONFIG GET *"),
        "MONITOR",
        *("CONFIG SET requirepass x", "ACL LIST", "ACL SETUSER node.a +@all", "CLIENT LIST"),
        "CLIENT KILL TYPE normal",
        *("EVAL return(1) 0", "SCRIPT FLUSH", "SHUTDOWN", "REPLICAOF h 1", "SAVE", "SWAPDB 0 1"),
        *("RENAME node.b node.a", "COPY node.b node.a", "LMOVE node.b node.a LEFT LEFT", "MULTI"),
    ],
)  # fmt: skip
def test_a_key_does_nothing_else(broker: redis.Redis, broker_url: str, words: str) -> None:
    key = node_keys.create(broker, "a")
    broker.lpush("node.b", "secret")
    with client_of(broker_url, key) as node, pytest.raises(redis.exceptions.NoPermissionError):
        node.execute_command(*words.split())
    assert broker.lrange("node.b", 0, -1) == [b"secret"]


def test_no_command_of_the_server_reaches_a_foreign_key(broker: redis.Redis) -> None:
    """All commands and subcommands that this server has, asked of the server itself."""
    node_keys.create(broker, "a")
    allowed = set()
    for name, facts in _commands(broker):
        words = name.split("|") + ["other"] * (abs(facts) - len(name.split("|")))
        try:
            answer = broker.execute_command("ACL", "DRYRUN", "node.a", *words)
        except redis.exceptions.ResponseError as error:
            answer = str(error)
        # Some commands can't find their keys in such arguments; the server refuses these before it looks.
        if answer in {b"OK", True}:
            allowed.add(name)
    assert allowed <= HARMLESS
    assert "ping" in allowed


def _commands(broker: redis.Redis) -> Iterator[tuple[str, int]]:
    for facts in _raw(broker, "COMMAND"):
        name, arity, subcommands = facts[0].decode(), int(facts[1]), facts[9] if len(facts) > 9 else []
        if subcommands:
            yield from ((inner[0].decode(), int(inner[1])) for inner in subcommands)
        else:
            yield name, arity


def _raw(broker: redis.Redis, *words: str) -> Any:
    """An answer as the server gives it, without the client's reading of it."""
    connection = broker.connection_pool.get_connection()
    try:
        connection.send_command(*words)
        return connection.read_response()
    finally:
        broker.connection_pool.release(connection)


def test_a_second_key_a_bad_name_and_an_unknown_one_are_refused(broker: redis.Redis) -> None:
    node_keys.create(broker, "a")
    with pytest.raises(ConflictError, match="node-key revoke a"):
        node_keys.create(broker, "a")
    for name in ("", "A", "a b", "a*", "a:b", "a" * 65, "a\n", "~x", "(x"):
        with pytest.raises(InputError):
            node_keys.create(broker, name)
    with pytest.raises(NotFoundError):
        node_keys.revoke(broker, "b")


def test_a_revoked_key_ends_at_once(broker: redis.Redis, broker_url: str) -> None:
    key = node_keys.create(broker, "a")
    with client_of(broker_url, key) as node:
        node.lpush("recorder.a", "late")
        node_keys.revoke(broker, "a")
        with pytest.raises((redis.exceptions.ConnectionError, redis.exceptions.AuthenticationError)):
            node.ping()
    assert not broker.exists("recorder.a")
    assert node_keys.keyed_nodes(broker) == []


def test_keys_survive_a_restart_of_the_embedded_broker(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    server = EmbeddedValkey(home)
    url = server.start()
    try:
        with redis.Redis.from_url(redis_url(url)) as client:
            key = node_keys.create(client, "a")
        assert key.is_stored
        server.stop()
        url = server.start()
        with client_of(url, key) as node:
            assert node.ping()
        assert key.secret not in (home / "valkey" / "data" / "users.acl").read_text()
    finally:
        server.stop()


def test_the_backlog_counts_the_lists_of_nodes(stage: Stage, broker: redis.Redis) -> None:
    node_keys.create(broker, "a")
    broker.lpush("recorder.a", "x")
    tail = json.dumps([{}, "", "recorder.a"])
    broker.hset("samehere.unacked", "tag", tail)
    broker.hset("samehere.unacked", "other", json.dumps([{}, "", "dispatcher"]))
    assert stage.broker.recorder_backlog() == 2


def test_the_list_says_who_sent_whatever_the_sender_writes(broker: redis.Redis, broker_url: str) -> None:
    """A message with a forged origin is known by its list, and goes back to it."""
    use_careful_transport()
    options = {"tasks": [TASK_FROM_NODE]}
    taken: list[Any] = []
    with Connection(celery_url(broker_url), transport_options=options) as connection:
        forged = forged_message(broker, broker_url, list_="recorder.b")
        broker.sadd("_kombu.binding.recorder.b", "recorder.b\x06\x16\x06\x16recorder.b")
        broker.lpush("recorder.a", forged)
        queue = Queue("recorder.a", exchange="", routing_key="recorder.a", no_declare=True)
        with connection.Consumer([queue], callbacks=[lambda _body, message: taken.append(message)]):
            connection.drain_events(timeout=60)
        [message] = taken
        assert message.delivery_info["routing_key"] == "recorder.a"
        message.reject(requeue=True)
    assert broker.llen("recorder.a") == 1
    assert broker.llen("recorder.b") == 0


@pytest.mark.parametrize("list_", ["recorder", "recorder.a"])
def test_a_node_can_not_ask_for_a_round(broker: redis.Redis, broker_url: str, list_: str) -> None:
    use_careful_transport()
    taken: list[Any] = []
    with Connection(celery_url(broker_url), transport_options={"tasks": list(TASKS)}) as connection:
        asked = json.loads(forged_message(broker, broker_url, list_=list_))
        asked["headers"]["task"] = TASK_RERUN
        broker.lpush(list_, forged_message(broker, broker_url, list_=list_), json.dumps(asked))
        queue = Queue(list_, exchange="", routing_key=list_, no_declare=True)
        with connection.Consumer([queue], callbacks=[lambda _body, message: taken.append(message)]):
            while broker.llen(list_):
                connection.drain_events(timeout=60)
        assert [message.headers["task"] for message in taken] == [TASK_FROM_NODE]


def test_an_open_default_user_is_seen(broker: redis.Redis) -> None:
    assert node_keys.default_user_is_open(broker)
    for words in (["nopass", "off"], ["on", "resetpass", ">secret"]):
        try:
            broker.execute_command("ACL", "SETUSER", "default", *words)
            assert not node_keys.default_user_is_open(broker)
        finally:
            broker.execute_command("ACL", "SETUSER", "default", "on", "nopass")


def test_no_more_of_a_heartbeat_is_read_than_one_has(stage: Stage, broker: redis.Redis) -> None:
    broker.config_resetstat()
    broker.set(heartbeat_key("a"), b"x" * 4_000_000)
    before = int(broker.info("stats")["total_net_output_bytes"])
    broker.delete(heartbeat_key("c"))
    broker.lpush(heartbeat_key("c"), "no text")
    stage.beat("d")
    assert list(stage.broker.heartbeats(["a", "b", "c", "d"])) == ["d"]
    assert int(broker.info("stats")["total_net_output_bytes"]) - before < 1_000_000


def forged_message(broker: redis.Redis, broker_url: str, *, list_: str) -> str:
    """A message of a node as Celery writes it, with an origin of one's choice."""
    with Celery("forger", broker=celery_url(broker_url), set_as_current=False) as app:
        app.send_task(TASK_FROM_NODE, args=[{"type": "hello"}], queue="forge", ignore_result=True)
    raw = json.loads(broker.rpop("forge"))
    raw["properties"]["delivery_info"] = {"exchange": list_, "routing_key": list_}
    return json.dumps(raw)


def test_a_message_of_another_node_is_refused(stage: Stage) -> None:
    stage.node("b")
    run_id = stage.submit(repeats=1).document.id
    [attempt] = stage.dispatch()
    message = json.loads(result(attempt, node="b").model_dump_json())
    with stage.session() as session:
        receive(session, message, sender="a", settings=stage.settings)
    assert stage.run(run_id).state != "finished"
    with stage.session() as session:
        receive(session, message, sender="b", settings=stage.settings)
    assert stage.run(run_id).state == "finished"


def test_a_node_knows_its_list_and_refuses_a_foreign_key() -> None:
    assert results_list("redis://:password@h/0", "a") == "recorder"
    assert results_list("redis://node.a:x@h/0", "a") == results_queue("a")
    with pytest.raises(ForeignKeyError, match="samehere node-key create b"):
        results_list("redis://node.a:x@h/0", "b")


@pytest.mark.sandbox
def test_a_run_finishes_under_a_key_and_nothing_is_denied(
    stage: Stage, broker: redis.Redis, broker_url: str, toolchains: Path, *, toolchain: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    log = tmp_path / "node.log"
    processes = Processes(stage, str(home))
    broker.execute_command("ACL", "LOG", "RESET")
    try:
        processes.start("worker")
        processes.start("beat")
        key = node_keys.create(broker, "keyed")
        secret = tmp_path / "key"
        secret.write_text(key.secret)
        secret.chmod(0o600)
        variables = {
            "SAMEHERE_HOME": str(home),
            "SAMEHERE_LOCKS": str(tmp_path / "locks"),
            "SAMEHERE_TOOLCHAINS": str(toolchains),
            "SAMEHERE_BROKER_URL": broker_url.replace("://", "://node.keyed@"),
            "SAMEHERE_BROKER_PASSWORD_FILE": str(secret),
            "SAMEHERE_HEARTBEAT_SECONDS": "1",
            "SAMEHERE_WARM": "false",
        }
        with log.open("w") as output:
            node = subprocess.Popen(
                [sys.executable, "-P", "-m", "worker", "node", "--name", "keyed", "--slots", "1"],
                env={**os.environ, **variables},
                cwd=home,
                stderr=output,
            )
        processes.running.append(node)
        wait_for(lambda: known(stage))
        run_id = stage.submit(repeats=2).document.id
        wait_for(lambda: stage.run(run_id).state == "finished", seconds=90)
        assert stage.run(run_id).verdict == "reproduced"
        assert broker.execute_command("ACL", "LOG") == []
        node_keys.revoke(broker, "keyed")
        wait_for(lambda: "broker_refuses_the_key" in log.read_text())
        node.terminate()
        assert node.wait(20) == 0
        lines = {line["event"]: line for line in map(json.loads, filter(None, log.read_text().splitlines()))}
        assert "samehere node-key create" in lines["broker_refuses_the_key"]["remedy"]
        assert lines["node_started"]["slots"] == 1
        assert (lines["attempt_ended"]["kind"], lines["attempt_ended"]["reason"]) == ("repeat", None)
    finally:
        processes.end()


def test_the_commands(broker: redis.Redis, broker_url: str, tmp_path: Path) -> None:
    variables = {**os.environ, "SAMEHERE_BROKER_URL": broker_url, "SAMEHERE_HOME": str(tmp_path)}

    def samehere(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-P", "-m", "app.cli", "node-key", *words]
        return subprocess.run(argv, env=variables, capture_output=True, text=True, check=False)

    made = samehere("create", "lab-1")
    assert made.returncode == 0, made.stderr
    key = made.stdout.strip()
    assert "node.lab-1@HOST" in made.stderr
    assert "user `default` has no password" in made.stderr
    with redis.Redis.from_url(redis_url(broker_url.replace("://", f"://node.lab-1:{key}@"))) as node:
        assert node.ping()
    again = samehere("create", "lab-1")
    assert again.returncode == 2
    assert "samehere node-key revoke lab-1" in again.stderr
    assert samehere("list").stdout == "lab-1\n"
    assert json.loads(samehere("list", "--json").stdout) == ["lab-1"]
    assert samehere("revoke", "lab-1").returncode == 0
    assert node_keys.keyed_nodes(broker) == []
