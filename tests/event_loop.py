"""Runs a coroutine in a thread of its own: a browser of other tests may leave an event loop in this one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import anyio

Value = TypeVar("Value")


def run_in_thread(main: Callable[[], Awaitable[Value]]) -> Value:
    """The value of a coroutine function without arguments."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(anyio.run, main).result()
