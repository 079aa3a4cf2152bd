"""The broker's URL for its two clients."""

from __future__ import annotations

import pytest

from worker.contract.broker.url import celery_url, redis_url


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
