"""The broker's URL for its two clients."""

from __future__ import annotations

import socketserver
import threading

import pytest
import redis

from worker.contract.broker.url import celery_url, explain_refusal, redis_url


@pytest.mark.parametrize(
    ("url", "for_redis", "for_celery"),
    [
        ("redis://h:6379/3", "redis://h:6379/3", "redis://h:6379/3"),
        ("rediss://h:1/3", "rediss://h:1/3", "rediss://h:1/3"),
        ("unix:///run/v.sock", "unix:///run/v.sock", "redis+socket:///run/v.sock"),
        ("unix:///run/v.sock?db=2", "unix:///run/v.sock?db=2", "redis+socket:///run/v.sock?virtual_host=2"),
        ("redis+socket:///run/v.sock", "unix:///run/v.sock", "redis+socket:///run/v.sock"),
        ("redis+unix:///run/v.sock", "unix:///run/v.sock", "redis+socket:///run/v.sock"),
        (
            "redis+socket:///run/v.sock?virtual_host=2",
            "unix:///run/v.sock?db=2",
            "redis+socket:///run/v.sock?virtual_host=2",
        ),
        (
            "redis+unix:///run/v.sock?virtual_host=/2",
            "unix:///run/v.sock?db=2",
            "redis+socket:///run/v.sock?virtual_host=2",
        ),
        (
            "redis+socket://:p%40w@/run/v.sock?virtual_host=/2&socket_timeout=3",
            "unix://:p%40w@/run/v.sock?db=2&socket_timeout=3",
            "redis+socket://:p%40w@/run/v.sock?virtual_host=2&socket_timeout=3",
        ),
    ],
)
def test_each_client_gets_its_own_spelling(url: str, for_redis: str, for_celery: str) -> None:
    assert (redis_url(url), celery_url(url)) == (for_redis, for_celery)
    assert redis_url(for_celery) == for_redis
    assert celery_url(for_redis) == for_celery


class OneAnswer(socketserver.StreamRequestHandler):
    """A broker that answers every command with the same line."""

    line = b""

    def handle(self) -> None:
        while self.rfile.readline():
            self.wfile.write(self.line)


@pytest.mark.parametrize(
    ("line", "is_refused"),
    [
        (b"-WRONGPASS invalid username-password pair or user is disabled.\r\n", True),
        (b"-NOAUTH Authentication required.\r\n", True),
        (b"-NOPERM User node.n has no permissions to run the 'ping' command\r\n", True),
        (b"-MISCONF Errors writing to the AOF file: No space left on device\r\n", False),
        (b"-LOADING Redis is loading the dataset in memory\r\n", False),
        (b"-OOM command not allowed when used memory > 'maxmemory'.\r\n", False),
    ],
)
def test_only_a_refusal_is_taken_for_one(line: bytes, is_refused: bool) -> None:  # noqa: FBT001
    """A service whose broker has a full disk must not end with the word that its password is wrong."""
    handler = type("Answer", (OneAnswer,), {"line": line})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"redis://127.0.0.1:{server.server_address[1]}/0"
        try:
            if is_refused:
                assert "SAMEHERE_BROKER_PASSWORD_FILE" in explain_refusal(url)
            else:
                with pytest.raises(redis.RedisError):
                    explain_refusal(url)
        finally:
            server.shutdown()
            thread.join(10)
