"""Quotas of requests and submissions, by token or by address. They are counted in the broker.

So they hold over all web processes and survive a restart of the web. Without a broker nothing is counted:
then submissions are refused anyway, and pages and answers are still there.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import structlog
from fastapi import Request
from limits import RateLimitItemPerMinute
from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.exceptions import RedisError

from app.bounded.callers import network_of
from app.errors import QuotaError
from app.settings import ServiceSettings
from worker.contract.broker.url import redis_url

log = structlog.get_logger(__name__)

REQUESTS = "requests"
SUBMISSIONS = "submissions"
SECONDS = 60
PREFIX = "samehere:quota"
# A broker that answers more slowly must not delay every request.
BROKER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota of one caller and what is left of it. `reset` is in seconds from now."""

    name: str
    most: int
    remaining: int
    reset: int


class Quotas:
    """Counts requests, and refuses those over a quota."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._url = settings.reveal_broker_url()
        self._limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, SlidingWindowCounterRateLimiter] = (
            WeakKeyDictionary()
        )
        self._of_token = {REQUESTS: settings.token_requests, SUBMISSIONS: settings.token_submissions}
        self._of_address = {REQUESTS: settings.address_requests, SUBMISSIONS: settings.address_submissions}

    async def spend(self, request: Request, names: Sequence[str], *, token: str | None) -> None:
        """Count one request of a caller under each name. Raises QuotaError.

        Callers on this machine without a token have no quota: they own it, and a proxy on it may send the
        requests of everybody.
        """
        caller = request.state.caller = name_of_caller(request, token=token)
        if caller is None:
            return
        most = self._of_address if token is None else self._of_token
        try:
            quotas = [await self._spend(name, most[name], caller) for name in names if most[name]]
        except (RedisError, OSError) as error:
            log.warning("quota_not_counted", cause=type(error).__name__)
            return
        request.state.quotas = [quota for quota, _ in quotas]
        for quota, is_within in quotas:
            if not is_within:
                raise QuotaError(
                    f"There were more than {quota.most} {quota.name} in a minute."
                    f" Wait {quota.reset} seconds.",
                    seconds=quota.reset,
                )

    async def _spend(self, name: str, most: int, caller: str) -> tuple[Quota, bool]:
        item = RateLimitItemPerMinute(most, namespace=PREFIX)
        limiter = self._limiter()
        is_within = await limiter.hit(item, name, caller)
        window = await limiter.get_window_stats(item, name, caller)
        reset = max(1, math.ceil(window.reset_time - time.time()))
        return Quota(name, most, max(0, window.remaining), reset), is_within

    def _limiter(self) -> SlidingWindowCounterRateLimiter:
        """The limiter. Its connections belong to the event loop of the requests."""
        loop = asyncio.get_running_loop()
        if loop not in self._limiters:
            url = redis_url(self._url or "")
            # For `limits` a socket is another kind of Redis.
            address = f"async+{url.replace('unix://', 'redis+unix://', 1)}"
            storage = RedisStorage(
                address,
                implementation="redispy",
                key_prefix=PREFIX,
                socket_timeout=BROKER_SECONDS,
                socket_connect_timeout=BROKER_SECONDS,
            )
            self._limiters[loop] = SlidingWindowCounterRateLimiter(storage)
        return self._limiters[loop]

    async def close(self) -> None:
        """Close the connections to the broker."""
        limiter = self._limiters.pop(asyncio.get_running_loop(), None)
        if limiter is not None:
            await limiter.storage.bridge.get_connection().aclose()  # type: ignore[attr-defined]


def name_of_caller(request: Request, *, token: str | None) -> str | None:
    """The caller whose requests are counted together: a token, an address, or a network of IPv6.

    None for callers on this machine without a token.
    """
    if token is not None:
        return f"token:{token}"
    address = "" if request.client is None else request.client.host
    return None if is_this_machine(address) else f"address:{network_of(address) or address}"


def caller_of(request: Request) -> str | None:
    """The caller of a request whose quota was counted, as `name_of_caller` names it."""
    caller: str | None = getattr(request.state, "caller", None)
    return caller


def is_this_machine(address: str) -> bool:
    """Whether an address is that of a caller on this machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def quota_headers(request: Request) -> dict[str, str]:
    """`RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers) for the answer."""
    quotas: Sequence[Quota] = getattr(request.state, "quotas", ())
    if not quotas:
        return {}
    return {
        "RateLimit-Policy": ", ".join(f'"{quota.name}";q={quota.most};w={SECONDS}' for quota in quotas),
        "RateLimit": ", ".join(f'"{quota.name}";r={quota.remaining};t={quota.reset}' for quota in quotas),
    }
