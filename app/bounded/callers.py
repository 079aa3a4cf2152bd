"""The places of calls. Strangers have places of their own, so that they hold nobody else."""

from __future__ import annotations

import ipaddress
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from app.errors import UnavailableError

# So many calls may wait for a free place. More would hold the threads that everything else needs.
WAITING_FOR_EACH = 3
_IPV6_NETWORK_BITS = 64


class NoPlaceError(UnavailableError):
    """Too many calls wait. Nothing was done, so the caller may try again."""

    code = "busy"

    def __init__(self) -> None:
        super().__init__("Too many texts are being read. Try again soon.")


@dataclass(slots=True)
class Caller:
    """The sender of a request. It is a stranger until a token or the right to submit was checked."""

    address: str = ""
    is_stranger: bool = True


# The caller of the present request. None in processes and threads without requests, which are no strangers.
current_caller: ContextVar[Caller | None] = ContextVar("current_caller", default=None)


def trust_caller() -> None:
    """From now on, the caller of the present request is no stranger."""
    caller = current_caller.get()
    if caller is not None:
        caller.is_stranger = False


@dataclass(slots=True)
class Places:
    """Places for `at_once` calls, and for three times as many that wait for one.

    With `by_address`, one address has at most half of them.
    """

    at_once: int
    by_address: bool = False
    running: threading.BoundedSemaphore = field(init=False)
    most: int = field(init=False)
    lock: threading.Lock = field(default_factory=threading.Lock)
    taken: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.running = threading.BoundedSemaphore(self.at_once)
        self.most = self.at_once * (1 + WAITING_FOR_EACH)

    @contextmanager
    def take(self, address: str) -> Iterator[None]:
        """Hold a place; wait for it if necessary. Raises NoPlaceError if too many calls wait."""
        network = network_of(address) if self.by_address else ""
        with self.lock:
            if self.taken.total() >= self.most or (network and self.taken[network] >= self.most // 2):
                raise NoPlaceError
            self.taken[network] += 1
        try:
            with self.running:
                yield
        finally:
            with self.lock:
                self.taken[network] -= 1
                # Addresses come and go.
                self.taken += Counter()


def network_of(address: str) -> str:
    """The address, or the network of an IPv6 address, which one owner has whole.

    Empty for loopback: behind a proxy on this machine, all callers have that address.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if parsed.version == 6 and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    if parsed.is_loopback:
        return ""
    if parsed.version == 6:
        return str(ipaddress.ip_network((parsed, _IPV6_NETWORK_BITS), strict=False))
    return str(parsed)
