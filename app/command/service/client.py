"""A client of a running service: sends a submission once, follows its run, and explains a refusal."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

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

if TYPE_CHECKING:
    from samehere_client.errors import ApiError
    from samehere_client.exchange import Response

POLL_SECONDS = 2.0
REFRESH_SECONDS = 1.0
ENDED = {"finished", "cancelled"}
_ERRORS: dict[int, type[SamehereError]] = {
    401: UnauthorisedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    503: UnavailableError,
}


class Client:
    """One service, by its address, with the errors of the command line.

    The requests are those of `samehere_client`. It is imported here: it takes a third of a second, and most
    commands need no service.
    """

    def __init__(self, url: str, *, token: str | None = None) -> None:
        """Raises InputError for a wrong address or token."""
        import httpx2

        from samehere_client import Client as Service

        # Each request closes its connection, since a command ends without closing anything.
        http = httpx2.Client(trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0))
        try:
            self._service = Service(url, token=token, http=http)
        except ValueError as error:
            field = "token" if "token has" in str(error) else "server"
            raise InputError(str(error), code=f"bad_{field}", field=field) from error
        self.url = self._service.url

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
        return self._object(self._send("POST", f"/runs/{_id(run_id)}/{action}", body=body))

    def run(self, run_id: str) -> dict[str, Any]:
        """The run as it is now."""
        return self._object(self._insist("GET", f"/runs/{_id(run_id)}"))

    def report(self, report_id: str) -> dict[str, Any]:
        """A report, with its current verdict."""
        return self._object(self._insist("GET", f"/reports/{_id(report_id)}"))

    def act_on_report(self, report_id: str, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change a report, without retries; the report afterwards."""
        return self._object(self._send("POST", f"/reports/{_id(report_id)}/{action}", body=body))

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
        return self._object(self._send("POST", f"/bisections/{_id(bisection_id)}/cancel", body={}))

    def get(self, path: str) -> dict[str, Any]:
        """An object of the service, by its path."""
        return self._object(self._insist("GET", path))

    def change(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change something on the service, without retries; the answer, empty if it has no body."""
        answer = self._send(method, path, body=body)
        return self._object(answer) if answer.content else {}

    def cancel(self, run_id: str) -> None:
        """Cancel a run."""
        self._send("POST", f"/runs/{_id(run_id)}/cancel", body={})

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
        except SamehereError:
            pass
        time.sleep(max(0.0, POLL_SECONDS - (time.monotonic() - opened_at)))
        return last_event

    def _events(self, run_id: str, last_event: str) -> Iterator[tuple[str, str]]:
        with _own_errors():
            for number, kind, _ in self._service.stream(_id(run_id), since=last_event or None):
                yield number if re.fullmatch(r"\d{1,18}", number) else "", kind

    def _send(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        is_repeatable: bool = False,
    ) -> Response:
        from samehere_client.exchange import Request

        request = Request(method, path, body=body, headers=headers or {}, is_repeatable=is_repeatable)
        with _own_errors():
            return self._service.send(request)

    def _insist(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send a request until the service answers, again if it is away. Raises SamehereError."""
        return self._send(method, path, body=body, headers=headers, is_repeatable=True)

    def _object(self, answer: Response) -> dict[str, Any]:
        with _own_errors():
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


@contextmanager
def _own_errors() -> Iterator[None]:
    """Errors of the client as those of the command line."""
    from samehere_client.errors import ApiError, MovedError, UnreachableError

    try:
        yield
    except MovedError as error:
        raise InputError(str(error), code="redirected", field="server") from error
    except UnreachableError as error:
        raise UnavailableError(str(error)) from error
    except ApiError as error:
        raise _refusal(error) from error


def _refusal(error: ApiError) -> SamehereError:
    """A refusal of the service; one without a problem document by its status."""
    status, problem = error.status, error.problem
    refused = "There is no samehere service at this address." if status == 404 else "The server refused."
    message = f"{problem.detail or problem.title or refused} (HTTP {status})"
    kind = _ERRORS.get(status, InputError if 400 <= status < 500 else UnavailableError)
    return kind(message, code=problem.code or None)
