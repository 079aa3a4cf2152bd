"""A client of a running service: sends a submission once, follows its run, and explains a refusal."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from app.errors import (
    ConflictError,
    ForbiddenError,
    InputError,
    NotFoundError,
    SamehereError,
    TooLargeError,
    UnauthorisedError,
    UnavailableError,
)
from app.ids import is_id

CONNECT_SECONDS = 30.0
# While a run lasts the server sends something at least this often. A silent stream is opened again.
STREAM_SECONDS = 60.0
POLL_SECONDS = 2.0
REFRESH_SECONDS = 1.0
ANSWER_BYTES = 64 * 1024 * 1024
TRIES = 6
LONGEST_WAIT_SECONDS = 30.0
ENDED = {"finished", "cancelled"}
_ERRORS: dict[int, type[SamehereError]] = {
    401: UnauthorisedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    503: UnavailableError,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as data. Raises UnavailableError if it is no JSON, since then another program answers."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise UnavailableError(
                "The server's answer is no JSON: is this the address of a samehere service?"
            ) from error


class Client:
    """One service, by its address. It never follows a redirect, which could lead a token elsewhere."""

    def __init__(self, url: str, *, token: str | None = None) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError as error:
            raise InputError(
                "This server's port is no number from 0 to 65535.", code="bad_server", field="server"
            ) from error
        if (
            parts.scheme not in {"http", "https"}
            or not parts.hostname
            or parts.query
            or parts.fragment
            or parts.username
        ):
            raise InputError(
                "A server is an address such as http://127.0.0.1:8000.", code="bad_server", field="server"
            )
        if token is not None and not re.fullmatch(r"[!-~]+", token):
            raise InputError("This token has characters that no token has.", code="bad_token", field="token")
        self.url = url.rstrip("/")
        self._https = parts.scheme == "https"
        self._host, self._port = parts.hostname, port
        self._base = parts.path.rstrip("/") + "/api/v1"
        self._headers = {"Accept": "application/json", "User-Agent": "samehere"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )

    def submit(self, body: Mapping[str, Any], *, idempotency_key: str) -> dict[str, Any]:
        """Submit a run; the run as planned. Retries use the same key, so nothing is submitted twice."""
        return self._object(
            self._insist("POST", "/runs", body=body, headers={"Idempotency-Key": idempotency_key})
        )

    def plan(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The plan of a run; the service stores nothing."""
        return self._object(self._insist("POST", "/runs?dry_run=1", body=body))

    def presets(self) -> list[dict[str, Any]]:
        """The named matrices of the service."""
        items = self._object(self._insist("GET", "/presets")).get("items")
        return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []

    def act(self, run_id: str, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change a run, without retries; the run afterwards. `action` is the last part of the address."""
        return self._object(
            self._require_success(self._request("POST", f"/runs/{_id(run_id)}/{action}", body=body))
        )

    def run(self, run_id: str) -> dict[str, Any]:
        """The run as it is now."""
        return self._object(self._insist("GET", f"/runs/{_id(run_id)}"))

    def report(self, report_id: str) -> dict[str, Any]:
        """A report, with its current verdict."""
        return self._object(self._insist("GET", f"/reports/{_id(report_id)}"))

    def act_on_report(self, report_id: str, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change a report, without retries; the report afterwards."""
        return self._object(
            self._require_success(self._request("POST", f"/reports/{_id(report_id)}/{action}", body=body))
        )

    def run_report(self, report_id: str, body: Mapping[str, Any], *, idempotency_key: str) -> dict[str, Any]:
        """Start a new run of a stored report; the run as planned."""
        headers = {"Idempotency-Key": idempotency_key}
        return self._object(
            self._insist("POST", f"/reports/{_id(report_id)}/runs", body=body, headers=headers)
        )

    def gate(self, issues: Sequence[str]) -> list[dict[str, Any]]:
        """The answer about each issue: may it be closed? Nothing is run."""
        items = self._object(self._insist("POST", "/gate", body={"issues": list(issues)})).get("items")
        return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []

    def changes(self, *, cursor: str | None) -> dict[str, Any]:
        """A page of changes, newest first."""
        query = urlencode({"limit": 200, **({} if cursor is None else {"cursor": cursor})})
        return self._object(self._insist("GET", f"/changes?{query}"))

    def bundle(self, run_id: str) -> dict[str, Any]:
        """A run that ended, as a bundle."""
        return self._object(self._insist("GET", f"/runs/{_id(run_id)}/bundle"))

    def contribute(self, data: bytes, *, by: str | None, report: str | None) -> tuple[dict[str, Any], bool]:
        """Give a bundle to the service; its run there, and whether it is new. A second time is harmless."""
        query = urlencode(
            {name: value for name, value in (("by", by), ("report", report)) if value is not None}
        )
        answer = self._insist("POST", f"/bundles?{query}" if query else "/bundles", body=data)
        return self._object(answer), answer.status == 201

    def bisect(self, report_id: str, body: Mapping[str, Any], *, idempotency_key: str) -> dict[str, Any]:
        """Start a bisection; the bisection as planned. Its run has the same id."""
        headers = {"Idempotency-Key": idempotency_key}
        return self._object(
            self._insist("POST", f"/reports/{_id(report_id)}/bisections", body=body, headers=headers)
        )

    def bisection(self, bisection_id: str) -> dict[str, Any]:
        """The bisection as it is now."""
        return self._object(self._insist("GET", f"/bisections/{_id(bisection_id)}"))

    def cancel_bisection(self, bisection_id: str) -> dict[str, Any]:
        """Cancel a bisection; its answer so far."""
        return self._object(
            self._require_success(self._request("POST", f"/bisections/{_id(bisection_id)}/cancel", body={}))
        )

    def get(self, path: str) -> dict[str, Any]:
        """An object of the service, by its path."""
        return self._object(self._insist("GET", path))

    def change(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change something on the service, without retries; the answer, empty if it has no body."""
        answer = self._require_success(self._request(method, path, body=body))
        return self._object(answer) if answer.body else {}

    def cancel(self, run_id: str) -> None:
        """Cancel a run."""
        self._require_success(self._request("POST", f"/runs/{_id(run_id)}/cancel", body={}))

    def follow(self, run_id: str) -> Iterator[dict[str, Any]]:
        """The run now, and after each event, until it has ended."""
        last_event = ""
        while True:
            run = self.run(run_id)
            yield run
            if run.get("state") in ENDED:
                return
            last_event = self._wait_for_event(run_id, last_event)

    def _wait_for_event(self, run_id: str, last_event: str) -> str:
        """Block until the run or a job has news; the number of the last event. Polls without a stream."""
        opened_at = time.monotonic()
        try:
            for number, kind in self._events(run_id, last_event):
                last_event = number or last_event
                # A run of many cells is not fetched again for each of its cells.
                if kind in {"run.finished", "run.cancelled"} or (
                    kind == "job.judged" and time.monotonic() > opened_at + REFRESH_SECONDS
                ):
                    return last_event
        except (OSError, http.client.HTTPException, UnavailableError):
            pass
        time.sleep(max(0.0, POLL_SECONDS - (time.monotonic() - opened_at)))
        return last_event

    def _events(self, run_id: str, last_event: str) -> Iterator[tuple[str, str]]:
        headers = (
            self._headers
            | {"Accept": "text/event-stream"}
            | ({"Last-Event-ID": last_event} if last_event else {})
        )
        with contextlib.closing(self._connect(STREAM_SECONDS)) as connection:
            connection.request("GET", f"{self._base}/runs/{_id(run_id)}/events", headers=headers)
            response = connection.getresponse()
            if response.status != 200 or "text/event-stream" not in response.headers.get("Content-Type", ""):
                raise UnavailableError("The server gives no stream of events.")
            number = kind = ""
            while raw := response.readline(65536):
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                field, _, value = line.partition(":")
                if field == "id":
                    number = value.strip() if re.fullmatch(r"\s*\d{1,18}\s*", value) else number
                elif field == "event":
                    kind = value.strip()
                elif not line and kind:
                    yield number, kind
                    kind = ""

    def _insist(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request until the service answers. Raises UnavailableError after TRIES attempts."""
        for left in range(TRIES - 1, -1, -1):
            wait = 2.0 ** (TRIES - 1 - left) / 2
            try:
                answer = self._request(method, path, body=body, headers=headers)
                if answer.status != 503 or not left:
                    return self._require_success(answer)
                wait = _retry_after(answer, otherwise=wait)
            except (OSError, http.client.HTTPException) as error:
                if not left or isinstance(error, ssl.SSLCertVerificationError):
                    raise UnavailableError(f"The server can't be reached: {_reason(error)}.") from error
            time.sleep(min(wait, LONGEST_WAIT_SECONDS))
        raise AssertionError("unreachable")

    def _request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        payload = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {
            **self._headers,
            **(headers or {}),
            **({"Content-Type": "application/json"} if payload is not None else {}),
        }
        with contextlib.closing(self._connect(CONNECT_SECONDS)) as connection:
            connection.request(method, self._base + path, body=payload, headers=sent)
            response = connection.getresponse()
            content = response.read(ANSWER_BYTES + 1)
            if len(content) > ANSWER_BYTES:
                raise UnavailableError("The server's answer is too large.")
            return Answer(response.status, dict(response.headers.items()), content)

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        if self._https:
            return http.client.HTTPSConnection(self._host, self._port, timeout=seconds)
        return http.client.HTTPConnection(self._host, self._port, timeout=seconds)

    def _require_success(self, answer: Answer) -> Answer:
        if 200 <= answer.status < 300:
            return answer
        if 300 <= answer.status < 400:
            raise InputError(
                "The server answers from another address; give that one.", code="redirected", field="server"
            )
        raise _problem(answer)

    def _object(self, answer: Answer) -> dict[str, Any]:
        value = answer.json()
        if not isinstance(value, dict):
            raise UnavailableError(
                "The server's answer is no run: is this the address of a samehere service?"
            )
        return value


def _id(run_id: str) -> str:
    if not is_id(run_id):
        raise UnavailableError("The server's answer has no proper id.")
    return run_id


def _problem(answer: Answer) -> SamehereError:
    """A problem document (RFC 9457) as an error; any other body as an error by its status."""
    try:
        document = json.loads(answer.body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        document = {}
    words = [str(document[key]) for key in ("detail", "title") if document.get(key)]
    refused = (
        "There is no samehere service at this address." if answer.status == 404 else "The server refused."
    )
    message = f"{words[0] if words else refused} (HTTP {answer.status})"
    code = document.get("code")
    kind = _ERRORS.get(answer.status, InputError if 400 <= answer.status < 500 else UnavailableError)
    return kind(message, code=code if isinstance(code, str) else None)


def _retry_after(answer: Answer, *, otherwise: float) -> float:
    value = next((value for name, value in answer.headers.items() if name.lower() == "retry-after"), "")
    return float(value) if re.fullmatch(r"\d{1,5}", value) else otherwise


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
