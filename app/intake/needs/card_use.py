"""Decides by static reading when a script gets its card: when it starts, or when it first touches it.

Between its start and its first touch, a script runs beside others, and may wait for its card. A script or a
claim that could notice that has its card from the start, and no such neighbours. In case of doubt it does.
"""

from __future__ import annotations

import re

from app.intake.claim.claims import Check, CheckKind, Claim
from worker.contract import CardUse

# Kinds of checks that are about time or memory, or about the state of a card after a fault.
_ALONE = frozenset({CheckKind.SLOWER, CheckKind.HANG, CheckKind.OUT_OF_MEMORY, CheckKind.CRASH})
# Words of a claim about a fault or the memory of a card, and about time or the memory of a process.
_OF_CARD = (
    r"cuda error|cuda runtime|\blaunch|\billegal|device-side|acceleratorerror|cublas|cudnn_status"
    r"|out of memory|outofmemory"
)
_OF_PROCESS = (
    r"\bnccl|timeout|timed out|memory leak|\bslow|\bfast|\bspeed|latency|throughput"
    r"|\bseconds\b|\bminutes\b|\bhang|\bhung\b|\bstuck\b|deadlock"
)
_CLAIMED = re.compile(f"{_OF_CARD}|{_OF_PROCESS}", re.IGNORECASE)
_CLAIMED_OF_PROCESS = re.compile(_OF_PROCESS, re.IGNORECASE)
# Words of a script that measures time or memory, sets itself limits of time, or looks at its own process.
_WRITTEN = re.compile(
    r"import time|from time|perf_counter|monotonic|process_time|thread_time|time\.time|timeit|timer"
    r"|datetime|elapsed|cuda\.event|profil|benchmark\.|utils\.benchmark|do_bench|nvtx|torch\.monitor"
    r"|memory_allocated|memory_reserved|memory_stats|memory_summary|memory_snapshot|memory_fraction"
    r"|mem_get_info|max_memory|outofmemory|out of memory|empty_cache|nvidia-smi|nvml|psutil|getrusage"
    r"|resource|signal|alarm|faulthandler|timeout|wait_for|sleep|watchdog|distributed|nccl|launch_blocking"
    r"|/proc/|/dev/|ctypes|subprocess",
    re.IGNORECASE,
)


def card_use(claim: Claim, script: str) -> CardUse:
    """When an attempt of a script gets its card."""
    claims = (claim, *claim.further)
    if any(_is_about_a_limit(check) for each in claims for check in each.checks):
        return CardUse.FROM_START
    if any(_CLAIMED.search(each.text) for each in claims) or _WRITTEN.search(script):
        return CardUse.FROM_START
    return CardUse.AT_TOUCH


def is_about_the_process(claim: Claim, script: str, *, on_card: bool) -> bool:
    """Whether a start from a paused interpreter could change what a script with this claim shows.

    That is so for time, for a crash, and for memory. The memory and the faults of a card are the same in it:
    a paused interpreter has touched no card.
    """
    if not on_card:
        return card_use(claim, script) is CardUse.FROM_START
    if _WRITTEN.search(script):
        return True
    claims = (claim, *claim.further)
    texts = [each.text for each in claims]
    for check in (check for each in claims for check in each.checks):
        if check.kind in _ALONE - {CheckKind.OUT_OF_MEMORY}:
            return True
        texts += [check.text, check.message or "", check.exception_type or ""]
    return any(_CLAIMED_OF_PROCESS.search(text) for text in texts)


def _is_about_a_limit(check: Check) -> bool:
    words = (check.text, check.message or "", check.exception_type or "")
    return check.kind in _ALONE or any(_CLAIMED.search(text) for text in words)
