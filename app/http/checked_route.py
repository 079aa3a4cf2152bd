"""A route that checks the caller's scope before it reads the body, and the JSON before it is parsed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from anyio import to_thread
from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.responses import Response
from fastapi.routing import APIRoute

from app.bounded.waiting import AGAIN
from app.errors import UnauthorisedError
from app.http.access import check_scope, needs_database, scope_of_dependency, token_of
from app.http.answers import API
from app.http.guards import SAFE, is_json
from app.http.json_limits import JsonLimits, check_json
from app.http.one_at_a_time import KEY_HEADER, take_turn
from app.http.quotas import REQUESTS, SUBMISSIONS, quota_headers
from app.http.request_log import WITHIN
from app.http.state import state_of
from app.runs.maintenance.tokens import Scope, Token

# A shorter body is checked at once: the way to a thread and back would take longer.
SHORT_BYTES = 4 * 1024
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class CheckedRoute(APIRoute):
    """The class of all our routes. Without it, FastAPI reads and parses a body before any dependency runs."""

    def get_route_handler(self) -> Handler:
        """The handler of FastAPI, behind our checks."""
        answer = super().get_route_handler()
        if set(self.methods or ()) <= SAFE:
            return _count_request(answer)
        scope = max(_scopes(self.dependant), key=list(Scope).index, default=None)
        is_bundle = self.path_format.endswith("/bundles")
        takes_key = any(header.alias == KEY_HEADER for header in self.dependant.header_params)

        async def handle(request: Request) -> Response:
            token = None if scope is None else await check_token(request, scope)
            is_api = request.scope["path"].startswith(API)
            acts = not is_api or scope not in {None, Scope.READ}
            names = [*(_of_requests(request) if is_api else []), *([SUBMISSIONS] if acts else [])]
            await state_of(request).quotas.spend(request, names, token=token_of(token))
            if is_json(request.headers.get("content-type", "")):
                # The body is stored in the request, so it is read once.
                body = await request.body()
                limits = _limits(request, is_bundle=is_bundle)
                if len(body) <= SHORT_BYTES:
                    check_json(body, limits)
                else:
                    await to_thread.run_sync(check_json, body, limits)
            if takes_key:
                await take_turn(request, token=token_of(token), route=self.path_format)
            return _with_quotas(request, await answer(request))

        return handle


def _count_request(answer: Handler) -> Handler:
    """The handler of a request that changes nothing. A token is checked here, so that its quota counts."""

    async def handle(request: Request) -> Response:
        if not request.scope["path"].startswith(API):
            return await answer(request)
        token = None
        if request.headers.get("Authorization"):
            token = await check_token(request, Scope.READ)
        if not request.scope.get(AGAIN):
            await state_of(request).quotas.spend(request, _of_requests(request), token=token_of(token))
        return _with_quotas(request, await answer(request))

    return handle


def _of_requests(request: Request) -> list[str]:
    """The quota of requests, unless this one belongs to another request, which was counted."""
    return [] if request.scope.get(WITHIN) else [REQUESTS]


async def check_token(request: Request, scope: Scope) -> Token | None:
    """The caller's token. A refused one counts for its address: tokens can't be tried without end."""
    try:
        if not needs_database(request, scope):
            return check_scope(request, scope)
        return await to_thread.run_sync(check_scope, request, scope)
    except UnauthorisedError:
        await state_of(request).quotas.spend(request, [REQUESTS], token=None)
        raise


def _with_quotas(request: Request, response: Response) -> Response:
    if headers := quota_headers(request):
        response.headers.update(headers)
    return response


def _limits(request: Request, *, is_bundle: bool) -> JsonLimits:
    settings = state_of(request).settings
    return JsonLimits(
        values=settings.bundle_values if is_bundle else settings.json_values,
        depth=settings.json_depth,
        digits=settings.json_digits,
    )


def _scopes(dependant: Dependant) -> Iterator[Scope]:
    """The scopes that a route requires of everyone."""
    scope = scope_of_dependency(dependant.call)
    if scope is not None:
        yield scope
    for inner in dependant.dependencies:
        yield from _scopes(inner)
