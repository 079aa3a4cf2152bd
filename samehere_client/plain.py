"""The client for programs without an event loop."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx2

from samehere_client import calls
from samehere_client.errors import ApiError, CertificateError, UnreachableError
from samehere_client.exchange import (
    ANSWER_BYTES,
    PREFIX,
    SECONDS,
    STREAM_SECONDS,
    TRIES,
    WAIT_SECONDS,
    EventLines,
    Exchange,
    Request,
    Response,
    Wait,
    check_address,
    exchange,
    require_success,
)
from samehere_client.models import Brief, Event, GateAnswer, Reading, Run

MOST_EVENT = 65536


class Client:
    """One service, by its address. It never follows a redirect, which could lead the token elsewhere."""

    def __init__(
        self, url: str, *, token: str | None = None, http: httpx2.Client | None = None, tries: int = TRIES
    ) -> None:
        """Raises ValueError for a wrong address or token. `http` is a client with settings of your own."""
        self.url = check_address(url, token)
        self._tries = tries
        self._headers = {"Accept": "application/json", "User-Agent": "samehere-client"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )
        self._http = http or httpx2.Client(trust_env=False, timeout=SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def read(self, *, report: Any = None, script: str | None = None, claim: Any = None) -> Reading:
        """Read a report without running it: its claim as data, and what is missing."""
        answer = self.send(calls.read({"report": report, "script": script, "claim": claim}))
        return calls.model_of(Reading, answer)

    def submit(
        self,
        *,
        report: Any = None,
        script: str | None = None,
        claim: Any = None,
        key: str | None = None,
        wait: float = 0,
        **more: Any,
    ) -> Run:
        """Submit a report or a script. `more` are further fields, such as `preset` or `source_url`.

        Store `key` before, if your program may be started again: the same key and body give the same run.
        With `wait` the answer comes when the run has ended, or after so many seconds.
        """
        body = {"report": report, "script": script, "claim": claim, **more}
        return calls.model_of(Run, self.send(calls.submit(body, key=key, wait=min(wait, WAIT_SECONDS))))

    def run(self, run_id: str) -> Run:
        """The run as it is now."""
        return calls.model_of(Run, self.send(calls.run(run_id)))

    def brief(self, run_id: str, *, wait: float = 0) -> Brief:
        """The run in brief. With `wait` at most so many seconds later, when it has ended."""
        return calls.model_of(Brief, self.send(calls.brief(run_id, wait=min(wait, WAIT_SECONDS))))

    def wait(self, run_id: str, *, seconds: float | None = None) -> Brief:
        """The run in brief when it has ended. Raises TimeoutError after so many seconds."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            began = time.monotonic()
            brief = self.brief(run_id, wait=calls.hold_back(left))
            if not calls.is_open(brief.state):
                return brief
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"The run {run_id} goes on after {seconds} seconds.")
            # An operator may hold no answers back.
            time.sleep(max(0.0, 1.0 - (time.monotonic() - began)))

    def cancel(self, run_id: str) -> None:
        """Cancel a run."""
        self.send(calls.cancel(run_id))

    def gate(self, issues: Sequence[str]) -> list[GateAnswer]:
        """Whether issues may be closed, in their order."""
        return calls.gate_answers_of(self.send(calls.gate(issues)))

    def events(self, run_id: str | None = None, *, since: str | None = None) -> Iterator[Event]:
        """The events of a run until it ends, or of all runs. A lost connection is opened again.

        `since` is the `place` of the last event that you have; for all runs "0" begins with the oldest.
        """
        failures = 0
        while True:
            try:
                for place, kind, data in self.stream(run_id, since=since):
                    failures, since = 0, place or since
                    event = calls.event_of(place, kind, data)
                    if event is not None:
                        yield event
                    if run_id is not None and kind in {"run.finished", "run.cancelled"}:
                        return
                if run_id is not None and not calls.is_open(self.run(run_id).state):
                    return
            except (UnreachableError, ApiError) as error:
                failures += 1
                if failures >= self._tries or (isinstance(error, ApiError) and error.status < 429):
                    raise
            time.sleep(min(2.0**failures / 2, SECONDS))

    def stream(self, run_id: str | None, *, since: str | None) -> Iterator[tuple[str, str, str]]:
        """The place, kind and data of each event of one connection. Raises UnreachableError, ApiError."""
        path, headers = calls.events_path(run_id), {**self._headers, "Accept": "text/event-stream"}
        query = {} if since is None or run_id is not None else {"since": since}
        if since is not None:
            headers["Last-Event-ID"] = since
        try:
            with self._http.stream(
                "GET", self.url + path, params=query or None, headers=headers, timeout=STREAM_SECONDS
            ) as answer:
                if answer.status_code != 200:
                    require_success(Response(answer.status_code, answer.headers, answer.read()))
                    return
                lines = EventLines()
                for line in answer.iter_lines():
                    yield from lines.read(line[:MOST_EVENT])
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise UnreachableError(f"The stream of events broke off: {type(error).__name__}.") from error

    def send(self, request: Request) -> Response:
        """Send a request; what can be repeated is sent again while the service is away or busy.

        Raises ApiError if it refuses, UnreachableError if it does not answer.
        """
        return self._drive(exchange(request, tries=self._tries))

    def _drive(self, steps: Exchange) -> Response:
        answer: Response | UnreachableError | None = None
        try:
            while True:
                step = steps.send(answer)
                if isinstance(step, Wait):
                    time.sleep(step.seconds)
                    answer = None
                else:
                    answer = self._send_once(step.request)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _send_once(self, request: Request) -> Response | UnreachableError:
        try:
            with self._http.stream(
                request.method,
                self.url + PREFIX + request.path,
                params=dict(request.query) or None,
                content=request.content,
                headers=self._headers_of(request),
                timeout=SECONDS + WAIT_SECONDS,
            ) as answer:
                parts, size = [], 0
                for part in answer.iter_bytes():
                    parts.append(part)
                    size += len(part)
                    if size > ANSWER_BYTES:
                        raise UnreachableError("The server's answer is too large.")
                return Response(answer.status_code, answer.headers, b"".join(parts))
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            return unreachable(error)

    def _headers_of(self, request: Request) -> Mapping[str, str]:
        kind = {} if request.body is None else {"Content-Type": "application/json"}
        return {**self._headers, **kind, **request.headers}


def unreachable(error: Exception) -> UnreachableError:
    """The error for a request without an answer."""
    reason = "it does not answer in time" if isinstance(error, httpx2.TimeoutException) else str(error)
    kind = CertificateError if _is_of_certificate(error) else UnreachableError
    refusal = kind(f"The server can't be reached: {reason or type(error).__name__}.")
    refusal.__cause__ = error
    return refusal


def _is_of_certificate(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None
