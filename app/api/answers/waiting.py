"""`Prefer: wait=SECONDS`: an answer with a run waits until the run has ended, or until the time is over."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal

from fastapi import Header, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.answers.run_answer import base_address, run_content
from app.errors import UnavailableError
from app.http.checked_route import CheckedRoute
from app.http.guards import HEAD
from app.http.prefer import APPLIED, HEADER, preferred_wait
from app.http.quotas import caller_of
from app.http.state import WebState, state_of
from app.runs.rows.events import is_over
from app.states import OPEN_STATES

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Prefer = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="`wait=SECONDS`: the answer waits so long for the end of the run (RFC 7240); the operator"
        " may allow less. `Preference-Applied` says how long it would have waited",
    ),
]


class WaitingRoute(CheckedRoute):
    """A route that can answer with a run. Those with the header `Prefer` can wait for its end."""

    def get_route_handler(self) -> Handler:
        """The handler of FastAPI, behind our checks and before the wait."""
        answer = super().get_route_handler()
        if not any(header.alias == HEADER for header in self.dependant.header_params):
            return answer

        async def wait(request: Request) -> Response:
            response = await answer(request)
            seconds = preferred_wait(
                request.headers.getlist(HEADER), most=state_of(request).settings.wait_seconds
            )
            is_run = response.status_code in {200, 202}
            if seconds is None or not is_run or request.scope.get(HEAD):
                return response
            return _Waiting(response, request, seconds)

        return wait


class _Waiting(Response):
    """Waits when it is sent: the transaction of the request has ended by then."""

    def __init__(self, response: Response, request: Request, seconds: float) -> None:
        super().__init__()
        self._response = response
        self._request = request
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._answer(receive)
            response.headers[APPLIED] = f"wait={self._seconds:g}"
        except UnavailableError:
            # There are too many waits: the answer comes at once, and says by the missing header that it did.
            response = self._response
        await response(scope, receive, send)

    async def _answer(self, receive: Receive) -> Response:
        run = json.loads(bytes(self._response.body))
        # A plan has no links, and is never run.
        if run["state"] not in OPEN_STATES or not run["links"]:
            return self._response
        state = state_of(self._request)
        caller = caller_of(self._request)
        if not await _is_over_in_time(state, run["id"], self._seconds, receive, caller=caller):
            return self._response
        more = {name: run[name] for name in ("withdraw_url",) if name in run}
        body = await run_in_threadpool(_read_again, self._request, run["id"], more)
        response = Response(body, media_type="application/json")
        if location := self._response.headers.get("Location"):
            response.headers["Location"] = location
        return response


async def _is_over_in_time(
    state: WebState, run_id: str, seconds: float, receive: Receive, *, caller: str | None
) -> bool:
    """Wait for the end of a run. False if the time is over, or if the caller has left."""
    end = asyncio.ensure_future(_wait_for_end(state, run_id, caller=caller))
    leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
    try:
        done, _ = await asyncio.wait({end, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not end.done():
            end.cancel()
    return end in done and end.result()


async def _wait_for_end(state: WebState, run_id: str, *, caller: str | None) -> bool:
    with state.announcements.listening(run_id, caller=caller) as listener:
        while not await run_in_threadpool(_is_over, state, run_id):
            await listener.wait()
    return True


def _is_over(state: WebState, run_id: str) -> bool:
    with state.sessions.begin() as session:
        return is_over(session, run_id)


async def _wait_for_disconnect(receive: Receive) -> None:
    """Return when the caller has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _read_again(request: Request, run_id: str, more: dict[str, str | None]) -> bytes:
    """The run as it is now."""
    state = state_of(request)
    view: Literal["full", "brief"] = "brief" if request.query_params.get("view") == "brief" else "full"
    with state.sessions.begin() as session:
        return run_content(
            session,
            run_id,
            settings=state.settings,
            base=base_address(request),
            view=view,
            **more,
        )
