"""`python -m app.tasks.health {recorder,beat}`: whether that process of this machine does its work.

The process itself says so: the recorder when a message has gone through the broker, its queue and Postgres;
beat when the broker has taken a request for a round.
"""

from __future__ import annotations

import argparse
import sys
import threading

import structlog

from app.errors import UnavailableError
from app.settings import ServiceSettings
from app.storage.broker import Broker

log = structlog.get_logger(__name__)

# A recorder sends itself a message so often.
INTERVAL_SECONDS = 10.0
# A process that was silent for longer is not healthy.
SILENCE_SECONDS = 45.0


class Pulse:
    """Sends the message that the recorder answers with its sign of life, as long as the process lives."""

    def __init__(self, broker: Broker, *, seconds: float = INTERVAL_SECONDS) -> None:
        self._broker = broker
        self._seconds = seconds
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def start(self) -> None:
        """Begin with a first message at once."""
        self._thread.start()

    def _run(self) -> None:
        wait = threading.Event()
        while True:
            try:
                self._broker.ask_for_sign_of_life(expires=self._seconds)
            except UnavailableError:
                log.warning("broker_unavailable")
            wait.wait(self._seconds)


def problem_of(settings: ServiceSettings, part: str) -> str | None:
    """The reason why a process of this machine counts as dead; None if it was alive a moment ago."""
    broker = Broker(settings)
    try:
        silence = broker.silence_seconds(part)
    except UnavailableError as error:
        return error.message
    finally:
        broker.close()
    if silence is None:
        return f"the {part} of this machine has given no sign of life yet"
    if silence > SILENCE_SECONDS:
        return f"the {part} of this machine has been silent for {silence:.0f} seconds"
    return None


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 if the process is healthy, else 1 with a line on standard error."""
    parser = argparse.ArgumentParser(prog="python -m app.tasks.health", description=__doc__)
    parser.add_argument("part", choices=["recorder", "beat"])
    problem = problem_of(ServiceSettings(), parser.parse_args(arguments).part)
    if problem is None:
        return 0
    sys.stderr.write(f"{problem}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
