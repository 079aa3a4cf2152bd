"""`samehere node-key`: make, list and revoke the keys of nodes, in the broker of a service."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from app.command.service.configuration import load_settings
from app.command.terminal.consoles import print_json, print_line
from app.command.terminal.plain_text import visible
from app.errors import SetupError, UnavailableError

if TYPE_CHECKING:
    from redis import Redis

CONNECT_SECONDS = 5.0
# A busy broker answers late. If nobody waits for a new key, it is stored and its secret is lost.
ANSWER_SECONDS = 30.0
_NOT_STORED = (
    "The broker has no ACL file (`aclfile`), so this change ends when the broker starts again. "
    "Its configuration must say:"
)
_OPEN = (
    "Warning: the broker's user `default` has no password. Whoever can connect to the broker can do "
    "everything there, so this key keeps nobody out. Give that user a password (`requirepass`), and the "
    "service the same one (SAMEHERE_BROKER_PASSWORD_FILE). The embedded broker has none: only its own user "
    "and root reach its socket, and a node that does so is not kept out by a key."
)


def create(node: str, *, as_json: bool) -> None:
    """Make the key of a node and print it. It is shown only this once."""
    from app.storage import node_keys
    from worker.contract.names import key_user

    with _broker() as broker:
        key = node_keys.create(broker, node)
    if as_json:
        print_json(
            {
                "node": key.node,
                "user": key_user(key.node),
                "key": key.secret,
                "rule": key.rule,
                "stored": key.is_stored,
                "open": key.is_open,
            }
        )
    if key.is_open:
        sys.stderr.write(f"{_OPEN}\n")
    if as_json:
        return
    sys.stderr.write(
        f"The key of node {node}. It is shown only now; the broker stores its digest. On the node, write it "
        f"into the file of SAMEHERE_BROKER_PASSWORD_FILE, and put the user {key_user(node)} into "
        f"SAMEHERE_BROKER_URL: redis://{key_user(node)}@HOST:6379/0\n"
    )
    if not key.is_stored:
        sys.stderr.write(f"{_NOT_STORED}\n{key.rule}\n")
    print_line(key.secret)


def show_all(*, as_json: bool) -> None:
    """Print the nodes that have a key."""
    from app.storage import node_keys

    with _broker() as broker:
        nodes = node_keys.keyed_nodes(broker)
    if as_json:
        print_json(nodes)
        return
    for node in nodes:
        print_line(node)


def revoke(node: str) -> None:
    """Make the key of a node invalid, and end its connections."""
    from app.storage import node_keys
    from worker.contract.names import key_user

    with _broker() as broker:
        is_stored = node_keys.revoke(broker, node)
    print_line(f"the key of {visible(node)} is revoked")
    if not is_stored:
        sys.stderr.write(f"{_NOT_STORED} nothing about the user {key_user(node)}.\n")


@contextmanager
def _broker() -> Iterator[Redis]:
    """The broker of the running service, of SAMEHERE_BROKER_URL, or of this home."""
    try:
        from redis import Redis, RedisError

        from app.serve.broker import broker
        from worker.contract.broker.url import redis_url
    except ImportError as error:
        raise SetupError(
            f"The service is not installed here ({error.name}): pip install 'samehere[service,embedded]'."
        ) from error
    with broker(load_settings()) as url:
        client = Redis.from_url(
            redis_url(url), socket_connect_timeout=CONNECT_SECONDS, socket_timeout=ANSWER_SECONDS
        )
        try:
            yield client
        except RedisError as error:
            raise UnavailableError("The broker can't be reached.", code="broker_unavailable") from error
        finally:
            client.close()
