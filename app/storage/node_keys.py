"""Node keys: users of the broker that may do what one node needs, and nothing else.

The broker's own rules (ACL) are where they are stored. Needs Redis 7.0 or Valkey 7.2.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Any

from redis import Redis
from redis.exceptions import NoPermissionError, ResponseError

from app.errors import ConflictError, InputError, NotFoundError, SetupError
from worker.contract.names import cancel_key, heartbeat_key, key_user, node_queue, results_queue

NODE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
KEY_BYTES = 32
# Clients send it with each connection, and do without it. Redis 7.0 has no such command.
SINCE_7_2 = "+client|setinfo"
_PREFIX = key_user("")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made.

    `secret` is shown once. `rule` is its line in an ACL file. `is_stored` is False if the broker has no ACL
    file, so that it forgets the key at its next start. `is_open` is True if whoever reaches the broker can do
    everything without a password, so that the key keeps nobody out.
    """

    node: str
    secret: str
    rule: str
    is_stored: bool
    is_open: bool


def permissions(node: str) -> list[str]:
    """The permissions of a node key, as words of an ACL rule: each command only on the keys it is for."""
    return [
        *("resetkeys", "resetchannels", "clearselectors", "-@all"),
        # Its connection. The number of a database changes nothing: the keys below are the same in each.
        *("+ping", "+select", "+client|setname"),
        # It takes jobs from its own queue, and puts back those that it can't begin.
        f"(-@all +brpop +lpush ~{node_queue(node)})",
        # It adds to its own list of results, and can't read it.
        f"(-@all +lpush %W~{results_queue(node)})",
        f"(-@all +set +get +del ~{heartbeat_key(node)})",
        f"(-@all +smembers +srem ~{cancel_key(node)})",
    ]


def create(broker: Redis, node: str) -> NewKey:
    """Make the key of a node. Raises InputError, ConflictError if it has one, or SetupError."""
    _check_name(node)
    if node in keyed_nodes(broker):
        raise ConflictError(
            f"The node {node} has a key. For a new one, first: samehere node-key revoke {node}",
            code="node_key_exists",
        )
    secret = secrets.token_urlsafe(KEY_BYTES)
    digest = hashlib.sha256(secret.encode()).hexdigest()
    words = [*permissions(node), f"#{digest}", "on"]
    _command(broker, "ACL", "SETUSER", key_user(node), "reset", *words)
    if _knows(broker, SINCE_7_2):
        words = [*words, SINCE_7_2]
        _command(broker, "ACL", "SETUSER", key_user(node), SINCE_7_2)
    rule = " ".join(["user", key_user(node), "reset", *words])
    return NewKey(
        node=node, secret=secret, rule=rule, is_stored=_save(broker), is_open=default_user_is_open(broker)
    )


def default_user_is_open(broker: Redis) -> bool:
    """Whether the broker's user `default` is on and needs no password. Raises SetupError."""
    rules = [_text(rule).split() for rule in _command(broker, "ACL", "LIST")]
    return any(words[1] == "default" and {"on", "nopass"} <= set(words) for words in rules)


def revoke(broker: Redis, node: str) -> bool:
    """Remove the key of a node: its connections end, and what it sent last is dropped.

    False if the broker has no ACL file, so that the key comes back with its configuration. Raises
    NotFoundError or SetupError.
    """
    _check_name(node)
    if not _command(broker, "ACL", "DELUSER", key_user(node)):
        raise NotFoundError(f"The node {node} has no key.", code="no_node_key")
    broker.delete(results_queue(node), heartbeat_key(node))
    return _save(broker)


def keyed_nodes(broker: Redis) -> list[str]:
    """The names of all nodes with a key, sorted. Raises SetupError if the broker does not tell."""
    users = [_text(user) for user in _command(broker, "ACL", "USERS")]
    names = (user.removeprefix(_PREFIX) for user in users if user.startswith(_PREFIX))
    return sorted(name for name in names if NODE_NAME.fullmatch(name))


def _text(answer: object) -> str:
    return answer.decode() if isinstance(answer, bytes) else str(answer)


def _check_name(node: str) -> None:
    if not NODE_NAME.fullmatch(node):
        raise InputError(
            "A node's name has at most 64 lower-case letters, digits, dots, dashes and underscores, "
            "and begins with a letter or digit.",
            code="bad_node_name",
            field="name",
        )


def _command(broker: Redis, *words: str) -> Any:
    try:
        return broker.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py lacks the types
    except NoPermissionError as error:
        raise SetupError(
            "The broker's user in SAMEHERE_BROKER_URL may not manage users (ACL): name one that may."
        ) from error
    except ResponseError as error:
        raise SetupError(
            f"The broker refused {words[0]} {words[1]}: {error}. Node keys need Redis 7.0 or Valkey 7.2."
        ) from error


def _knows(broker: Redis, word: str) -> bool:
    """Whether the server has the command of such a word."""
    try:
        broker.execute_command("ACL", "DRYRUN", "default", *word.lstrip("+").split("|"), "LIB-NAME", "x")  # type: ignore[no-untyped-call]  # as above
    except ResponseError:
        return False
    return True


def _save(broker: Redis) -> bool:
    try:
        broker.execute_command("ACL", "SAVE")  # type: ignore[no-untyped-call]  # as above
    except ResponseError:
        return False
    return True
