"""A node that does whatever is submitted, for programs that wait for their answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from stage import Stage, result


@contextmanager
def working(stage: Stage) -> Iterator[None]:
    """The node `n` does whatever is submitted, in a thread."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.05):
            stage.beat("n")
            for attempt in stage.dispatch():
                stage.start(attempt, node="n")
                stage.say(result(attempt, node="n"))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(20)
